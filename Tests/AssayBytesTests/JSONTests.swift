import TestSupport
import Testing

@testable import AssayBytes

func parse(_ text: String) throws(JSONError) -> JSONValue {
    try JSONDocument.parse([UInt8](text.utf8)).root
}

struct JSONTests {
    @Test("strings with escapes at each offset have the bytes of their text")
    func decodedBytes() throws {
        let parts: [(escaped: String, text: String)] = [
            (#"\""#, "\""), (#"\\"#, "\\"), (#"\/"#, "/"), (#"\n"#, "\n"), (#"\u0000"#, "\0"),
            (#"\u0041"#, "A"), (#"\u00e9"#, "é"), (#"\u20AC"#, "€"), (#"\ud83d\ude00"#, "😀"),
            ("é", "é"), ("😀", "😀"),
        ]
        for (escaped, text) in parts {
            for before in 0...40 {
                let (start, end) = (
                    String(repeating: "a", count: before), String(repeating: "b", count: before % 9)
                )
                let json = "[\"" + start + escaped + end + escaped + "\"]"
                let document = try JSONDocument.parse(Array(json.utf8))
                let elements = Array(try #require(document.root.elements))
                let value = try #require(elements.first)
                let expected = start + text + end + text
                #expect(value.bytes == Array(expected.utf8), "\(escaped) after \(before)")
                #expect(value.string == expected)
                #expect(value.withUTF8 { $0.array } == Array(expected.utf8))
            }
        }
        #expect(try JSONDocument.parse(Array("1".utf8)).root.bytes == nil)
    }

    @Test(
        "What is JSON, and of which kind",
        arguments: [
            ("{}", .object), ("[]", .array), ("\"\"", .string), ("0", .number), ("true", .true),
            ("false", .false), ("null", .null), (" \t\r\n{ \"a\" : [ 1 , 2 ] } \n", .object),
            ("-0", .number), ("0.0", .number), ("1e0", .number), ("1E+10", .number),
            ("-12.5e-3", .number), ("1e999", .number), ("\"\u{7F}\"", .string),
            ("\"\\ud83d\\ude00\"", .string), ("\"😀 ж é\"", .string), ("\"\\u0000\"", .string),
            ("[[],{},\"\",0,null]", .array),
        ] as [(String, JSONKind)])
    func accepted(text: String, kind: JSONKind) throws {
        #expect(try parse(text).kind == kind)
    }

    @Test(
        "What is not JSON",
        arguments: [
            ("", .unexpectedEnd), (" ", .unexpectedEnd), ("{", .unexpectedEnd),
            ("[", .unexpectedEnd), ("[1", .unexpectedEnd), ("[1,", .unexpectedEnd),
            ("{\"a\"", .unexpectedEnd), ("{\"a\":", .unexpectedEnd),
            ("{\"a\":1", .unexpectedEnd), ("{\"a\":1,", .unexpectedEnd),
            ("\"abc", .unexpectedEnd), ("\"\\", .unexpectedEnd), ("\"\\u12", .unexpectedEnd),
            ("tru", .unexpectedEnd), ("nul", .unexpectedEnd),
            ("\u{FEFF}{}", .byteOrderMark),
            ("trux", .unexpectedByte(offset: 3)), ("TRUE", .unexpectedByte(offset: 0)),
            ("NaN", .unexpectedByte(offset: 0)), ("Infinity", .unexpectedByte(offset: 0)),
            ("+1", .unexpectedByte(offset: 0)), (".5", .unexpectedByte(offset: 0)),
            ("'a'", .unexpectedByte(offset: 0)), ("/**/1", .unexpectedByte(offset: 0)),
            ("{a:1}", .unexpectedByte(offset: 1)), ("{1:1}", .unexpectedByte(offset: 1)),
            ("{\"a\":1,}", .unexpectedByte(offset: 7)), ("[1,]", .unexpectedByte(offset: 3)),
            ("{,}", .unexpectedByte(offset: 1)), ("[,]", .unexpectedByte(offset: 1)),
            ("{\"a\" 1}", .unexpectedByte(offset: 5)), ("[1 2]", .unexpectedByte(offset: 3)),
            ("{\"a\":1;}", .unexpectedByte(offset: 6)), ("[1}", .unexpectedByte(offset: 2)),
            ("{\"a\":1]", .unexpectedByte(offset: 6)), ("\u{0C}1", .unexpectedByte(offset: 0)),
            ("\u{A0}1", .unexpectedByte(offset: 0)),
            ("{}x", .trailingBytes(offset: 2)), ("{} {}", .trailingBytes(offset: 3)),
            ("1 //", .trailingBytes(offset: 2)), ("{}\0", .trailingBytes(offset: 2)),
            ("01", .trailingBytes(offset: 1)), ("0x1", .trailingBytes(offset: 1)),
            ("-", .invalidNumber(offset: 1)), ("-a", .invalidNumber(offset: 1)),
            ("-01", .trailingBytes(offset: 2)),
            ("1.", .invalidNumber(offset: 2)), ("1.e1", .invalidNumber(offset: 2)),
            ("1e", .invalidNumber(offset: 2)), ("1e+", .invalidNumber(offset: 3)),
            ("-.5", .invalidNumber(offset: 1)),
            ("\"\u{1F}\"", .controlCharacter(offset: 1)),
            ("\"a\nb\"", .controlCharacter(offset: 2)),
            ("\"123456789\0\"", .controlCharacter(offset: 10)),
            ("\"\\a\"", .invalidEscape(offset: 1)), ("\"\\'\"", .invalidEscape(offset: 1)),
            ("\"\\x41\"", .invalidEscape(offset: 1)), ("\"\\u00g0\"", .invalidEscape(offset: 1)),
            ("\"\\U0041\"", .invalidEscape(offset: 1)), ("\"\\u+041\"", .invalidEscape(offset: 1)),
            ("\"\\ud800\"", .loneSurrogate(offset: 1)), ("\"\\udc00\"", .loneSurrogate(offset: 1)),
            ("\"\\ud800x\"", .loneSurrogate(offset: 1)),
            ("\"\\ud800\\n\"", .loneSurrogate(offset: 1)),
            ("\"\\ud800\\u0041\"", .loneSurrogate(offset: 1)),
            ("\"\\ud800\\ud800\"", .loneSurrogate(offset: 1)),
            ("\"\\udc00\\ud800\"", .loneSurrogate(offset: 1)),
        ] as [(String, JSONError)])
    func refused(text: String, error: JSONError) {
        #expect(throws: error) { try parse(text) }
    }

    @Test(
        "Bytes that are not UTF-8",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC2], [0xC2, 0x20], [0xE0, 0x80, 0x80],
            [0xE0, 0x9F, 0xBF], [0xE1, 0x80], [0xE1, 0x80, 0xC0], [0xED, 0xA0, 0x80],
            [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF1, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) {
        for padding in [0, 3, 8, 13] {
            let before = [UInt8](repeating: UInt8(ascii: "x"), count: padding)
            let text = [UInt8(ascii: "\"")] + before + bytes + [UInt8(ascii: "\"")]
            #expect(throws: JSONError.invalidUTF8(offset: 1 + padding)) {
                try JSONDocument.parse(text)
            }
            // Truncated at the end of the text.
            #expect(throws: JSONError.self) { try JSONDocument.parse(Array(text.dropLast())) }
        }
    }

    /// Scalars at the boundaries of UTF-8's encoding lengths and lead bytes.
    @Test func validUTF8() throws {
        let borders: [UInt32] = [
            0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0xFFFF, 0x10000, 0x3FFFF, 0x40000,
            0xFFFFF, 0x100000, 0x10FFFF,
        ]
        for scalar in borders.compactMap(Unicode.Scalar.init) {
            #expect(try parse("\"\(scalar)\"").string == String(scalar))
        }
    }

    @Test func depth() throws {
        let limit = JSONLimits.depth
        func arrays(_ count: Int) -> String {
            String(repeating: "[", count: count) + String(repeating: "]", count: count)
        }
        func objects(_ count: Int) -> String {
            String(repeating: "{\"a\":", count: count) + "1" + String(repeating: "}", count: count)
        }
        _ = try parse(arrays(limit))
        _ = try parse(objects(limit))
        func tooDeep(_ offset: Int) -> JSONError { .tooDeep(limit: limit, offset: offset) }
        #expect(throws: tooDeep(limit)) { try parse(arrays(limit + 1)) }
        #expect(throws: tooDeep(limit * 5)) { try parse(objects(limit + 1)) }
        #expect(throws: tooDeep(limit)) { try parse(String(repeating: "[", count: 100_000)) }
        // The error reports the caller's own limit.
        let three = Array(arrays(3).utf8)
        _ = try JSONDocument.parse(three, depth: 3)
        let error = JSONError.tooDeep(limit: 2, offset: 2)
        #expect(throws: error) { try JSONDocument.parse(three, depth: 2) }
        #expect(error.description.contains("2 levels"))
    }

    @Test func values() throws {
        for text in ["[1,2]", "[[],[]]", #"{"a":1}"#, #"{"a":[]}"#] {
            _ = try JSONDocument.parse(Array(text.utf8), values: 3)
        }
        for text in ["[1,2,3]", "[[],[],[]]", #"{"a":1,"b":2}"#, #"[{"a":1},2]"#] {
            #expect(throws: JSONError.tooManyValues(limit: 3), "\(text)") {
                try JSONDocument.parse(Array(text.utf8), values: 3)
            }
        }
        #expect(JSONError.tooManyValues(limit: 3).description.contains("3 names and values"))
    }

    @Test func size() throws {
        let text = [UInt8]("[1,2]".utf8)
        _ = try JSONDocument.parse(text, limit: 5)
        #expect(throws: JSONError.tooLarge(limit: 4)) { try JSONDocument.parse(text, limit: 4) }
        #expect(throws: JSONError.tooLarge(limit: 4)) {
            try JSONDocument.parse(text.span, limit: 4)
        }
    }

