import Assay
import AssayEntitlements
import AssayIO
import AssayMint
import AssayModels
import Foundation
import Glibc

/// What a customer owns: Resolve over TCP against single verifications, and the decision alone.
enum ResolveSuite {
    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        // The memory first: later measurements leave free memory behind, which would be used again.
        var rows = Row.measuring("100,000 transactions") { try large(rounds: isQuick ? 1 : 5) }
        rows += Row.measuring("decision") { try decision(rounds: isQuick ? 5 : 25) }
        rows += Row.measuring("over TCP") { try overTCP(ca, rounds: isQuick ? 1 : 9) }
        return rows
    }

    // MARK: Over TCP

    private static let loadSeconds = 2.0

    /// Processor time of the server for each transaction: in requests of 5, 20 and 100 items
    /// against requests of one. Neither returns payloads.
    private static func overTCP(_ ca: String, rounds: Int) throws -> [Row] {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
        defer { server.stop() }
        func cost(_ mix: String, items: Int) throws -> Double {
            // No more in flight than a slow processor answers within the server's queue limit.
            let load = try server.load(
                ca, processors: AssayProcess.clientProcessor, isLenient: true,
                [
                    "--closed", "--connections", "8", "--depth", "\(max(32 / items, 1))",
                    "--duration", "\(Int(loadSeconds))", "--no-payload", "--mix", mix,
                ])
            // A pause of the machine makes the server refuse a few.
            let answers = load.throughput * loadSeconds
            guard Double(load.refused) <= answers / 100, load.errors + load.unanswered == 0 else {
                throw AssayProcess.Failed(description: load.counts)
            }
            return 1e6 / load.answersPerProcessorSecond / Double(items)
        }
        let sizes = [5, 20, 100]
        var singles: [Double] = []
        var costs = sizes.map { _ in [Double]() }
        for _ in 0..<rounds {
            singles.append(try cost("transaction", items: 1))
            for (index, size) in sizes.enumerated() {
                costs[index].append(try cost("resolve:\(size)", items: size))
            }
        }
        let base = Row(
            name: "one transaction, Verify over TCP", value: singles.median,
            spread: singles.spread, unit: "µs", rounds: rounds)
        return [base]
            + zip(sizes, costs).map { size, costs in
                let ratios = zip(costs, singles).map { $0 / $1 }
                return Row(
                    name: "one of \(size) items over TCP", value: costs.median,
                    spread: costs.spread, unit: "µs", ratio: ratios.median,
                    ratioSpread: ratios.spread, rounds: rounds)
            }
    }

    // MARK: The decision alone

    private static func decision(rounds: Int) throws -> [Row] {
        var measurements = [JWSSuite.evp(Signer())]
        for (count, subscriptions) in [(20, 1), (100, 1), (100, 10)] {
            let items = self.items(count, subscriptions: subscriptions)
            measurements.append(
                Measurement("decision, \(count) items of \(subscriptions)", units: count) {
                    precondition(Entitlements(of: items, at: JWSSuite.now).apps.count == 1)
                })
        }
        Measurement.rounds(rounds, of: .milliseconds(20), &measurements)
        return [measurements[0].row]
            + measurements.dropFirst().map { $0.row(against: measurements[0]) }
    }

    private static func large(rounds: Int) throws -> [Row] {
        let count = 100_000
        let items = items(count, subscriptions: 1_000)
        _ = Entitlements(of: Array(items.prefix(100)), at: JWSSuite.now)
        FreeMemory.release()
        let before = try PeakMemory.reset()
        var times: [Double] = []
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            precondition(Entitlements(of: items, at: JWSSuite.now).apps.count == 1)
            times.append(start.duration(to: .now).microseconds / 1_000)
        }
        let bytes = Double(try PeakMemory.bytes() - before) / Double(count)
        return [
            Row(
                name: "100,000 transactions, one call", value: times.median,
                spread: times.spread, unit: "ms", rounds: rounds),
            Row(name: "memory of one of them", value: bytes, spread: 0, unit: "B"),
        ]
    }

    /// Verified transactions of one customer: periods of that many subscriptions.
    private static func items(_ count: Int, subscriptions: Int) -> [EvidenceItem] {
        (0..<count).map { index in
            var payload = JWSTransactionDecodedPayload()
            payload.transactionId = "20000004\(10_000_000 + index)"
            payload.originalTransactionId = "20000004\(10_000_000 + index % subscriptions)"
            payload.bundleId = "com.example.game"
            payload.environment = .production
            payload.productId = "com.example.game.premium.monthly"
            payload.subscriptionGroupIdentifier = "21353425"
            payload.type = .autoRenewableSubscription
            payload.inAppOwnershipType = .purchased
            payload.appAccountToken = "0b8e7f3a-1111-2222-3333-444455556666"
            payload.appTransactionId = "704123456789012345"
            let bought = JWSSuite.now.milliseconds - Int64(count - index) * 1_000
            payload.purchaseDate = Timestamp(milliseconds: bought)
            payload.expiresDate = Timestamp(milliseconds: bought + 2_592_000_000)
            payload.signedDate = Timestamp(milliseconds: bought)
            let verified = VerifiedPayload(payload, json: Array(repeating: 65, count: 1_200))
            return EvidenceItem(
                Verification(
                    verdict: .valid, detail: "signed", kind: .transaction,
                    environment: .production, evidence: .transaction(verified)))
        }
    }
}

/// The largest resident memory of this process since a moment (proc_pid_status(5)).
private enum PeakMemory {
    /// Begins to measure. Returns the resident memory now.
    static func reset() throws -> Int {
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        return try kilobytes("VmRSS:") << 10
    }

    static func bytes() throws -> Int { try kilobytes("VmHWM:") << 10 }

    private static func kilobytes(_ name: String) throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        for line in status.split(separator: "\n") where line.hasPrefix(name) {
            let words = line.split(whereSeparator: \.isWhitespace)
            if words.count > 1, let number = Int(words[1]) { return number }
        }
        throw AssayProcess.Failed(description: "/proc/self/status has no \(name)")
    }
}
