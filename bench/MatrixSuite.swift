import Foundation

/// Answers per second by transport, connections and requests in flight on each, in wall-clock
/// time. The server runs on one processor, the client on another.
enum MatrixSuite {
    private static let connections = [1, 4, 16, 64]
    private static let depths = [1, 8, 64]

    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: "",
            configuration: try configuration(ca))
        defer { server.stop() }
        var rows: [Row] = []
        for overUnix in [false, true] {
            for connections in isQuick ? [1, 16] : connections {
                for depth in isQuick ? [1, 64] : depths {
                    let shape = Row.Shape(
                        transport: overUnix ? "Unix socket" : "TCP", connections: connections,
                        depth: depth)
                    rows += measure(server, ca, shape, overUnix, isQuick: isQuick)
                }
            }
        }
        return rows
    }

    /// Writes a configuration with the longest queue. Each cell keeps as many requests in flight as
    /// its shape says: up to 4,096, more than the server queues by default.
    private static func configuration(_ ca: String) throws -> String {
        let path = ca + "/assay.toml"
        let text = """
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 1234567890
            roots = ["root.pem"]
            default = true
            [limits]
            queue-delay-ms = 30000
            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private static func measure(
        _ server: AssayProcess.Server, _ ca: String, _ shape: Row.Shape, _ overUnix: Bool,
        isQuick: Bool
    ) -> [Row] {
        let some = shape.connections == 1 ? "1 connection" : "\(shape.connections) connections"
        let name = "\(shape.transport), \(some), depth \(shape.depth)"
        Bench.progress("  " + name)
        let rounds = isQuick ? 1 : 3
        return Row.measuring(name) {
            let rates = try (0..<rounds).map { _ in
                try server.load(
                    ca, processors: AssayProcess.clientProcessor, overUnix: overUnix, warmUp: 0.3,
                    [
                        "--closed", "--connections", "\(shape.connections)", "--depth",
                        "\(shape.depth)", "--duration", isQuick ? "0.3" : "0.5",
                    ]
                ).throughput
            }
            return [
                Row(
                    name: name, value: rates.median, spread: rates.spread, unit: "/s",
                    isMoreBetter: true, rounds: rounds, shape: shape)
            ]
        }
    }
}

/// Latencies below the maximum throughput, with an open loop of independent clients.
enum LatencySuite {
    static func run(isQuick: Bool) throws -> (
        rows: [Row], curves: [Curve], notes: [String]
    ) {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
        defer { server.stop() }
        // No more in flight than a slow processor answers within the server's queue limit.
        let most = try server.load(
            ca, processors: AssayProcess.clientProcessor,
            [
                "--closed", "--connections", "8", "--depth", "32", "--duration",
                isQuick ? "1" : "2",
            ])
        var (rows, curves, notes): ([Row], [Curve], [String]) = ([], [], [])
        for percent in isQuick ? [25] : [10, 25, 50] {
            let rate = Int(most.throughput * Double(percent) / 100)
            let name = "at \(percent) % of the maximum"
            Bench.progress("  \(rate) requests per second")
            rows += Row.measuring(name) {
                let load = try server.load(
                    ca, processors: AssayProcess.clientProcessor, isLenient: true,
                    [
                        "--rate", "\(rate)", "--arrivals", "poisson", "--connections", "8",
                        "--duration", isQuick ? "1" : "4",
                    ])
                if load.late {
                    notes.append(
                        "The client was late \(name): other processes used its processor, so the "
                            + "latencies are too high.")
                }
                curves.append(
                    Curve(name: "\(rate) per second, \(percent) %", points: load.percentiles))
                return [("50 %", "p50"), ("99 %", "p99")].map { words, key in
                    Row(
                        name: "\(words) within, \(name)",
                        value: load.milliseconds(key) * 1000, spread: 0, unit: "µs", rounds: 1)
                }
            }
        }
        return (rows, curves, notes)
    }
}