    // MARK: Duplicate names

    @Test(
        "A name twice",
        arguments: [
            ("{\"a\":1,\"a\":2}", 7), ("{\"a\":1,\"b\":2,\"a\":1}", 13),
            ("{\"alg\":1,\"\\u0061lg\":2}", 9), ("{\"\\u0061lg\":1,\"alg\":2}", 14),
            ("{\"\\u0061\":1,\"\\u0061\":2}", 12), ("{\"\":1,\"\":2}", 6),
            ("[{\"x\":{\"a\":[],\"a\":{}}}]", 14), ("{\"é\":1,\"\\u00e9\":2}", 8),
            ("{\"😀\":1,\"\\ud83d\\uDE00\":2}", 10), ("{\"/\":1,\"\\/\":2}", 7),
            ("{\"\\n\":1,\"\\u000A\":2}", 8), ("{\"\\u0000\":1,\"\\u0000\":1}", 12),
        ])
    func duplicates(text: String, offset: Int) {
        #expect(throws: JSONError.duplicateMember(offset: offset)) { try parse(text) }
    }

    @Test(
        "Names that differ",
        arguments: [
            "{\"a\":{\"a\":1},\"b\":{\"a\":1}}", "[{\"a\":1},{\"a\":1}]", "{\"a\":1,\"A\":1}",
            "{\"a\":\"a\"}", "{\"a\":1,\"a \":1}", "{\"\":1,\"\\u0000\":2}",
            "{\"é\":1,\"e\u{301}\":2}",
            "{\"\\u0061\":1,\"\\u0062\":2}",
        ])
    func different(text: String) throws {
        #expect(throws: Never.self) { try parse(text) }
    }

