import Assay
import AssayClient
import AssayIO
import Foundation

/// Load above the server's capacity, and work that must not delay other requests. The server runs
/// with one or two workers on one processor, the clients on another. The measured loads are open
/// loops.
enum OverloadSuite {
    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let seconds = isQuick ? 3 : 6
        return try goodput(ca, seconds: 2, rounds: isQuick ? 1 : 5, isQuick: isQuick)
            + unknownChainFlood(ca, seconds, rounds: isQuick ? 1 : 3)
    }

    /// Allows refused and late requests, which are part of the measurement.
    private static func load(
        _ server: AssayProcess.Server, _ ca: String, _ seconds: Int, _ options: [String]
    ) throws -> AssayProcess.Load {
        try server.load(
            ca, processors: AssayProcess.clientProcessor, timeout: 2, isLenient: true,
            ["--duration", "\(seconds)"] + options)
    }

    // MARK: Twice the capacity

    /// A sidecar has a few connections, a shared server many.
    private struct Case {
        let kind: String
        let connections: Int
        let workers: Int

        var name: String {
            "\(kind)s, \(connections) connection\(connections == 1 ? "" : "s"), "
                + "\(workers) worker\(workers == 1 ? "" : "s")"
        }

        static func all(isQuick: Bool) -> [Case] {
            var cases: [Case] = []
            for workers in isQuick ? [1] : [1, 2] {
                for kind in ["transaction", "notification"] {
                    for connections in isQuick ? [1, 16] : [1, 4, 16, 64] {
                        cases.append(
                            Case(kind: kind, connections: connections, workers: workers))
                    }
                }
            }
            return cases
        }
    }

    private static func goodput(
        _ ca: String, seconds: Int, rounds: Int, isQuick: Bool
    ) throws -> [Row] {
        var rows: [Row] = []
        var unanswered = 0
        for each in Case.all(isQuick: isQuick) {
            let measured = try overload(each, ca, seconds, rounds)
            rows += measured.rows
            unanswered += measured.unanswered
        }
        for connections in isQuick ? [1] : [1, 4, 16] {
            rows.append(try withoutLimit(connections, ca, seconds, rounds))
        }
        rows.append(
            Row(
                name: "requests without an answer", value: Double(unanswered), spread: 0,
                unit: ""))
        return rows
    }

    /// The client as docs/operations.md recommends it. What the server can't take waits in the
    /// client, which refuses it at no cost to the server.
    private static let client = ["--depth", "256", "--longest-wait", "50"]

    /// By an engine that is slower than the client: a client that sends twice what vectors verify
    /// is late itself.
    ///
    /// Alternates short runs: each overload run is between two runs at maximum throughput. Each
    /// throughput counts as the answers that the processor gives in the time of a signature, which
    /// a probe measures meanwhile.
    private static func overload(
        _ each: Case, _ ca: String, _ seconds: Int, _ rounds: Int
    ) throws -> (rows: [Row], unanswered: Int) {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: each.workers,
            root: ca + "/root.pem", engine: .portable)
        defer { server.stop() }
        let probe = try SpeedProbe(processors: AssayProcess.serverProcessor)
        defer { probe.stop() }
        let options = ["--mix", each.kind, "--no-payload", "-c", "\(each.connections)"]
        func measure(_ shape: [String]) throws -> (load: AssayProcess.Load, atEqualSpeed: Double) {
            let load = try load(server, ca, seconds, options + shape)
            let now = SystemClock.monotonicNanoseconds
            let signature = try probe.nanoseconds(
                from: now - UInt64(seconds) * 1_000_000_000, to: now)
            return (load, load.throughput * signature)
        }
        func most() throws -> (load: AssayProcess.Load, atEqualSpeed: Double) {
            try measure(["--closed", "--depth", "\(max(8, 512 / each.connections))"])
        }
        var best = [try most()]
        var twice: [(load: AssayProcess.Load, atEqualSpeed: Double)] = []
        for round in 0..<rounds {
            let rate = Int(2 * best[round].load.throughput)
            twice.append(try measure(["--rate", "\(rate)"] + client))
            best.append(try most())
        }
        let (throughput, latency) = (
            twice.map(\.load.throughput), twice.map { $0.load.milliseconds("p99") }
        )
        let ratios = twice.map(\.atEqualSpeed).ratios(between: best.map(\.atEqualSpeed))
        var goodput = Row(
            name: "goodput, \(each.name)", value: throughput.median, spread: throughput.spread,
            unit: "/s", ratio: ratios.median, isMoreBetter: true)
        goodput.ratioSpread = ratios.spread
        return (
            [
                goodput,
                Row(
                    name: "p99, \(each.name)", value: latency.median, spread: latency.spread,
                    unit: "ms"),
            ], twice.reduce(0) { $0 + $1.load.unanswered + $1.load.errors }
        )
    }

    /// A client that sends whatever is due, however much is unanswered. Every refusal costs the
    /// server the bytes of the request. By an engine that is slower than the client.
    private static func withoutLimit(
        _ connections: Int, _ ca: String, _ seconds: Int, _ rounds: Int
    ) throws -> Row {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem",
            engine: .portable)
        defer { server.stop() }
        let options = ["--no-payload", "-c", "\(connections)"]
        func most() throws -> Double {
            try load(
                server, ca, seconds, options + ["--closed", "--depth", "\(512 / connections)"]
            )
            .throughput
        }
        var best = [try most()]
        var twice: [Double] = []
        for round in 0..<rounds {
            let rate = Int(2 * best[round])
            twice.append(try load(server, ca, seconds, options + ["--rate", "\(rate)"]).throughput)
            best.append(try most())
        }
        let ratios = twice.ratios(between: best)
        var row = Row(
            name: "goodput, \(connections) connection\(connections == 1 ? "" : "s"), no limit in "
                + "the client",
            value: twice.median, spread: twice.spread, unit: "/s", ratio: ratios.median,
            isMoreBetter: true)
        row.ratioSpread = ratios.spread
        return row
    }

    // MARK: Unknown chains

    private static func unknownChainFlood(
        _ ca: String, _ seconds: Int, rounds: Int
    ) throws -> [Row] {
        var (without, with): ([Double], [Double]) = ([], [])
        let known = ["--rate", "4000", "--arrivals", "poisson", "-c", "4"]
        for _ in 0..<rounds {
            let server = try AssayProcess.Server(
                processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
            defer { server.stop() }
            without.append(try load(server, ca, seconds, known).milliseconds("p99"))
            // Five times the rate of the chain-validation queue, for longer than the known traffic.
            // All chains are minted before the first message.
            let flood = try AssayProcess.Background(
                processors: AssayProcess.clientProcessor,
                [
                    "load", server.address, "--ca", ca, "--rate", "1500", "--unseen", "100",
                    "--duration", "20", "--warm-up", "0",
                ])
            defer { flood.stop() }
            try flood.waitForLine(containing: "sent")
            with.append(try load(server, ca, seconds, known).milliseconds("p99"))
        }
        return [
            Row(
                name: "p99 of known traffic alone", value: without.median, spread: without.spread,
                unit: "ms"),
            // The ratio is with ÷ without; less is better.
            Row(
                name: "p99 of known traffic under unknown chains", value: with.median,
                spread: with.spread, unit: "ms",
                ratio: zip(with, without).map { $0 / $1 }.median),
        ]
    }
}
