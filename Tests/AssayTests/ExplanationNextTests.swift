import Assay
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// What an explanation says to do next, and the texts of docs/verdicts.md.
@Suite("What an explanation says to do next") struct ExplanationNextTests {
    private static func next(
        _ evidence: [UInt8], as kind: EvidenceKind? = .transaction,
        trust: TrustStore = Fixture.verifier.trust, policy: Policy = Fixture.policy,
        expecting expectations: Expectations = .none
    ) -> [String] {
        Explanation(
            evidence.span, as: kind, trust: trust, policy: policy, expecting: expectations,
            at: Fixture.now
        ).remedies
    }

    private typealias Case = (name: String, next: [String], texts: [String])

    @Test("a refusal by the policy names the option and the key that would change it")
    func policies() {
        let token = Fixture.token()
        let sandbox = Policy(bundleId: nil, environments: [.sandbox])
        let other = Policy(bundleId: "com.example.other")
        let anotherApp = Policy(bundleId: nil, appAppleId: 7)
        let cases: [Case] = [
            (
                "environment", Self.next(token, policy: sandbox),
                [
                    "Send sandbox purchases to a sandbox app entry.",
                    "To accept Production: --environment Production, or environments of the app "
                        + "entry, now Sandbox.",
                ]
            ),
            (
                "bundle", Self.next(token, policy: other),
                [
                    "Refuse.",
                    "If the bundle \"com.example.app\" is yours: --bundle-id, or bundle-id of the "
                        + "app entry, now \"com.example.other\".",
                ]
            ),
            (
                "app",
                Self.next(
                    Fixture.token(Fixture.payload(.appTransaction)), as: .appTransaction,
                    policy: anotherApp),
                [
                    "Refuse. Check app-apple-id.",
                    "If the App Store id 1234567890 is yours: --app-apple-id, or app-apple-id of "
                        + "the app entry, now 7.",
                ]
            ),
        ]
        for (name, next, texts) in cases { #expect(next == texts, "\(name)") }
    }

    @Test("a refusal by trust or date names what is pinned, and the time")
    func trust() {
        let token = Fixture.token()
        let development = Fixture.trust(Fixture.ca.rootCertificate, development: true)
        let foreign = Fixture.trust(Fixture.foreignCA.rootCertificate)
        let early = Fixture.token(Fixture.payload(signed: Fixture.time(3_600)))
        let cases: [Case] = [
            (
                "root", Self.next(token, trust: foreign),
                [
                    "Refuse. For test data pin its root with --root.",
                    "Pinned are Assay Development Root CA. To pin another root: --root FILE, or "
                        + "roots of the app entry.",
                ]
            ),
            (
                "nothing pinned", Self.next(token, trust: .empty),
                [
                    "Refuse. For test data pin its root with --root.",
                    "Nothing is pinned. To pin another root: --root FILE, or roots of the app "
                        + "entry.",
                ]
            ),
            (
                "development root", Self.next(token, trust: development),
                [
                    "Refuse. For test data pin its root with --root.",
                    "A root of development-roots is never good for Production and Unspecified; "
                        + "evidence of Xcode and LocalTesting needs one.",
                ]
            ),
            (
                "no key of the store",
                Self.next(StoreFixture.sign(StoreFixture.google()), as: .googlePurchase),
                ["Refuse."]
            ),
            (
                "date", Self.next(early),
                [
                    "Refuse. Check the server's clock.",
                    "The verification is as of 2026-01-01T00:00:00Z; --at sets another time.",
                ]
            ),
        ]
        for (name, next, texts) in cases { #expect(next == texts, "\(name)") }
    }

    @Test("a refusal by the request names its parameter; some refusals stay")
    func requests() {
        let token = Fixture.token()
        let damaged = Fixture.token(signature: { $0[9] ^= 1 })
        let account = Expectations(appAccountToken: "00000000-0000-0000-0000-000000000001")
        let cases: [Case] = [
            (
                "kind", Self.next(token, as: .renewalInfo),
                [
                    "Name the right kind.",
                    "It looks like transaction: --kind transaction, or --kind auto.",
                ]
            ),
            (
                "product", Self.next(token, expecting: Expectations(productIds: ["none"])),
                [
                    "Refuse.",
                    "The expectation is --product-id of assay verify, and expectations.productIds "
                        + "of a request.",
                ]
            ),
            (
                "account", Self.next(token, expecting: account),
                [
                    "Refuse.", "Ask the customer which account bought it.",
                    "The expectation is --app-account-token of assay verify, and "
                        + "expectations.appAccountToken of a request.",
                ]
            ),
            // Nothing changes these.
            ("signature", Self.next(damaged), ["Refuse."]),
            ("nothing", Self.next([]), ["Refuse. Check what your client sends."]),
        ]
        for (name, next, texts) in cases { #expect(next == texts, "\(name)") }
    }

    @Test("Xcode's evidence needs its certificate as well")
    func xcode() {
        let next = Self.next(Fixture.token(Fixture.payload(environment: .xcode)))
        #expect(next.count == 2 && next[1].hasPrefix("To accept Xcode: --environment Xcode, or "))
        #expect(next[1].hasSuffix("as well: --root FILE, or development-roots."))
    }

    @Test("what is VALID needs no remedy: its advice is that of what the customer owns")
    func valid() { #expect(Self.next(Fixture.token()).isEmpty) }

    @Test("meaning and advice of each verdict are those of docs/verdicts.md")
    func documented() throws {
        let page = try String(
            contentsOfFile: Vectors.packageRoot + "/docs/verdicts.md", encoding: .utf8)
        for verdict in Verdict.allCases {
            let start = "| `\(verdict.name)` (\(verdict.rawValue)) | "
            let row = try #require(page.split(separator: "\n").first { $0.hasPrefix(start) })
            let cells = row.dropFirst(start.count).split(separator: "|").map {
                $0.replacing("`", with: "").trimmingCharacters(in: .whitespaces)
            }
            #expect(cells[0].hasPrefix(verdict.meaning), "\(verdict)")
            #expect(cells.last == verdict.advice, "\(verdict)")
        }
    }
}
