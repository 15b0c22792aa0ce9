import Assay
import AssayMint
import AssayModels

/// Verifies tokens one after the other, in a process for `script/counts`: callgrind counts what
/// `countedPass` does.
enum CountedVerification {
    static let argument = "counted"

    /// Prints the number of tokens that were counted.
    static func run() throws {
        let ca = try DevelopmentCA.make(at: JWSSuite.now)
        let trust = try TrustStore.apple.pinning(ca.rootCertificate, development: true)
        let tokens = try JWSSuite.tokens(.transaction, Minter(ca.chain))
        // The only own engine that every processor has. No answer is compared with OpenSSL's:
        // chance chooses which, and one costs as many allocations as a hundred answers.
        let engine = EngineInUse(.portable, selfTest: { _ in true }, judge: { $0.holds })
        let verifier = Verifier(trust: trust, keyTables: .withSignatures, engine: engine)
        // The key gets its table.
        for _ in 0..<5 { verify(tokens, verifier) }
        countedPass(tokens, verifier)
        print(tokens.count)
    }

    /// Callgrind knows it by its name.
    @inline(never)
    private static func countedPass(_ tokens: [[UInt8]], _ verifier: Verifier) {
        verify(tokens, verifier)
    }

    private static func verify(_ tokens: [[UInt8]], _ verifier: Verifier) {
        for token in tokens { JWSSuite.verify(verifier, [token], .transaction) }
    }
}
