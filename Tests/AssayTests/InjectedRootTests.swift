@testable import Assay
import AssayMint
import AssayModels
import Testing

/// Tests what each kind of root can sign. Test roots replace Apple's, which only Apple can sign
/// with.
@Suite struct InjectedRootTests {
    private static let policy = Policy(
        bundleId: Fixture.bundle, environments: Set(StoreEnvironment.known))

    private static func store(
        _ roots: (certificate: [UInt8], isApple: Bool)..., development: Bool = false
    ) throws -> TrustStore {
        TrustStore(
            anchors: try roots.map {
                TrustAnchor(
                    try Certificate(der: $0.certificate), development: development,
                    isApple: $0.isApple)
            })
    }

    private static func expect(
        _ token: [UInt8], as kind: EvidenceKind = .transaction, _ trust: TrustStore,
        _ verdict: Verdict, _ comment: String
    ) {
        let answer = Fixture.verify(
            token, as: kind, policy: policy, by: Verifier(trust: trust))
        Fixture.expect(answer, verdict, comment: comment)
    }

    private static func notification(
        _ environment: StoreEnvironment, _ nested: [UInt8], signedBy chain: SigningChain
    ) -> [UInt8] {
        let data = """
            {"bundleId":"\(Fixture.bundle)","appAppleId":\(Fixture.app),\
            "environment":"\(environment.rawValue)",\
            "signedTransactionInfo":\(Fixture.quoted(nested))}
            """
        return Fixture.token(Fixture.payload(.notification, changing: ["data": data]), chain)
    }

    @Test("line 40: Apple's roots do not sign Xcode or LocalTesting evidence")
    func appleRoots() throws {
        let apple = try Self.store((Fixture.ca.rootCertificate, true))
        let other = try Self.store((Fixture.ca.rootCertificate, false))
        for environment in StoreEnvironment.known {
            let isXcode = environment == .xcode || environment == .localTesting
            let json = environment == .unspecified ? nil : "\"\(environment.rawValue)\""
            let token = Fixture.token(Fixture.payload(changing: ["environment": json]))
            Self.expect(token, apple, isXcode ? .wrongEnvironment : .valid, environment.rawValue)
            Self.expect(token, other, .valid, environment.rawValue)
        }
    }

    @Test("line 40: a development root does not sign evidence without an environment")
    func developmentRoot() throws {
        let root = Fixture.ca.rootCertificate
        let token = Fixture.token(Fixture.payload(changing: ["environment": nil]))
        Self.expect(token, Fixture.trust(root), .valid, "a root for all")
        let development = Fixture.trust(root, development: true)
        Self.expect(token, development, .untrustedChain, "a root for development")
        // Nested in a sandbox notification, the token has the sandbox's environment.
        for (environment, verdict) in [
            (StoreEnvironment.sandbox, Verdict.valid), (.production, .untrustedChain),
        ] {
            let outer = Self.notification(environment, token, signedBy: Fixture.ca.chain)
            Self.expect(outer, as: .notification, development, verdict, environment.rawValue)
        }
    }

    @Test("line 40: a single certificate from Apple in x5c is refused")
    func appleLeaf() throws {
        let xcode = try SigningChain.storeKitTesting(at: Fixture.now)
        let token = Fixture.token(Fixture.payload(environment: .xcode), xcode)
        let certificate = xcode.certificates[0]
        Self.expect(token, try Self.store((certificate, false)), .valid, "pinned")
        Self.expect(token, try Self.store((certificate, true)), .untrustedChain, "Apple's")
    }

    @Test("line 42: nested evidence needs a root that can sign it, like its notification")
    func nestedAnchors() throws {
        let genuine = Fixture.ca, nested = Fixture.foreignCA
        let roots = [genuine.rootCertificate, nested.rootCertificate]
        let equal = try Self.store((roots[0], false), (roots[1], false))
        let development = try TrustStore.empty.pinning(roots[0], development: false)
            .pinning(roots[1], development: true)
        let apple = try Self.store((roots[0], false), (roots[1], true))
        let cases: [(StoreEnvironment, TrustStore, Verdict, String)] = [
            (.production, equal, .valid, "two roots"),
            (.xcode, equal, .valid, "two roots"),
            (.production, development, .untrustedChain, "a root for development"),
            (.sandbox, development, .valid, "a root for development"),
            (.production, apple, .valid, "Apple's root"),
            (.xcode, apple, .wrongEnvironment, "Apple's root"),
            (.localTesting, apple, .wrongEnvironment, "Apple's root"),
        ]
        for (environment, trust, verdict, comment) in cases {
            let inner = Fixture.token(
                Fixture.payload(environment: environment), nested.chain)
            let token = Self.notification(environment, inner, signedBy: genuine.chain)
            let comment = "\(environment.rawValue), \(comment)"
            Self.expect(token, as: .notification, trust, verdict, comment)
            // A nested token from the notification's own signer is valid.
            let own = Fixture.token(Fixture.payload(environment: environment), genuine.chain)
            let plain = Self.notification(environment, own, signedBy: genuine.chain)
            Self.expect(plain, as: .notification, trust, .valid, comment)
        }
    }

    @Test("line 42: a pinned certificate signs nested evidence only for Xcode")
    func nestedPinnedLeaf() throws {
        let xcode = try SigningChain.storeKitTesting(at: Fixture.now)
        let trust = Fixture.trust(Fixture.ca.rootCertificate, xcode.certificates[0])
        for (environment, verdict) in [
            (StoreEnvironment.xcode, Verdict.valid), (.localTesting, .valid),
            (.sandbox, .wrongEnvironment), (.production, .wrongEnvironment),
        ] {
            let inner = Fixture.token(Fixture.payload(environment: environment), xcode)
            let token = Self.notification(environment, inner, signedBy: Fixture.ca.chain)
            Self.expect(token, as: .notification, trust, verdict, environment.rawValue)
        }
    }
}
