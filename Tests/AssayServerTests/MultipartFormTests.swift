import AssayAdmin
import Testing

@Suite("Multipart forms") struct MultipartFormTests {
    private static let type = "multipart/form-data; boundary=xyz"

    private static func parse(
        _ body: String, _ type: String = type
    ) throws(MultipartError) -> [MultipartForm.Part] {
        try MultipartForm(Array(body.utf8).span, contentType: type).parts
    }

    private static func part(_ disposition: String, _ content: String) -> String {
        "--xyz\r\nContent-Disposition: form-data; \(disposition)\r\n\r\n\(content)\r\n"
    }

    @Test("fields and files") func parts() throws {
        let body =
            Self.part("name=\"app\"", "game")
            + Self.part(
                "name=\"file\"; filename=\"a;b.jws\"", "--xy\r\n--x\r\n") + "--xyz--\r\n"
        for type in [Self.type, "Multipart/Form-Data ; charset=utf-8; Boundary=\"xyz\""] {
            let parts = try Self.parse(body, type)
            #expect(parts.map(\.name) == ["app", "file"])
            #expect(parts.map(\.fileName) == [nil, "a;b.jws"])
            let contents = parts.map { part in
                String(decoding: Array(body.utf8)[part.content], as: UTF8.self)
            }
            #expect(contents == ["game", "--xy\r\n--x\r\n"])
        }
        #expect(try Self.parse("--xyz--").isEmpty)
        let most = String(repeating: Self.part("name=\"a\"", ""), count: 64) + "--xyz--"
        #expect(try Self.parse(most).count == 64)
    }

    @Test("what is no form") func faults() {
        let part = Self.part("name=\"a\"", "b")
        let long = String(repeating: "x", count: 5_000)
        let cases: [(body: String, type: String, error: MultipartError)] = [
            (part + "--xyz--", "text/plain; boundary=xyz", .noBoundary),
            (part + "--xyz--", "multipart/form-data", .noBoundary),
            (part + "--xyz--", "multipart/form-data; boundary=", .noBoundary),
            (
                part, "multipart/form-data; boundary=" + String(repeating: "a", count: 71),
                .noBoundary
            ),
            ("", Self.type, .malformed(at: 0)), ("--xy", Self.type, .malformed(at: 0)),
            ("\r\n--xyz--", Self.type, .malformed(at: 0)),
            ("--xyz", Self.type, .malformed(at: 5)), ("--xyz-", Self.type, .malformed(at: 5)),
            (part, Self.type, .malformed(at: 7)),
            ("--xyz\r\nno disposition\r\n\r\n\r\n--xyz--", Self.type, .malformed(at: 7)),
            (Self.part("filename=\"a\"", "b") + "--xyz--", Self.type, .malformed(at: 7)),
            (Self.part("name=\"a", "b") + "--xyz--", Self.type, .malformed(at: 7)),
            (Self.part("name=\"\(long)\"", "b") + "--xyz--", Self.type, .malformed(at: 7)),
            (
                String(repeating: part, count: 65) + "--xyz--", Self.type, .tooManyParts
            ),
        ]
        for (body, type, error) in cases {
            #expect(throws: error, "\(body.prefix(60))") { try Self.parse(body, type) }
        }
    }
}
