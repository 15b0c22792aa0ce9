import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import Assay

/// Two configurations in one process: what outlives an evidence, an app entry or a reload decides
/// in the configuration alone that it belongs to. As in a server, verifiers share the engine, the
/// revocation statuses and each thread's cache, and entries with equal trust share a verifier.
@Suite struct TwoConfigurationsTests {
    private struct Configuration: Sendable {
        let name: String
        let trust: TrustStore
        var policy = TwoConfigurationsTests.policy
        /// The verdicts of the evidence, in the order of `Evidence.all`.
        let verdicts: [Verdict]
    }

    private static var policy: Policy {
        var policy = PushFixture.policy
        policy.environments = [.production, .sandbox]
        policy.google.keys = [StoreFixture.key]
        policy.huawei.keys = [StoreFixture.key]
        policy.harmonyApplicationIds = ["100000001"]
        return policy
    }

    private struct Evidence: Sendable {
        let kind: EvidenceKind
        let bytes: [UInt8]

        private static let harmonyChain = Fixture.made {
            try Fixture.ca.issueHarmonyChain(at: Fixture.now)
        }

        /// One for each cache: chains of both stores, nested chains, chains of receipts, keys.
        static let all: [Evidence] = [
            Evidence(kind: .transaction, bytes: Fixture.token()),
            Evidence(
                kind: .transaction, bytes: Fixture.token(Fixture.payload(environment: .sandbox))),
            Evidence(
                kind: .serverAnswer,
                bytes: Array(
                    "{\"signedTransactionInfo\":\(Fixture.quoted(Fixture.token()))}".utf8)),
            Evidence(
                kind: .harmonyPurchase,
                bytes: Fixture.made {
                    try Minter(harmonyChain).sign(
                        Samples.harmonyPurchase(
                            index: 1, applicationId: "100000001", productId: "gold",
                            environment: .production, signedDate: Fixture.now))
                }),
            Evidence(
                kind: .appReceipt,
                bytes: Fixture.made {
                    try ReceiptMinter(receiptCA.chain).sign(
                        ReceiptSample(bundleId: Fixture.bundle, creationDate: Fixture.now).payload)
                }),
            Evidence(
                kind: .googlePurchase,
                bytes: StoreFixture.sign(StoreFixture.google())),
            Evidence(
                kind: .huaweiPurchase,
                bytes: StoreFixture.sign(StoreFixture.huawei(), .huawei)),
            Evidence(kind: .googleNotification, bytes: PushFixture.evidence()),
        ]
    }

    private static let root = Fixture.ca.rootCertificate
    private static let receiptCA = Fixture.made { try ReceiptCA.make(at: Fixture.now) }
    private static let receiptRoot = receiptCA.rootCertificate

    /// Everything is trusted.
    private static let trusting = Fixture.made {
        try TrustStore.apple.pinning(root, development: false)
            .pinning(receiptRoot, development: false).pinningHarmony(root)
    }

    private static func denying(_ certificate: [UInt8]) -> TrustStore {
        trusting.denying([Fingerprint(SHA256.digest(certificate.span))])
    }

    private static func changed(_ change: (inout Policy) -> Void) -> Policy {
        var policy = Self.policy
        change(&policy)
        return policy
    }

    private static let good = [Verdict](repeating: .valid, count: 8)

    /// The verdicts if all is good but for some, by their index in `Evidence.all`.
    private static func except(_ verdicts: [Int: Verdict]) -> [Verdict] {
        good.indices.map { verdicts[$0] ?? .valid }
    }

    private static func all(_ verdict: Verdict, _ indices: [Int]) -> [Verdict] {
        except(Dictionary(uniqueKeysWithValues: indices.map { ($0, verdict) }))
    }

