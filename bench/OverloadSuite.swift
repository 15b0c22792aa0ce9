import AssayClient
import Foundation

/// Load above the server's capacity, and work that must not delay other requests. The server runs
/// with one or two workers on one processor, the clients on another. The measured loads are open
/// loops.
enum OverloadSuite {
    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let seconds = isQuick ? 3 : 6
        return try goodput(ca, seconds: 2, rounds: isQuick ? 1 : 3, isQuick: isQuick)
            + unseenFlood(ca, seconds, rounds: isQuick ? 1 : 3)
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
        rows.append(
            Row(
                name: "requests without an answer", value: Double(unanswered), spread: 0,
                unit: ""))
        return rows
    }

    /// Alternates short runs: each overload run is between two runs at maximum throughput,
    /// because the speed of a shared machine varies.
    private static func overload(
        _ each: Case, _ ca: String, _ seconds: Int, _ rounds: Int
    ) throws -> (rows: [Row], unanswered: Int) {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: each.workers,
            root: ca + "/root.pem")
        defer { server.stop() }
        let options = ["--mix", each.kind, "--no-payload", "-c", "\(each.connections)"]
        func most() throws -> Double {
            let depth = max(8, 512 / each.connections)
            return try load(server, ca, seconds, options + ["--closed", "--depth", "\(depth)"])
                .throughput
        }
        var best = [try most()]
        var (twice, latency): ([Double], [Double]) = ([], [])
        var unanswered = 0
        for round in 0..<rounds {
            let over = try load(
                server, ca, seconds, options + ["--rate", "\(Int(2 * best[round]))"])
            twice.append(over.throughput)
            latency.append(over.milliseconds("p99"))
            unanswered += over.unanswered + over.errors
            best.append(try most())
        }
        return (
            [
                Row(
                    name: "goodput, \(each.name)", value: twice.median, spread: twice.spread,
                    unit: "/s", ratio: twice.ratios(between: best).median, isMoreBetter: true),
                Row(
                    name: "p99, \(each.name)", value: latency.median, spread: latency.spread,
                    unit: "ms"),
            ], unanswered
        )
    }

    // MARK: Unknown chains

    private static func unseenFlood(_ ca: String, _ seconds: Int, rounds: Int) throws -> [Row] {
        var (without, with): ([Double], [Double]) = ([], [])
        let known = ["--rate", "4000", "--arrivals", "poisson", "-c", "4"]
        for _ in 0..<rounds {
            let server = try AssayProcess.Server(
                processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
            defer { server.stop() }
            without.append(try load(server, ca, seconds, known).milliseconds("p99"))
            // Ten times the rate of the chain-validation queue. All chains are minted before the
            // first message.
            let flood = try AssayProcess.Background(
                processors: AssayProcess.clientProcessor,
                [
                    "load", server.address, "--ca", ca, "--rate", "500", "--unseen", "100",
                    "--duration", "60", "--warm-up", "0",
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
                name: "p99 of known traffic under unseen chains", value: with.median,
                spread: with.spread, unit: "ms",
                ratio: zip(with, without).map { $0 / $1 }.median),
        ]
    }
}
