import Assay
import AssayMint
import AssayModels
import Testing

/// Lines 40 and 41 of the catalogue of hostile input: environments and apps.
@Suite struct HostilePolicyTests {
    private static let kinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
    ]

    @Test("line 40: environments under a policy of Production only")
    func environments() {
        let texts: [(String?, Verdict)] = [
            ("\"Production\"", .valid), (#""\u0050roduction""#, .valid),
            ("\"Sandbox\"", .wrongEnvironment), ("\"Xcode\"", .wrongEnvironment),
            ("\"LocalTesting\"", .wrongEnvironment), (nil, .wrongEnvironment),
            ("null", .wrongEnvironment), ("\"\"", .wrongEnvironment),
            ("\"production\"", .wrongEnvironment), ("\"Production \"", .wrongEnvironment),
            (#""Production\u0000""#, .wrongEnvironment), ("\"PRODUCTION\"", .wrongEnvironment),
            ("\"Рroduction\"", .wrongEnvironment), ("\"Unspecified\"", .wrongEnvironment),
            ("[\"Production\"]", .malformed), ("0", .malformed),
        ]
        for (json, verdict) in texts {
            let token = Fixture.token(Fixture.payload(changing: ["environment": json]))
            Fixture.expect(Fixture.verify(token), verdict, comment: json ?? "absent")
            let app = Fixture.token(
                Fixture.payload(.appTransaction, changing: ["receiptType": json]))
            // Without its receiptType it is not an app transaction.
            Fixture.expect(
                Fixture.verify(app, as: .appTransaction), json == nil ? .wrongKind : verdict,
                comment: json ?? "absent")
        }
    }

    @Test("line 40: evidence without an environment is Unspecified, accepted only by that name")
    func unspecified() {
        let token = Fixture.token(Fixture.payload(changing: ["environment": nil]))
        for environment in StoreEnvironment.known {
            let policy = Policy(bundleId: Fixture.bundle, environments: [environment])
            let verdict: Verdict = environment == .unspecified ? .valid : .wrongEnvironment
            Fixture.expect(Fixture.verify(token, policy: policy), verdict)
        }
    }

    @Test("line 40: no environment skips the signature", arguments: StoreEnvironment.known)
    func neverUnsigned(environment: StoreEnvironment) throws {
        let xcode = try SigningChain.storeKitTesting(at: Fixture.now)
        let other = try SigningChain.storeKitTesting(at: Fixture.now)
        let verifiers = [
            Fixture.verifier,
            Verifier(trust: Fixture.trust(xcode.certificates[0], development: true)),
        ]
        let policy = Policy(bundleId: Fixture.bundle, environments: Set(StoreEnvironment.known))
        let payload = Fixture.payload(environment: environment)
        let tokens = [
            Fixture.token(payload, other), Fixture.token(payload, xcode, signature: { $0[9] ^= 1 }),
            Fixture.token(payload, signature: { $0[40] ^= 1 }),
            Fixture.token(payload, header: { $0.alg = "none" }, signature: { $0 = [] }),
            Fixture.token(payload, header: { $0.x5c = nil }),
            Fixture.token(
                payload, SigningChain(certificates: xcode.certificates, key: other.key)),
        ]
        for verifier in verifiers {
            for token in tokens {
                let answer = Fixture.verify(token, policy: policy, by: verifier)
                #expect(answer.verdict != .valid && answer.evidence == nil)
            }
        }
    }

    @Test("line 40: a pinned leaf certificate accepts only Xcode and LocalTesting")
    func pinnedLeaf() throws {
        let xcode = try SigningChain.storeKitTesting(at: Fixture.now)
        let policy = Policy(bundleId: Fixture.bundle, environments: Set(StoreEnvironment.known))
        for development in [true, false] {
            let trust = Fixture.trust(xcode.certificates[0], development: development)
            let pinned = Verifier(trust: trust)
            for environment in StoreEnvironment.known {
                let token = Fixture.token(
                    Fixture.payload(
                        changing: ["environment": "\"\(environment.rawValue)\""]), xcode)
                let passes = environment == .xcode || environment == .localTesting
                Fixture.expect(
                    Fixture.verify(token, policy: policy, by: pinned),
                    passes ? .valid : .wrongEnvironment, comment: environment.rawValue)
                // First the certificate is not pinned, then the policy does not allow the
                // environment.
                Fixture.expect(Fixture.verify(token, policy: policy), .untrustedChain)
                Fixture.expect(
                    Fixture.verify(token, by: pinned),
                    .wrongEnvironment, comment: environment.rawValue)
            }
            // Dates are checked as always.
            let old = Fixture.token(
                Fixture.payload(environment: .xcode, signed: Fixture.time(-2 * 86_400)), xcode)
            Fixture.expect(
                Fixture.verify(old, policy: policy, by: pinned), .certificateExpired)
        }
        // Another certificate with the same name, or even the same key, is not the pinned
        // certificate.
        let again = try SigningChain.storeKitTesting(validity: Fixture.validity) { _ in }
        let pinned = Verifier(trust: Fixture.trust(xcode.certificates[0], development: true))
        let token = Fixture.token(Fixture.payload(environment: .xcode), again)
        Fixture.expect(Fixture.verify(token, policy: policy, by: pinned), .untrustedChain)
        // Three copies are a chain of three, which has its own rules.
        var thrice = xcode
        thrice.certificates = [[UInt8]](repeating: xcode.certificates[0], count: 3)
        let long = Fixture.token(Fixture.payload(environment: .xcode), thrice)
        Fixture.expect(Fixture.verify(long, policy: policy, by: pinned), .invalidChain)
    }

    @Test("line 40: a development root never validates Production", arguments: kinds)
    func developmentRoot(kind: EvidenceKind) {
        let trust = Fixture.trust(Fixture.ca.rootCertificate, development: true)
        let verifier = Verifier(trust: trust)
        let policy = Policy(
            bundleId: Fixture.bundle, appAppleId: Fixture.app,
            environments: Set(StoreEnvironment.known))
        for environment in StoreEnvironment.known where environment != .unspecified {
            let token = Fixture.token(Fixture.payload(kind, environment: environment))
            let answer = Fixture.verify(token, as: kind, policy: policy, by: verifier)
            Fixture.expect(
                answer, environment == .production ? .untrustedChain : .valid,
                comment: environment.rawValue)
        }
    }

    @Test("line 41: bundle identifiers that look similar")
    func bundles() {
        let texts: [(String?, Verdict)] = [
            ("com.example.app", .valid), (#"com.example.\u0061pp"#, .valid),
            ("com.example.App", .wrongBundle), ("com.example.аpp", .wrongBundle),
            (#"com.example.app\u0000"#, .wrongBundle), ("com.example.app ", .wrongBundle),
            ("com.example.ap", .wrongBundle), ("com.example.app.clip", .wrongBundle),
            ("", .wrongBundle), ("com.example.other", .wrongBundle), (nil, .wrongBundle),
            (#"com.example.app\u200b"#, .wrongBundle), ("com.example.a\u{301}pp", .wrongBundle),
        ]
        for (text, verdict) in texts {
            for kind in [EvidenceKind.transaction, .appTransaction] {
                let token = Fixture.token(
                    Fixture.payload(kind, changing: ["bundleId": text.map { "\"\($0)\"" }]))
                Fixture.expect(
                    Fixture.verify(token, as: kind), verdict, comment: "\(kind) \(text ?? "-")")
            }
        }
        // The composed and decomposed forms are equal as Strings but differ in their bytes.
        let composed = Policy(bundleId: "com.example.\u{E9}", environments: [.production])
        for (text, verdict) in [("\u{E9}", Verdict.valid), ("e\u{301}", .wrongBundle)] {
            let token = Fixture.token(
                Fixture.payload(changing: ["bundleId": "\"com.example.\(text)\""]))
            Fixture.expect(Fixture.verify(token, policy: composed), verdict)
        }
        // Without a bundle in the policy, the bundle is reported but not checked.
        let open = Policy(bundleId: nil, environments: [.production])
        let token = Fixture.token(Fixture.payload(bundle: "com.example.other"))
        let answer = Fixture.verify(token, policy: open)
        Fixture.expect(answer, .valid)
        #expect(answer.dedupKey?.contains("com.example.other") == true)
    }

    @Test("line 41: the app id is required of Production evidence that carries one")
    func appIds() {
        let app = String(Fixture.app)
        let cases: [(EvidenceKind, StoreEnvironment, String?, Verdict)] = [
            (.appTransaction, .production, app, .valid),
            (.appTransaction, .production, "1", .wrongApp),
            (.appTransaction, .production, "0", .wrongApp),
            (.appTransaction, .production, nil, .wrongApp),
            (.appTransaction, .production, "null", .wrongApp),
            (.appTransaction, .production, "-\(app)", .wrongApp),
            (.appTransaction, .production, "\"\(app)\"", .malformed),
            (.appTransaction, .production, "\(app).5", .malformed),
            (.appTransaction, .sandbox, nil, .valid), (.appTransaction, .sandbox, "0", .valid),
            (.realtimeRequest, .production, "1", .wrongApp),
            (.realtimeRequest, .production, app, .valid),
            (.realtimeRequest, .production, nil, .malformed),
            // A transaction has no member for the app id.
            (.transaction, .production, "1", .valid), (.transaction, .production, nil, .valid),
        ]
        let policy = Policy(
            bundleId: Fixture.bundle, appAppleId: Fixture.app,
            environments: [.production, .sandbox])
        for (kind, environment, json, verdict) in cases {
            let payload = Fixture.payload(
                kind, environment: environment, changing: ["appAppleId": json])
            Fixture.expect(
                Fixture.verify(Fixture.token(payload), as: kind, policy: policy), verdict,
                comment: "\(kind) \(environment) \(json ?? "-")")
        }
        var open = policy
        open.appAppleId = nil
        let other = Fixture.token(Fixture.payload(.appTransaction, changing: ["appAppleId": "1"]))
        Fixture.expect(Fixture.verify(other, as: .appTransaction, policy: open), .valid)
    }
}
