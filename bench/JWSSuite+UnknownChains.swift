import Assay
import AssayMint
import AssayModels

extension JWSSuite {
    /// Measures items with their own intermediate and leaf against the signatures that they
    /// require: two of P-384 for the chain and one of P-256 for each token. A notification has
    /// three tokens.
    static func unknownChains(
        _ ca: DevelopmentCA, _ trust: TrustStore, rounds: Int
    ) throws -> [Row] {
        let (p384, p256) = (Signer(.p384), Signer(.p256))
        let (upper, lower) = (p384.signature(), p256.signature())
        func signatures(_ name: String, tokens: Int) -> Measurement {
            Measurement(name, units: itemCount) {
                for _ in 0..<itemCount {
                    precondition(p384.evpVerifies(upper) && p384.evpVerifies(upper))
                    for _ in 0..<tokens { precondition(p256.evpVerifies(lower)) }
                }
            }
        }
        let kinds = [
            EvidenceKind.transaction, .renewalInfo, .appTransaction, .realtimeRequest,
            .notification,
        ]
        var measurements = [
            signatures("two P-384 and one P-256, EVP_PKEY_verify", tokens: 1),
            signatures("two P-384 and three P-256, EVP_PKEY_verify", tokens: 3),
        ]
        for kind in kinds { measurements.append(try unknownChain(kind, ca, trust)) }
        measurements += [
            try newChain("new leaf under a validated intermediate", ca, trust, leafOnly: true),
            try newChain(
                "new leaf and intermediate under a pinned root", ca, trust, leafOnly: false),
        ]
        Measurement.rounds(rounds, of: .milliseconds(60), &measurements)
        // The ratio is the row ÷ its signatures; less is better.
        return measurements[..<2].map { $0.row() }
            + zip(kinds, measurements[2...]).map { kind, measurement in
                measurement.row(over: measurements[kind == .notification ? 1 : 0])
            } + measurements.suffix(2).map { $0.row(over: measurements[0]) }
    }

    private static let itemCount = 16

    /// Transactions with new certificates, at a verifier that has the tables of the keys that
    /// signed them: of the root and of one validated intermediate. Each call has a new verifier,
    /// to which the tokens' chains are unknown.
    ///
    /// - Parameter leafOnly: whether the validated intermediate signs the leaf. Otherwise each has
    ///   an intermediate of its own.
    private static func newChain(
        _ name: String, _ ca: DevelopmentCA, _ trust: TrustStore, leafOnly: Bool
    ) throws -> Measurement {
        let validity = Validity.around(now, days: 300)
        let validated = try ca.issueIntermediate(validity: validity)
        func token(_ index: Int, under intermediate: IssuedCertificate) throws -> [UInt8] {
            let chain = try ca.issueChain(under: intermediate, validity: validity)
            return try Minter(chain).mint(
                .transaction, index: index, bundleId: "com.example.game", appAppleId: 1234,
                environment: .sandbox, signedDate: now)
        }
        func verify(_ token: [UInt8], by verifier: Verifier) {
            let answer = verifier.verify(token.span, as: .transaction, policy: policy, at: now)
            precondition(answer.verdict == .valid)
        }
        // The second leaf has the intermediate's table built.
        let first = try (0..<2).map { try token(itemCount + $0, under: validated) }
        let tokens = try (0..<itemCount).map { index in
            try token(
                index, under: leafOnly ? validated : ca.issueIntermediate(validity: validity))
        }
        func warmVerifier() -> Verifier {
            let verifier = Verifier(trust: trust, keyTables: .onRequest)
            for token in first { verify(token, by: verifier) }
            verifier.performMaintenance()
            return verifier
        }
        var verifier = warmVerifier()
        return Measurement(
            name, units: itemCount,
            prepare: { verifier = warmVerifier() },
            { for token in tokens { verify(token, by: verifier) } })
    }

    private static func unknownChain(
        _ kind: EvidenceKind, _ ca: DevelopmentCA, _ trust: TrustStore
    ) throws -> Measurement {
        let validity = Validity.around(now, days: 300)
        let tokens = try (0..<itemCount).map { index in
            let intermediate = try ca.issueIntermediate(validity: validity)
            let chain = try ca.issueChain(under: intermediate, validity: validity)
            return try Minter(chain).mint(
                kind, index: index, bundleId: "com.example.game", appAppleId: 1234,
                environment: .sandbox, signedDate: now)
        }
        let name = kind == .transaction ? "unknown chain" : "unknown chain, \(kind.name)"
        return Measurement(name, units: itemCount) {
            let verifier = Verifier(trust: trust)
            for token in tokens {
                let answer = verifier.verify(token.span, as: kind, policy: policy, at: now)
                precondition(answer.verdict == .valid)
            }
        }
    }
}
