import Assay
import AssayMint
import AssayModels
import Testing

/// Tests bytes around a token that arrives alone, and the names in a refusal.
@Suite struct TokenEdgeTests {
    @Test(arguments: ["", "\n", "\r\n"])
    func oneLineBreakCanFollow(end: String) {
        for kind in [EvidenceKind.transaction, .renewalInfo, .appTransaction, .notification] {
            let token = Fixture.token(Fixture.payload(kind)) + Array(end.utf8)
            Fixture.expect(Fixture.verify(token, as: kind), .valid)
        }
    }

    @Test(arguments: [
        ("", "\n\n", "white space after"), ("", "\r", "white space after"),
        ("", " \n", "white space after"), ("", "\t", "white space after"),
        ("\n", "", "white space before"), (" ", "", "white space before"),
        ("\u{feff}", "", "byte order mark"), ("\u{feff}", "\n", "byte order mark"),
        ("\"", "\"", "quotation mark before"), ("'", "'", "quotation mark before"),
        ("", "\"", "quotation mark after"), ("", "\"\n", "quotation mark after"),
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

    @Test func aLineBreakAlone() {
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
            Fixture.token(), by: Verifier(trust: Fixture.trust(Fixture.foreignCA.rootCertificate)))
        #expect(other.verdict == .untrustedChain)
        #expect(other.detail.contains("not signed by the pinned root named \"Assay Dev"))
    }
}
