import Assay
import AssayMint
import AssayModels

extension JWSSuite {
    /// Transactions by a verifier that has the statuses of their chain, against one that has none.
    static func revocation(
        _ ca: DevelopmentCA, _ trust: TrustStore, rounds: Int
    ) throws -> [Row] {
        let tokens = try tokens(.transaction, Minter(ca.chain))
        let statuses = try goodStatuses(ca)
        let policies: [(String, RevocationPolicy)] = [
            ("off", .off), ("soft", .soft), ("hard", .hard(maximumAge: .seconds(86_400))),
        ]
        var measurements = [measurement("no statuses", tokens, Verifier(trust: trust), policy)]
        for (name, revocation) in policies {
            var policy = policy
            policy.revocation = revocation
            measurements.append(
                measurement(
                    "transaction, batch of 64, revocation \(name)", tokens,
                    Verifier(trust: trust, revocation: statuses), policy))
        }
        Measurement.rounds(rounds, of: .milliseconds(20), &measurements)
        return measurements.dropFirst().map { $0.row(against: measurements[0]) }
    }

    private static func measurement(
        _ name: String, _ tokens: [[UInt8]], _ verifier: Verifier, _ policy: Policy
    ) -> Measurement {
        for _ in 0..<40 { verify(verifier, tokens, .transaction, policy) }
        return Measurement(name, units: tokens.count) {
            verify(verifier, tokens, .transaction, policy)
        }
    }

    /// CRLs without entries of both issuers: leaf and intermediate are good.
    private static func goodStatuses(_ ca: DevelopmentCA) throws -> RevocationStatuses {
        let store = RevocationStatuses()
        let hour: Int64 = 3_600_000
        for (issuer, key) in [
            (DevelopmentCA.intermediateName, ca.intermediateKey),
            (DevelopmentCA.rootName, ca.rootKey),
        ] {
            guard let key else { preconditionFailure("an authority without its keys") }
            let list = RevocationListBuilder(
                issuer: issuer, thisUpdate: now.advanced(by: -hour),
                nextUpdate: now.advanced(by: hour))
            try store.add(try list.signed(by: key), named: "\(issuer)", at: now)
        }
        return store
    }
}
