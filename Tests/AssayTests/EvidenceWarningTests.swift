import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Remarks beside a VALID verdict: in the evidence, and in its JSON.
@Suite struct EvidenceWarningTests {
    private static func codes(_ verification: Verification) -> [String]? {
        switch verification.evidence {
        case .notification(let notification): notification.warnings.map(\.code.rawValue)
        case .appReceipt(let receipt): receipt.warnings.map(\.code.rawValue)
        default: nil
        }
    }

    @Test("A notification in a member that nobody knows yet is evidence of its app")
    func unknownContainers() throws {
        func object(_ bundle: String?, _ environment: String?, _ app: Int64? = nil) -> String {
            let members = [
                bundle.map { #""bundleId":"\#($0)""# },
                environment.map { #""environment":"\#($0)""# }, app.map { #""appAppleId":\#($0)"# },
            ]
            return "{" + members.compactMap(\.self).joined(separator: ",") + "}"
        }
        let (bundle, app) = (Fixture.bundle, Fixture.app)
        let good = object(bundle, "Production", app)
        let cases: [(String, KeyValuePairs<String, String?>, Verdict, Bool)] = [
            ("the one object", ["giftInfo": good], .valid, true),
            ("beside others", ["a": "{}", "giftInfo": good, "z": #"{"id":1}"#], .valid, true),
            ("beside values", ["bundleId": #""x""#, "n": "[{}]", "giftInfo": good], .valid, true),
            ("two that agree", ["giftInfo": good, "loanInfo": good], .valid, true),
            (
                "two that complete each other",
                ["a": object(bundle, nil, app), "b": object(nil, "Production")], .valid, true
            ),
            ("another app", ["giftInfo": object("x.y", "Production", app)], .wrongBundle, false),
            ("another id", ["giftInfo": object(bundle, "Production", 9)], .wrongApp, false),
            (
                "another environment", ["giftInfo": object(bundle, "Sandbox", app)],
                .wrongEnvironment, false
            ),
            (
                "two apps", ["a": good, "b": object("x.y", "Production", app)], .malformed, false
            ),
            ("two ids", ["a": good, "b": object(bundle, "Production", 9)], .malformed, false),
            (
                "two environments", ["a": good, "b": object(bundle, "Xcode", app)], .malformed,
                false
            ),
            ("a wrong type", ["giftInfo": #"{"bundleId":1}"#], .malformed, false),
            ("an app id alone", ["giftInfo": object(nil, nil, app)], .wrongBundle, false),
            ("none", ["giftInfo": #""text""#], .wrongBundle, false),
            ("beside a known one", ["data": good, "b": object("x.y", "Xcode")], .valid, false),
        ]
        for (name, members, verdict, warns) in cases {
            let payload = Fixture.change(
                Fixture.payload(.notification, changing: ["data": nil]), members)
            let answer = Fixture.verify(Fixture.token(payload), as: .notification)
            Fixture.expect(answer, verdict, comment: name)
            let expected = verdict == .valid ? (warns ? ["UNKNOWN_CONTAINER"] : []) : nil
            #expect(Self.codes(answer) == expected, "\(name)")
            let json = answer.evidence?.payloadJSON.map(\.name)
            #expect(json?.contains("warnings") ?? false == warns, "\(name)")
        }
    }

    @Test("A receipt of a volume purchase that has ended carries a warning")
    func expiredReceipts() throws {
        let now = MintedReceipts.now
        let cases: [(Int64?, Bool)] = [(nil, false), (1_000, false), (0, true), (-1_000, true)]
        for (ends, warns) in cases {
            var payload = ReceiptPayload()
            for attribute in MintedReceipts.sample().attributes { payload.append(attribute) }
            if let ends {
                let date = Timestamp(milliseconds: now.milliseconds + ends).rfc3339
                payload.append(
                    ReceiptAttribute(
                        type: 21, version: 1, value: DERWriter.build { $0.ia5String(date) }))
            }
            let receipt = try ReceiptMinter(MintedReceipts.ca.get().chain).sign(payload.bytes)
            let answer = try MintedReceipts.verifier().verify(
                receipt.span, as: .appReceipt, policy: MintedReceipts.policy, at: now)
            Fixture.expect(answer, .valid)
            #expect(Self.codes(answer) == (warns ? ["RECEIPT_EXPIRED"] : []), "\(ends ?? 0)")
            #expect(answer.evidence?.payloadJSON.map(\.name).contains("warnings") == warns)
        }
    }
}
