import Assay
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// The signature engine of a server: what it reports, and what it does when the engine fails.
@Suite("Signature engine", .ownThread, .timeLimit(.minutes(1))) struct EngineTests {
    private func withEngine(
        _ engine: EngineInUse, _ body: (TestServer, RawClient) throws -> Void
    ) throws {
        let verifier = Verifier(
            trust: try Minted.verifier().trust, keyTables: .onRequest, engine: engine)
        try withServer {
            $0.apps = ["game": AppEntry(verifier: verifier, policy: Minted.policy)]
        } _: { test in
            try body(test, try RawClient(test.unix))
        }
    }

    private func engineByInfo(_ client: RawClient) throws -> String? {
        try client.send(RawClient.frame(RequestHead(id: 9, call: .info)))
        guard case .info(let info)? = try client.receive()?.head.result else { return nil }
        return info.engine
    }

    @Test("The log and Info name the engine", arguments: [SignatureEngine.portable, .openssl])
    func named(engine: SignatureEngine) throws {
        try withEngine(EngineInUse(engine)) { test, client in
            #expect(test.log.count(of: #""event":"signature_engine","name":"\#(engine)""#) == 1)
            #expect(test.log.count(of: "self-test") == 0)
            let name = try engineByInfo(client)
            #expect(name == engine.rawValue)
        }
    }

    @Test("An engine that fails its self-test gives no answer, and is reported")
    func selfTest() throws {
        let engine = EngineInUse(.portable, selfTest: { _ in false }, judge: { _ in true })
        try withEngine(engine) { test, client in
            // The key of these tokens is now in frequent use.
            let count = UInt64(Limits.keyTableUses) + 8
            let token = try Minted.transaction.get()
            for id in 1...count { try client.send(RawClient.verify(id, .transaction, token)) }
            try client.expectAnswers(1...count)
            #expect(test.logs("failed its self-test"))
            let name = try engineByInfo(client)
            #expect(name == "openssl")
        }
    }

    /// The tables of pinned roots are built soon after the start, so this self-test is the usual
    /// one.
    @Test("A self-test that fails before any request is reported, once")
    func selfTestBeforeRequests() throws {
        let engine = EngineInUse(.portable, selfTest: { _ in false }, judge: { _ in true })
        try withEngine(engine) { test, client in
            test.server.advanceClock(byMilliseconds: 100)
            #expect(test.logs("failed its self-test"))
            let token = try Minted.transaction.get()
            let count = UInt64(Limits.keyTableUses) + 8
            for id in 1...count { try client.send(RawClient.verify(id, .transaction, token)) }
            try client.expectAnswers(1...count)
            #expect(test.log.count(of: "failed its self-test") == 1)
        }
    }

    @Test("A wrong answer is logged by its digest, and OpenSSL verifies from then on")
    func disagreement() throws {
        let engine = EngineInUse(.portable, selfTest: { _ in true }, judge: { _ in false })
        try withEngine(engine) { test, client in
            let check = ES256Check(
                key: PublicKey.ec(.p256, point: Self.generator.span)!,
                digest: SHA256.digest([1, 2, 3].span),
                signature: ES256Signature([UInt8](repeating: 1, count: 64).span)!)
            engine.keep(AuditedAnswer(check, holds: true))
            // A worker audits after it has handed over its answers.
            try client.send(RawClient.verify(1, .transaction, try Minted.transaction.get()))
            try client.expectAnswers(1...1)
            #expect(test.logs("signature_engine_failed"))
            #expect(engine.audits == (0, 1))
            #expect(
                test.log.count(of: #""answered":"valid","digest":"\#(check.digest.text)""#) == 1)
            let name = try engineByInfo(client)
            #expect(name == "openssl")
        }
    }

    /// The point G of P-256 (SEC 2, section 2.4.2).
    private static let generator: [UInt8] =
        [4] + P256Words.x.flatMap(Self.octets) + P256Words.y.flatMap(Self.octets)

    private enum P256Words {
        static let x: [UInt64] = [
            0x6B17_D1F2_E12C_4247, 0xF8BC_E6E5_63A4_40F2, 0x7703_7D81_2DEB_33A0,
            0xF4A1_3945_D898_C296,
        ]
        static let y: [UInt64] = [
            0x4FE3_42E2_FE1A_7F9B, 0x8EE7_EB4A_7C0F_9E16, 0x2BCE_3357_6B31_5ECE,
            0xCBB6_4068_37BF_51F5,
        ]
    }

    private static func octets(_ word: UInt64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
}
