import AssayClient
import Foundation

/// More than the server can do, and work that must not delay the rest: a server pinned to one
/// processor with one worker, clients on another, both loads open loops.
enum OverloadSuite {
    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let seconds = isQuick ? 3 : 6
        return try goodput(ca, isQuick ? 2 : 3, rounds: isQuick ? 1 : 7)
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

    /// Notifications, three signatures each: so that the generator, on one processor like the
    /// server, can send twice what the server can do. Short turns of both, each too much between
    /// two of just enough: a machine that others use is not as fast for long.
    private static func goodput(_ ca: String, _ seconds: Int, rounds: Int) throws -> [Row] {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
        defer { server.stop() }
        let kind = ["--mix", "notification", "--no-payload", "-c", "64"]
        func most() throws -> Double {
            try load(server, ca, seconds, kind + ["--closed", "--depth", "8"]).throughput
        }
        var best = [try most()]
        var (twice, latency, refused): ([Double], [Double], [Double]) = ([], [], [])
        for round in 0..<rounds {
            let over = try load(
                server, ca, seconds,
                kind + ["--depth", "1024", "--rate", "\(Int(2 * best[round]))"])
            twice.append(over.throughput)
            latency.append(over.milliseconds("p99"))
            refused.append(Double(over.refused) / Double(seconds))
            best.append(try most())
        }
        return [
            Row(
                name: "the most answers", value: best.median, spread: best.spread, unit: "/s",
                isMoreBetter: true),
            Row(
                name: "goodput at twice the capacity", value: twice.median, spread: twice.spread,
                unit: "/s", ratio: twice.ratios(between: best).median, isMoreBetter: true),
            Row(
                name: "refused at twice the capacity", value: refused.median,
                spread: refused.spread, unit: "/s"),
            Row(
                name: "p99 of what was accepted", value: latency.median, spread: latency.spread,
                unit: "ms"),
        ]
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