    private static let configurations: [Configuration] = Fixture.made {
        let foreign = Fixture.foreignCA.rootCertificate
        let otherKey = try PurchaseKey(StoreMinter().publicKey)
        return [
            Configuration(name: "trusting", trust: trusting, verdicts: good),
            Configuration(
                name: "Apple's roots alone", trust: .apple,
                verdicts: all(.untrustedChain, [0, 1, 2, 3, 4])),
            Configuration(
                name: "a foreign root of the same name",
                trust: try TrustStore.apple.pinning(foreign, development: false)
                    .pinningHarmony(foreign),
                verdicts: all(.untrustedChain, [0, 1, 2, 3, 4])),
            Configuration(
                name: "the root for Apple's evidence alone",
                trust: try TrustStore.apple.pinning(root, development: false),
                verdicts: all(.untrustedChain, [3, 4])),
            Configuration(
                name: "the root for HarmonyOS alone",
                trust: try TrustStore.apple.pinningHarmony(root),
                verdicts: all(.untrustedChain, [0, 1, 2, 4])),
            Configuration(
                name: "development roots",
                trust: try TrustStore.apple.pinning(root, development: true)
                    .pinning(receiptRoot, development: true).pinningHarmony(root),
                verdicts: all(.untrustedChain, [0, 2])),
            Configuration(
                name: "a denied leaf", trust: denying(Fixture.ca.leafCertificate),
                verdicts: all(.certificateRevoked, [0, 1, 2])),
            Configuration(
                name: "a denied intermediate", trust: denying(Fixture.ca.intermediateCertificate),
                verdicts: all(.certificateRevoked, [0, 1, 2, 3])),
            Configuration(
                name: "a denied root", trust: denying(root),
                verdicts: all(.certificateRevoked, [0, 1, 2, 3])),
            Configuration(
                name: "a denied leaf of receipts",
                trust: denying(receiptCA.leafCertificate),
                verdicts: all(.certificateRevoked, [4])),
            Configuration(
                name: "statuses count", trust: trusting, policy: changed { $0.revocation = .soft },
                verdicts: all(.certificateRevoked, [0, 1, 2])),
            Configuration(
                name: "production alone", trust: trusting,
                policy: changed { $0.environments = [.production] },
                verdicts: all(.wrongEnvironment, [1, 4])),
            Configuration(
                name: "another app", trust: trusting,
                policy: changed {
                    $0.bundleId = "com.example.other"
                    $0.harmonyApplicationIds = ["1"]
                },
                verdicts: all(.wrongBundle, Array(0..<8))),
            Configuration(
                name: "other keys", trust: trusting,
                policy: changed {
                    $0.google.keys = [otherKey]
                    $0.huawei.keys = [otherKey]
                    $0.googlePush.keys = nil
                },
                verdicts: except([5: .invalidSignature, 6: .invalidSignature, 7: .untrustedChain])),
        ]
    }

    /// What the configurations of one process share.
    private final class Process {
        private let engine = EngineInUse()
        private let cache = ThreadCache()
        private let statuses = MintedStatus.store(
            MintedStatus.list(revoking: [
                .init(
                    serial: MintedStatus.Subject.leaf.serial, date: Fixture.time(-50), reason: 1)
            ]))
        private var verifiers: [TrustStore.Identity: Verifier] = [:]

        func verify(_ evidence: Evidence, by configuration: Configuration) -> Verification {
            let trust = configuration.trust
            let verifier =
                verifiers[trust.identity]
                ?? Verifier(trust: trust, engine: engine, revocation: statuses)
            verifiers[trust.identity] = verifier
            var batch = [
                verifier.prepare(
                    evidence.bytes.span, as: evidence.kind, policy: configuration.policy,
                    at: Fixture.now, cache: cache)
            ]
            verifier.verifySignatures(&batch, cache: cache)
            return batch[0].verification
        }

        /// Often enough for each cache to have an entry, and each key a table.
        func fill(by configuration: Configuration) {
            for evidence in Evidence.all {
                for _ in 0..<4 { _ = verify(evidence, by: configuration) }
            }
            for _ in 0..<Limits.keyTableUses { _ = verify(Evidence.all[0], by: configuration) }
        }
    }

    @Test("alone in a process, each configuration has its verdicts")
    func alone() {
        for configuration in Self.configurations {
            for (evidence, verdict) in zip(Evidence.all, configuration.verdicts) {
                let found = Process().verify(evidence, by: configuration)
                #expect(
                    found.verdict == verdict,
                    "\(configuration.name), \(evidence.kind.name): \(found.detail)")
            }
        }
    }

    @Test(
        "in one process, no configuration decides by another's entries, in either order",
        arguments: configurations.indices)
    func pairs(index: Int) {
        let first = Self.configurations[index]
        let process = Process()
        process.fill(by: first)
        for second in Self.configurations {
            for configuration in [second, first] {
                for (evidence, verdict) in zip(Evidence.all, configuration.verdicts) {
                    let found = process.verify(evidence, by: configuration)
                    #expect(
                        found.verdict == verdict,
                        """
                        \(evidence.kind.name) by \(configuration.name), after \(first.name) and \
                        \(second.name): \(found.detail)
                        """)
                }
            }
        }
    }

    @Test("stores of certificates with another trust are distinct")
    func identities() {
        // Those that differ by their policy share a verifier.
        let distinct = Set(Self.configurations.map(\.trust.identity))
        #expect(distinct.count == Self.configurations.count - 4)
    }
}
