import Assay
@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry
import AssayBytes
import Testing

/// JSON around a receipt that arrives in slices: the same as the body read whole.
@Suite("JSON around a receipt")
struct ReceiptEnvelopeTests {
    struct Case: CustomTestStringConvertible {
        let body: String
        /// The content of the string; nil: the body is refused.
        let content: String?
        var testDescription: String { body }

        init(_ body: String, _ content: String?) {
            self.body = body
            self.content = content
        }
    }

    static let cases = [
        Case(#"{"receipt-data":"MIIabc+/=="}"#, "MIIabc+/=="),
        Case(#"{"receipt-data":""}"#, ""),
        Case(#" { "receipt-data" : "MII" , "password" : "p" } "#, "MII"),
        Case(#"{"password":"p","exclude-old-transactions":true,"receipt-data":"MII"}"#, "MII"),
        Case(#"{"a":{"receipt-data":"no"},"b":["receipt-data"],"receipt-data":"MII"}"#, "MII"),
        Case(#"{"a":"receipt-data","receipt-data":"MII"}"#, "MII"),
        Case(#"{"a":"\"receipt-data\":\"no","receipt-data":"MII"}"#, "MII"),
        Case(#"{"receipt-data2":"no","receipt-dat":"no","receipt-data":"MII"}"#, "MII"),
        Case(#"{"receipt-data":"MII","a":{"receipt-data":"no"}}"#, "MII"),
        // Escapes.
        Case(#"{"receipt-data":"a\/b\/\/c\/"}"#, "a/b//c/"),
        Case(#"{"receipt-data":"\/"}"#, "/"),
        Case(#"{"receipt-data":"a\r\nb\tc\"d\\e\bf\f"}"#, "a\r\nb\tc\"d\\e\u{8}f\u{C}"),
        Case(#"{"receipt-data":"a\u002bb\u002Fc\u003d"}"#, "a+b/c="),
        // Refused, as is the same body read whole.
        Case(#"{"receipt-data":"MII\x"}"#, nil),
        Case(#"{"receipt-data":"MII\u00"}"#, nil),
        Case(#"{"receipt-data":"MII\u+041"}"#, nil),
        Case("{\"receipt-data\":\"MII\n\"}", nil),
        Case("{\"receipt-data\":\"MII\u{0}\"}", nil),
        Case(#"{"receipt-data":"MII"#, nil),
        Case(#"{"receipt-data":"MII\"#, nil),
        Case(#"{"receipt-data":"MII""#, nil),
        Case(#"{"receipt-data":"MII"}}"#, nil),
        Case(#"{"receipt-data":"MII",}"#, nil),
        Case(#"{"receipt-data":"MII" "a":1}"#, nil),
        Case(#"{"receipt-data":"MII","receipt-data":"MII"}"#, nil),
        Case(#"{"receipt-data":1,"a":"MII"}"#, nil),
        Case(#"{"receipt-data":null}"#, nil),
        Case(#"{"receipt-data":{"receipt-data":"MII"}}"#, nil),
        Case(#"{"receipt-data":["MII"]}"#, nil),
        Case(#"[{"receipt-data":"MII"}]"#, nil),
        Case(#"{"a":"receipt-data":"MII"}"#, nil),
        Case(#"{"a":1}"#, nil),
        Case(#"receipt-data=MII"#, nil),
        Case("", nil),
    ]

    private static func read(
        _ body: [UInt8], slices: Int
    ) -> (content: [UInt8], members: JSONObject?) {
        var envelope = ReceiptEnvelope()
        var content: [UInt8] = []
        var position = 0
        while position < body.count {
            let end = min(position + slices, body.count)
            envelope.receive(body.span.extracting(position..<end)) { content += $0.array }
            position = end
        }
        return (content, try? envelope.finish())
    }

    @Test("The content and the outcome do not depend on the slices", arguments: cases)
    func slices(test: Case) {
        let body = Array(test.body.utf8)
        for slices in [1, 2, 3, 5, 7, max(body.count, 1)] {
            let (content, members) = Self.read(body, slices: slices)
            #expect((members != nil) == (test.content != nil), "\(slices)")
            guard let expected = test.content else { continue }
            #expect(content == Array(expected.utf8), "\(slices)")
            #expect(members?["receipt-data"]?.string == "")
        }
        let whole = Result { try HTTPJSONBody(body.span, as: .apple(isSandbox: false, app: "")) }
        // An empty receipt is refused later where it is read in slices.
        let isRead = (try? whole.get()) != nil
        #expect(isRead == (test.content.map { !$0.isEmpty } ?? false))
    }

    @Test("The members around the receipt are kept, and bounded")
    func members() throws {
        let most = ReceiptEnvelope.textBytes
        for (count, isKept) in [(most - 33, true), (most - 32, false)] {
            let text = String(repeating: "x", count: count)
            for body in [
                "{\"password\":\"\(text)\",\"receipt-data\":\"MII\"}",
                "{\"receipt-data\":\"MII\",\"password\":\"\(text)\"}",
            ] {
                let (_, members) = Self.read(Array(body.utf8), slices: 1000)
                #expect((members != nil) == isKept, "\(body.utf8.count)")
                if isKept { #expect(members?["password"]?.string == text) }
            }
        }
        // The receipt itself is not kept.
        var envelope = ReceiptEnvelope()
        envelope.receive(Array("{\"receipt-data\":\"".utf8).span) { _ in }
        let slice = [UInt8](repeating: UInt8(ascii: "A"), count: 64 << 10)
        var count = 0
        for _ in 0..<100 { envelope.receive(slice.span) { count += $0.count } }
        #expect(count == 100 * slice.count)
        #expect(envelope.heldBytes < 1 << 10)
    }
}
