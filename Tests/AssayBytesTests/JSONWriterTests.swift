import TestSupport
import Testing
@testable import AssayBytes

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

    @Test("strings are escaped wherever the character is, and however long they are")
    func positions() throws {
        for length in 1...18 {
            for position in 0..<length {
                for character in (0...0x9F).compactMap({ Unicode.Scalar(UInt32($0)) }) {
                    var text = Array(repeating: "a" as Unicode.Scalar, count: length)
                    text[position] = character
                    var string = ""
                    string.unicodeScalars.append(contentsOf: text)
                    var writer = JSONWriter(escaping: .unprintable)
                    writer.object { $0.member(constant: "name", string) }
                    let json = try JSONDocument.parse(writer.text)
                    #expect(json.root["name"]?.string == string)
                    let isPlain = (0x20...0x7E).contains(character.value)
                    let escapes = character == "\"" || character == "\\" ? 1 : 0
                    guard isPlain else {
                        #expect(writer.text.count > length + 11)
                        #expect(!writer.text.contains { $0 > 0x7E || $0 < 0x20 })
                        continue
                    }
                    #expect(writer.text.count == length + 11 + escapes)
                }
            }
        }
    }

    @Test func compact() {
        #expect(
            written { sample(&$0) }
                == #"{"a":"x","n":-5,"d":1.5,"t":true,"raw":{"k": 1},"#
                + #""list":["y",null,[],{"z":false}],"empty":{}}"#)
    }

    @Test("a member with a constant name is written like any other")
    func constantNames() {
        for pretty in [false, true] {
            for value in [nil, "", "x", "a long text, of more than a block", "\u{7F}", "é\"\n"] {
                for escaping in [JSONEscaping.required, .unprintable] {
                    var (constant, plain) = (
                        JSONWriter(pretty: pretty, escaping: escaping),
                        JSONWriter(pretty: pretty, escaping: escaping)
                    )
                    constant.object { object in
                        object.member(constant: "first", value)
                        object.member(constant: "second", value)
                    }
                    plain.object { object in
                        object.member("first", value)
                        object.member("second", value)
                    }
                    #expect(constant.text == plain.text, "\(value ?? "none")")
                }
            }
        }
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

    @Test(
        "unprintable characters are escaped on request, and nothing else",
        arguments: [
            ("", ""), ("plain", "plain"), ("Grüße, 購入 🎮", "Grüße, 購入 🎮"),
            ("a\u{300}", "a\u{300}"), ("\u{0}\u{1f} ", "\\u0000\\u001f "),
            ("~\u{7f}", "~\\u007f"),
            ("\u{80}\u{9f}\u{a0}", "\\u0080\\u009f\u{a0}"), ("\u{ad}", "\\u00ad"),
            ("\u{200d}\u{200e}\u{202e}", "\\u200d\\u200e\\u202e"),
            ("\u{2027}\u{2028}\u{2029}\u{2030}", "\u{2027}\\u2028\\u2029\u{2030}"),
            ("\u{feff}\u{fffd}", "\\ufeff\u{fffd}"), ("\u{e0001}", "\\udb40\\udc01"),
            ("\"\\/\u{8}\t\n\u{c}\r", "\\\"\\\\/\\b\\t\\n\\f\\r"),
        ])
    func unprintable(string: String, escaped: String) throws {
        var writer = JSONWriter(escaping: .unprintable)
        writer.value(string)
        #expect(String(decoding: writer.text, as: UTF8.self) == "\"\(escaped)\"")
        #expect(try parse(String(decoding: writer.text, as: UTF8.self)).string == string)
        // Text that is JSON already gets the same escapes.
        var required = JSONWriter()
        required.value(string)
        #expect(JSONEscaping.escapingUnprintable(required.text) == writer.text)
        #expect(JSONEscaping.escapingUnprintable(writer.text) == writer.text)
    }

    @Test("a character that needs an escape is found at every offset of a long string")
    func offsets() {
        let plain = String(repeating: "a", count: 70)
        for (character, required, unprintable) in [
            ("\u{7f}", "\u{7f}", "\\u007f"), ("\u{80}", "\u{80}", "\\u0080"),
            ("\u{1f}", "\\u001f", "\\u001f"), ("\"", "\\\"", "\\\""), ("\\", "\\\\", "\\\\"),
            ("~", "~", "~"), ("é", "é", "é"),
        ] {
            for offset in 0...70 {
                let (start, end) = (plain.prefix(offset), plain.dropFirst(offset))
                let string = start + character + end
                for (escaping, escaped) in [
                    (JSONEscaping.required, required), (.unprintable, unprintable),
                ] {
                    var writer = JSONWriter(escaping: escaping)
                    writer.value(String(string))
                    #expect(writer.text == Array("\"\(start)\(escaped)\(end)\"".utf8))
                }
            }
        }
    }

    @Test(
        "white space outside of strings is left out, and nothing else",
        arguments: [
            (#"{"a":1}"#, #"{"a":1}"#), (" { \"a\" :\t[ 1 ,\r\n2 ] } ", #"{"a":[1,2]}"#),
            (#"{"a b": "c d \" e" }"#, #"{"a b":"c d \" e"}"#),
            (#"["\\" , "x"]"#, #"["\\","x"]"#), (#"["\\\" , " ]"#, #"["\\\" , "]"#),
            (#"["é 購 \u0020 " ,1]"#, #"["é 購 \u0020 ",1]"#), ("\n\"a \"", "\"a \""), (" 1 ", "1"),
        ])
    func compact(text: String, compact: String) throws {
        // Strings are scanned in blocks, which begin anywhere.
        for length in 0...40 {
            let long = String(repeating: "x ", count: length)
            let (start, end) = ("[\"\(long)\",", "]")
            #expect(
                Array((start + text + end).utf8).compactJSON
                    == Array((start + compact + end).utf8))
        }
    }

    @Test(
        "invalid UTF-8 becomes U+FFFD: surrogates, overlong forms, cut characters",
        arguments: [
            ([0xED, 0xA0, 0x80], 3), ([0xED, 0xBF, 0xBF], 3), ([0xC0, 0x80], 2), ([0xE2, 0x80], 1),
            ([0x80], 1), ([0xF4, 0x90, 0x80, 0x80], 4),
        ] as [([UInt8], Int)])
    func invalidText(bytes: [UInt8], replacements: Int) {
        let quote = UInt8(ascii: "\"")
        let repaired = String(repeating: "\u{FFFD}", count: replacements)
        let expected = Array("\"\(repaired)\"".utf8)
        #expect(JSONEscaping.escapingUnprintable([quote] + bytes + [quote]) == expected)
        for escaping in [JSONEscaping.required, .unprintable] {
            var writer = JSONWriter(escaping: escaping)
            writer.value(String(decoding: bytes, as: UTF8.self))
            #expect(writer.text == expected)
        }
    }

    @Test func lines() {
        var writer = JSONWriter()
        for number in [1, 2] as [Int64] {
            writer.object { $0.member("n", number) }
            writer.endLine()
        }
        #expect(String(decoding: writer.text, as: UTF8.self) == "{\"n\":1}\n{\"n\":2}\n")
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