    /// Objects on both sides of the threshold between comparing and sorting.
    @Test func duplicatesInLargeObjects() throws {
        let border = JSONLimits.membersComparedDirectly
        for count in [2, border - 1, border, border + 1, border + 2, 1000] {
            let names = (0..<count).map { "\"name\($0)\":\($0)" }
            #expect(try parse("{" + names.joined(separator: ",") + "}").kind == .object)
            for (first, second) in [(0, count - 1), (count / 2, count - 1), (0, 1)]
            where first != second {
                var twice = names
                twice[second] = "\"n\\u0061me\(first)\":{\"name\(first)\":0}"
                #expect {
                    try parse("{" + twice.joined(separator: ",") + "}")
                } throws: { error in
                    guard case JSONError.duplicateMember = error else { return false }
                    return true
                }
            }
        }
    }

    /// A quarter of a megabyte of names with the same tag or a long common prefix.
    @Test(.timeLimit(.minutes(1)))
    func hostileObjects() throws {
        let short = (0..<28_000).map { "\"\($0)\":0" }
        let start = String(repeating: "x", count: 1000)
        let long = (0..<250).map { "\"\(start)\(1000 + $0)\":0" }
        let nested = (0..<700).map { outer in
            "\"\(outer)\":{" + (0..<45).map { "\"\($0)\":0" }.joined(separator: ",") + "}"
        }
        for names in [short, long, nested] {
            let text = [UInt8](("{" + names.joined(separator: ",") + "}").utf8)
            let clock = ContinuousClock()
            let spent = try clock.measure {
                _ = try JSONDocument.parse(text, limit: 2 * JSONLimits.size)
            }
            #expect(spent < .seconds(5))
        }
    }

    // MARK: Values

    @Test func strings() throws {
        let value = try parse(#""a\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\ud83d\ude00 é€😀\u0000.""#)
        let expected = "a\"\\/\u{8}\u{C}\n\r\tAé€😀 é€😀\0."
        #expect(value.string == expected)
        #expect(value.equals(expected))
        #expect(!value.equals(expected + "x"))
        let (bytes, shorter) = ([UInt8](expected.utf8), [UInt8](expected.utf8.dropLast()))
        let (same, different) = (value.equals(bytes.span), value.equals(shorter.span))
        #expect(same && !different)
        let plain = try parse(" \"plain\" ")
        #expect(plain.range == 1..<8)
        #expect(plain.equals("plain") && !plain.equals("plaim") && !plain.equals("plai"))
        #expect(try parse("12").string == nil)
        #expect(try !parse("12").equals("12"))
    }

    /// Blocks, words and single bytes are scanned apart; a byte that is not plain can be in each.
    @Test("A byte that is not plain is found at every offset of a string")
    func bytesAtEveryOffset() throws {
        for length in 0...100 {
            for offset in 0...length {
                func text(_ byte: String) -> String {
                    String(repeating: "a", count: offset) + byte
                        + String(repeating: "b", count: length - offset)
                }
                let plain = try parse("\"" + text("") + "\"")
                #expect(plain.string == text(""))
                for (escape, meaning) in [("é", "é"), ("\\n", "\n"), ("\\\"", "\"")] {
                    let value = try parse("\"" + text(escape) + "\"").string
                    #expect(value == text(meaning))
                }
                #expect(throws: JSONError.controlCharacter(offset: 1 + offset)) {
                    try parse("\"" + text("\u{1F}") + "\"")
                }
            }
        }
    }

    @Test func members() throws {
        let text = #"{"b":[1,{"c":null}],"\u0061":"x","":0,"null":null,"long":{"x":1.50}}"#
        let root = try parse(text)
        #expect(root["a"]?.string == "x")
        #expect(root[""]?.int64 == 0)
        #expect(root["null"]?.isNull == true)
        #expect(root["long"].map { String(decoding: $0.raw, as: UTF8.self) } == "{\"x\":1.50}")
        #expect(root["missing"] == nil && root["c"] == nil && root["x"] == nil)
        #expect(root.hasMember("null") && !root.hasMember("nul"))
        #expect(root["b"]?.elements?.map(\.kind) == [.number, .object])
        #expect(root["b"]?["c"] == nil)
        #expect(root.members?.pairs.map(\.name) == ["b", "a", "", "null", "long"])
    }

    @Test func fromSpan() throws {
        let text = [UInt8]("[true,false]".utf8)
        let document = try JSONDocument.parse(text.span)
        #expect(document.text == text)
        #expect(document.root.elements?.map(\.bool) == [true, false])
    }

    @Test(
        "Whole parts, cut towards the past",
        arguments: [
            ("0", 0, true), ("-0", 0, true), ("-0.0", 0, true), ("1.5", 1, false),
            ("-1.5", -2, false), ("-0.1", -1, false), ("0.9", 0, false), ("1.000", 1, true),
            ("1697679936049.7297", 1_697_679_936_049, false),
            ("-62135769600000", -62_135_769_600_000, true), ("1e3", 1000, true),
            ("1.6976E12", 1_697_600_000_000, true), ("12345e-2", 123, false),
            ("-12345e-2", -124, false), ("12300e-2", 123, true),
            ("0e999999999999999999999", 0, true),
            ("1e-999999999999999999999", 0, false), ("-1e-99999999999999999999", -1, false),
            ("0.000001e6", 1, true), ("0.0000015e6", 1, false),
            ("9223372036854775807", .max, true), ("-9223372036854775808", .min, true),
            ("9223372036854775807.9", .max, false), ("9.223372036854775807e18", .max, true),
            ("922337203685477580.7e1", .max, true),
        ] as [(String, Int64, Bool)])
    func numbers(text: String, floor: Int64, exact: Bool) throws {
        let value = try parse(text)
        #expect(value.number?.floor == floor)
        #expect(value.number?.exact == exact)
        #expect(value.int64 == (exact ? floor : nil))
    }

    @Test(
        "Whole parts beyond 64 bits",
        arguments: [
            "9223372036854775808", "-9223372036854775809", "-9223372036854775808.1", "1e19",
            "1e999", "-1e999999999999999999999", "123456789012345678901234567890", "0.1e21",
        ])
    func overflow(text: String) throws {
        #expect(try parse(text).kind == .number)
        #expect(try parse(text).number == nil)
    }

    // MARK: JSONTestSuite

    /// Cases that the suite leaves open: numbers of any size are accepted, all else is rejected.
    static let implementationDefined: [String: Bool] = [
        "i_number_double_huge_neg_exp.json": true,
        "i_number_huge_exp.json": true,
        "i_number_neg_int_huge_exp.json": true,
        "i_number_pos_double_huge_exp.json": true,
        "i_number_real_neg_overflow.json": true,
        "i_number_real_pos_overflow.json": true,
        "i_number_real_underflow.json": true,
        "i_number_too_big_neg_int.json": true,
        "i_number_too_big_pos_int.json": true,
        "i_number_very_big_negative_int.json": true,
        "i_object_key_lone_2nd_surrogate.json": false,
        "i_string_1st_surrogate_but_2nd_missing.json": false,
        "i_string_1st_valid_surrogate_2nd_invalid.json": false,
        "i_string_UTF-16LE_with_BOM.json": false,
        "i_string_UTF-8_invalid_sequence.json": false,
        "i_string_UTF8_surrogate_U+D800.json": false,
        "i_string_incomplete_surrogate_and_escape_valid.json": false,
        "i_string_incomplete_surrogate_pair.json": false,
        "i_string_incomplete_surrogates_escape_valid.json": false,
        "i_string_invalid_lonely_surrogate.json": false,
        "i_string_invalid_surrogate.json": false,
        "i_string_invalid_utf-8.json": false,
        "i_string_inverted_surrogates_U+1D11E.json": false,
        "i_string_iso_latin_1.json": false,
        "i_string_lone_second_surrogate.json": false,
        "i_string_lone_utf8_continuation_byte.json": false,
        "i_string_not_in_unicode_range.json": false,
        "i_string_overlong_sequence_2_bytes.json": false,
        "i_string_overlong_sequence_6_bytes.json": false,
        "i_string_overlong_sequence_6_bytes_null.json": false,
        "i_string_truncated-utf-8.json": false,
        "i_string_utf16BE_no_BOM.json": false,
        "i_string_utf16LE_no_BOM.json": false,
        "i_structure_500_nested_arrays.json": false,
        "i_structure_UTF-8_BOM_empty_object.json": false,
    ]

    /// Valid under the RFC, which only says that names should be unique; rejected here.
    static let stricter: Set = [
        "y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json",
    ]

    @Test(.enabled(if: Vectors.has("json-test-suite/test_parsing")))
    func testSuite() throws {
        let folder = "json-test-suite/test_parsing"
        let files = Vectors.files(in: folder, suffix: ".json")
        for file in files {
            let bytes = try #require(Vectors.bytes("\(folder)/\(file)"))
            let accepted = (try? JSONDocument.parse(bytes)) != nil
            switch file.prefix(2) {
            case "y_": #expect(accepted == !Self.stricter.contains(file), "\(file)")
            case "n_": #expect(!accepted, "\(file)")
            default: #expect(accepted == Self.implementationDefined[file], "\(file)")
            }
        }
        try Vectors.report("JSONTestSuite", files.count)
    }
}
