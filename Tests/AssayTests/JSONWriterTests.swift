import TestSupport
import Testing
@testable import Assay

struct JSONWriterTests {
    private func written(pretty: Bool = false, _ content: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter(pretty: pretty)
        content(&writer)
        #expect(throws: Never.self) { try JSONDocument.parse(writer.text) }
        return String(decoding: writer.text, as: UTF8.self)
    }

    private func sample(_ writer: inout JSONWriter) {
        writer.object { object in
            object.member("a", "x")
            object.member("absent", nil as String?)
            object.member("n", -5 as Int64)
            object.member("d", 1.5)
            object.member("t", true)
            object.member("raw", raw: [UInt8]("{\"k\": 1}".utf8))
            object.array("list") { array in
                array.value("y")
                array.null()
                array.array { _ in }
                array.object { $0.member("z", false) }
            }
            object.object("empty") { _ in }
        }
    }

    @Test func compact() {
        #expect(
            written { sample(&$0) }
                == #"{"a":"x","n":-5,"d":1.5,"t":true,"raw":{"k": 1},"#
                + #""list":["y",null,[],{"z":false}],"empty":{}}"#)
    }

    @Test func pretty() {
        #expect(
            written(pretty: true) { sample(&$0) } == """
                {
                  "a": "x",
                  "n": -5,
                  "d": 1.5,
                  "t": true,
                  "raw": {"k": 1},
                  "list": [
                    "y",
                    null,
                    [],
                    {
                      "z": false
                    }
                  ],
                  "empty": {}
                }
                """)
    }

    @Test func escapes() throws {
        let all = String(String.UnicodeScalarView((0..<0x180).compactMap(Unicode.Scalar.init)))
        let string = all + "\u{2028}é€😀"
        let text = written { $0.value(string) }
        #expect(try parse(text).string == string)
        #expect(
            written { $0.value("\u{0}\u{1F}\"\\/\n\u{7F}") }
                == "\"\\u0000\\u001f\\\"\\\\/\\n\u{7F}\"")
        #expect(written { $0.object { $0.member("\"\n", "") } } == #"{"\"\n":""}"#)
    }

    @Test func numbers() {
        #expect(written { $0.value(Int64.min) } == "-9223372036854775808")
        #expect(written { $0.value(1e300) } == "1e+300")
        #expect(written { $0.value(Double.nan) } == "null")
        #expect(written { $0.value(-Double.infinity) } == "null")
    }

    @Test func copiesParsedValues() throws {
        let text = #"{"b":[1.50,{"c":null}],"é":"\u0061"}"#
        let value = try parse(text)
        #expect(written { $0.value(value) } == text)
    }
}
