import Testing

@testable import Assay

@Suite struct TextPropertyListTests {
    private func read(_ text: String) throws -> [String] {
        let bytes = Array(text.utf8)
        return try TextPropertyList(bytes.span).members.flatMap { [$0.name, $0.value] }
    }

    @Test func accepted() throws {
        let cases: [(String, [String])] = [
            ("{}", []),
            (" { \n\t} \r\n", []),
            ("{\"a\" = \"b\";}", ["a", "b"]),
            ("{\"a\"=\"b\";\"c\"=\"\";}", ["a", "b", "c", ""]),
            ("{ \"a\" = \"\\\"\\\\\\n\\r\\t\"; }", ["a", "\"\\\n\r\t"]),
            ("{ \"a\" = \"\\U00e9\\U20AC\\Ud83d\\Ude00\"; }", ["a", "é€😀"]),
            ("{ \"a\" = \"é = ; }\"; }", ["a", "é = ; }"]),
        ]
        for (text, expected) in cases { #expect(try read(text) == expected, "\(text)") }
    }

    @Test func rejected() {
        let cases: [(String, TextPropertyListError)] = [
            ("", .truncated), ("{", .truncated), ("{\"a\" = \"b\";", .truncated),
            ("{\"a\" = \"b", .truncated), ("{\"a\" = \"\\", .truncated),
            ("{\"a\" = \"\\U12", .truncated),
            ("{\"a\" = \"b\"}", .unexpected(at: 10)),
            ("{a = \"b\";}", .unexpected(at: 1)), ("{\"a\" = b;}", .unexpected(at: 7)),
            ("{\"a\" = { };}", .unexpected(at: 7)), ("{\"a\" = (\"b\");}", .unexpected(at: 7)),
            ("{\"a\" : \"b\";}", .unexpected(at: 5)), ("{} x", .unexpected(at: 3)),
            ("{}{}", .unexpected(at: 2)), ("(\"a\")", .unexpected(at: 0)),
            ("{/* */}", .unexpected(at: 1)), ("{\"a\" = 'b';}", .unexpected(at: 7)),
            ("{\"a\" = \"\\x\";}", .invalidEscape(at: 8)),
            ("{\"a\" = \"\\101\";}", .invalidEscape(at: 8)),
            ("{\"a\" = \"\\Ud83d\";}", .invalidEscape(at: 8)),
            ("{\"a\" = \"\\Ude00\";}", .invalidEscape(at: 8)),
            ("{\"a\" = \"\\Ud83d\\U0041\";}", .invalidEscape(at: 8)),
            ("{\"a\" = \"\\U12G4\";}", .invalidEscape(at: 8)),
            ("{\"a\" = \"b\"; \"a\" = \"b\";}", .duplicate("a")),
        ]
        for (text, error) in cases {
            #expect(throws: error, "\(text)") { try read(text) }
        }
        #expect(throws: TextPropertyListError.notUTF8(at: 8)) {
            let bytes = Array("{\"a\" = \"".utf8) + [0xC3, 0x28] + Array("\";}".utf8)
            _ = try TextPropertyList(bytes.span)
        }
        #expect(throws: TextPropertyListError.tooManyMembers) {
            try read("{" + (0...128).map { "\"\($0)\" = \"\";" }.joined() + "}")
        }
    }
}
