import Assay
import AssayMint
import AssayModels
import Testing

/// Tests bytes around a token that arrives alone, and the names in a refusal.
@Suite struct TokenEdgeTests {
    @Test(arguments: ["", "\n", "\r\n"])
    func oneLineBreakMayFollow(end: String) {
        for kind in [EvidenceKind.transaction, .renewalInfo, .appTransaction, .notification] {
            let token = Fixture.token(Fixture.payload(kind)) + Array(end.utf8)
            Fixture.expect(Fixture.verify(token, as: kind), .valid)
        }
    }

    @Test(arguments: [
        ("", "\n\n", "white space stands after"), ("", "\r", "white space stands after"),
        ("", " \n", "white space stands after"), ("", "\t", "white space stands after"),
        ("\n", "", "white space stands before"), (" ", "", "white space stands before"),
        ("\u{feff}", "", "byte order mark"), ("\u{feff}", "\n", "byte order mark"),
        ("\"", "\"", "quotation mark stands before"), ("'", "'", "quotation mark stands before"),
        ("", "\"", "quotation mark stands after"), ("", "\"\n", "quotation mark stands after"),
    ])
    func othersAreNamed(start: String, end: String, name: String) {
        let token = Array(start.utf8) + Fixture.token() + Array(end.utf8)
        for kind in [EvidenceKind.transaction, .notification, .realtimeRequest] {
            let answer = Fixture.verify(token, as: kind)
            #expect(answer.verdict == .malformed && answer.detail.contains(name))
        }
    }

    /// A token nested in another has no line break or space around it.
    @Test(arguments: ["\n", " "])
    func nested(end: String) {
        let transaction = Fixture.token() + Array(end.utf8)
        let payload = Fixture.payload(
            .notification,
            changing: [
                "data": """
                {"bundleId":"\(Fixture.bundle)","environment":"Production",\
                "appAppleId":\(Fixture.app),"signedTransactionInfo":\
                "\(Fixture.text(transaction).replacing("\n", with: "\\n"))"}
                """
            ])
        Fixture.expect(Fixture.verify(Fixture.token(payload), as: .notification), .malformed)
    }

    @Test func aTokenOfALineBreakAlone() {
        for text in ["\n", "\r\n", ""] {
            Fixture.expect(Fixture.verify(Array(text.utf8)), .malformed)
        }
    }

    @Test func untrustedChainsNameTheIssuer() {
        let answer = Fixture.verify(Fixture.token(), by: Verifier(trust: .apple))
        #expect(answer.verdict == .untrustedChain)
        #expect(
            answer.detail.contains("no pinned root is named \"Assay Development Root CA\""),
            "\(answer.detail)")
        // A root with the same name and another key.
        let other = Fixture.verify(
            Fixture.token(), by: Verifier(trust: Fixture.trust(Fixture.stranger.rootCertificate)))
        #expect(other.verdict == .untrustedChain)
        #expect(other.detail.contains("not signed by the pinned root named \"Assay Dev"))
    }
}
