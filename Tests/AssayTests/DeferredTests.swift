import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Evidence with an unknown chain, when the caller defers chain validation. The result is neither
/// refused nor valid, but deferred.
@Suite struct DeferredTests {
    private enum Ending: Equatable {
        case deferred
        case answered(Verdict)
    }

    private static func ending(
        _ evidence: [UInt8], _ kind: EvidenceKind, _ verifier: Verifier,
        policy: Policy = Fixture.policy, at now: Timestamp = Fixture.now
    ) -> Ending {
        var batch = [
            verifier.prepare(
                evidence.span, as: kind, policy: policy, at: now, unknownChains: .deferred)
        ]
        verifier.verifySignatures(&batch)
        return batch[0].unknownChain == nil ? .answered(batch[0].verification.verdict) : .deferred
    }

    /// Expects evidence to be deferred until its chain is validated, and to be answered with the
    /// verdict from then on.
    private func expectDeferred(
        _ evidence: [UInt8], _ kind: EvidenceKind, by verifier: Verifier,
        policy: Policy = Fixture.policy, at now: Timestamp = Fixture.now, until verdict: Verdict,
        location: SourceLocation = #_sourceLocation
    ) {
        for _ in 0..<2 {
            let first = Self.ending(evidence, kind, verifier, policy: policy, at: now)
            #expect(first == .deferred, "\(kind)", sourceLocation: location)
        }
        let answer = verifier.verify(evidence.span, as: kind, policy: policy, at: now)
        #expect(answer.verdict == verdict, "\(answer.detail)", sourceLocation: location)
        let then = Self.ending(evidence, kind, verifier, policy: policy, at: now)
        #expect(then == .answered(verdict), "\(kind)", sourceLocation: location)
    }

    private var fresh: Verifier { Verifier(trust: Fixture.verifier.trust) }

    @Test func untilTheChainHasValidated() {
        let kinds: [EvidenceKind] = [
            .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
        ]
        for kind in kinds {
            let token = Fixture.token(Fixture.payload(kind))
            expectDeferred(token, kind, by: fresh, until: .valid)
        }
        let token = Fixture.token(Fixture.payload(.notification))
        let body = "{\"signedPayload\":\(Fixture.quoted(token))}"
        expectDeferred(Array(body.utf8), .notification, by: fresh, until: .valid)
    }

    @Test func untilTheChainIsRefused() {
        let forged = Fixture.chain(leaf: { $0.signature = [0x30, 0] })
        expectDeferred(
            Fixture.token(Fixture.payload(), forged), .transaction, by: fresh,
            until: .invalidChain)
    }

    /// A check that does not need the chain refuses at once.
    @Test func refusedWithoutItsChain() {
        let future = Fixture.token(Fixture.payload(signed: Fixture.time(301)))
        let unmarked = Fixture.chain(leaf: { $0[CertificateExtension.leafMarkerOID] = nil })
        let cases: [([UInt8], Verdict)] = [
            ([], .malformed), (Array("a.b.c".utf8), .malformed), (future, .invalidDate),
            (Fixture.token(Fixture.payload(), unmarked), .wrongCertificatePurpose),
            (Fixture.token(Fixture.payload(), header: { $0.alg = "none" }), .unsupportedAlgorithm),
        ]
        for (evidence, verdict) in cases {
            #expect(Self.ending(evidence, .transaction, fresh) == .answered(verdict))
        }
    }

    /// A notification also waits for the chains of its nested tokens.
    @Test func nested() {
        func notification(_ nested: [UInt8]) -> [UInt8] {
            let data = """
                {"bundleId":"\(Fixture.bundle)","appAppleId":\(Fixture.app),\
                "environment":"Production","signedTransactionInfo":\(Fixture.quoted(nested))}
                """
            return Fixture.token(Fixture.payload(.notification, changing: ["data": data]))
        }
        let verifier = fresh
        #expect(Fixture.verify(Fixture.token(), by: verifier).verdict == .valid)
        let token = notification(Fixture.token(Fixture.payload(), Fixture.chain()))
        // The notification's own signature and the policy come first.
        let other = Policy(bundleId: "com.example.other", appAppleId: Fixture.app)
        let refused = Self.ending(token, .notification, verifier, policy: other)
        #expect(refused == .answered(.wrongBundle))
        expectDeferred(token, .notification, by: verifier, until: .valid)
        let known = notification(Fixture.token())
        #expect(Self.ending(known, .notification, verifier) == .answered(.valid))
        let broken = notification(Array("a.b.c".utf8))
        #expect(Self.ending(broken, .notification, verifier) == .answered(.malformed))
    }

    /// Verifying a batch of another verifier traps, unless no item of it needs a signature.
    @Test func anotherVerifier() async {
        var refused = [
            fresh.prepare([1].span, as: .transaction, policy: Fixture.policy, at: Fixture.now)
        ]
        fresh.verifySignatures(&refused)
        #expect(refused[0].verification.verdict == .malformed)
        await #expect(processExitsWith: .failure) {
            let token = Fixture.token()
            let others = Verifier(trust: Fixture.verifier.trust)
            var batch = [
                others.prepare(
                    token.span, as: .transaction, policy: Fixture.policy, at: Fixture.now)
            ]
            Fixture.verifier.verifySignatures(&batch)
        }
    }

    @Test func appReceipts() throws {
        typealias Minted = MintedReceipts
        let receipt = try HostileReceipts.minter().sign(Minted.sample().payload)
        let base64 = String(decoding: Base64.encode(receipt.span), as: UTF8.self)
        let wrapper = Array("{\"Store\":\"AppleAppStore\",\"Payload\":\"\(base64)\"}".utf8)
        for evidence in [receipt, Array(base64.utf8), wrapper] {
            expectDeferred(
                evidence, .appReceipt, by: try Minted.verifier(), policy: Minted.policy,
                at: Minted.now, until: .valid)
        }
        let verifier = try Minted.verifier()
        let cut = Array(receipt.dropLast())
        let ending = Self.ending(
            cut, .appReceipt, verifier, policy: Minted.policy, at: Minted.now)
        #expect(ending == .answered(.malformed))
    }

    @Test func transactionReceipts() throws {
        let receipt = MintedTransactionReceipt(
            leaf: try MintedRSA.leaf(), key: MintedRSA.leafKey)
        let trust = try MintedRSA.trust(intermediates: [MintedRSA.intermediate()])
        let (policy, now) = (AppleTransactionReceiptTests.everything, RSAChainTests.now)
        expectDeferred(
            try receipt.text, .transactionReceipt, by: Verifier(trust: trust), policy: policy,
            at: now, until: .valid)
        // The certificate link is checked before the signature that depends on it.
        var forged = receipt
        forged.key = MintedRSA.otherKey
        expectDeferred(
            try forged.text, .transactionReceipt, by: Verifier(trust: trust), policy: policy,
            at: now, until: .invalidSignature)
    }
}
