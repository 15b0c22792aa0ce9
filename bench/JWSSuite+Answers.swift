import Assay
import AssayMint
import AssayModels

/// Answers of the App Store Server API.
extension JWSSuite {
    /// Apple's pages have at most this number of transactions.
    private static let pageSize = 20

    /// A page of a history against its tokens, each as evidence of its own in one batch.
    static func answers(_ ca: DevelopmentCA, _ trust: TrustStore, rounds: Int) throws -> [Row] {
        let minter = Minter(ca.chain)
        let tokens = try Array(tokens(.transaction, minter).prefix(pageSize))
        let answer = try minter.mintHistory(
            indices: 0..<pageSize, bundleId: "com.example.game", appAppleId: 1234,
            environment: .sandbox, signedDate: now)
        let verifier = Verifier(trust: trust)
        func measurement(
            _ name: String, _ evidence: [[UInt8]], _ kind: EvidenceKind
        ) -> Measurement {
            Measurement(name, units: pageSize) { verify(verifier, evidence, kind) }
        }
        var measurements = [
            measurement("transaction, batch of \(pageSize)", tokens, .transaction),
            measurement("history of \(pageSize) transactions", [answer], .serverAnswer),
        ]
        // The key gets its table.
        for _ in 0..<40 { measurements[0].body() }
        Measurement.rounds(rounds, of: .milliseconds(20), &measurements)
        return [measurements[1].row(over: measurements[0])]
    }
}
