import AssayClient
import Foundation

/// More than the server can do, and work that must not delay the rest: a server pinned to one
/// processor with one worker, clients on another, both loads open loops.
enum OverloadSuite {
    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let seconds = isQuick ? 3 : 6
        return try goodput(ca, seconds: 2, rounds: isQuick ? 1 : 3, isQuick: isQuick)
            + unseenFlood(ca, seconds, rounds: isQuick ? 1 : 3)
    }

    /// Some requests may be refused or late: that is what is measured.
    private static func load(
        _ server: AssayProcess.Server, _ ca: String, _ seconds: Int, _ options: [String]
    ) throws -> AssayProcess.Load {
        try server.load(
            ca, processors: AssayProcess.clientProcessor, timeout: 2, isLenient: true,
            ["--duration", "\(seconds)"] + options)
    }

    // MARK: Twice the capacity

    /// A sidecar has one connection or a few, a shared server many.
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

    /// Short turns of both, each too much between two of just enough: a machine that others use is
    /// not as fast for long.
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

    // MARK: Unseen chains

    private static func unseenFlood(_ ca: String, _ seconds: Int, rounds: Int) throws -> [Row] {
        var (without, with): ([Double], [Double]) = ([], [])
        let known = ["--rate", "4000", "--arrivals", "poisson", "-c", "4"]
        for _ in 0..<rounds {
            let server = try AssayProcess.Server(
                processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
            defer { server.stop() }
            without.append(try load(server, ca, seconds, known).milliseconds("p99"))
            // Ten times what the lane takes; minted before its first line.
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
            // More is worse: with ÷ without.
            Row(
                name: "p99 of known traffic under unseen chains", value: with.median,
                spread: with.spread, unit: "ms",
                ratio: zip(with, without).map { $0 / $1 }.median),
        ]
    }
}
