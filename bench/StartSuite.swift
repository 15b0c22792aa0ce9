import AssayClient
import AssayModels
import Foundation

/// The time from process start until the server listens, and its memory then and with many
/// connections.
enum StartSuite {
    private static let connections = 1000

    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        var (times, memory): ([Double], [Double]) = ([], [])
        let rounds = isQuick ? 5 : 21
        for _ in 0..<rounds {
            let server = try AssayProcess.Server(
                processors: nil, workers: ProcessInfo.processInfo.activeProcessorCount,
                root: ca + "/root.pem")
            times.append(server.readyMilliseconds)
            memory.append(server.residentMegabytes)
            server.stop()
        }
        return [
            Row(
                name: "start to listening", value: times.median, spread: times.spread, unit: "ms",
                rounds: rounds),
            Row(
                name: "resident, idle", value: memory.median, spread: memory.spread, unit: "MB",
                rounds: rounds),
        ] + (try connected(ca, rounds: isQuick ? 1 : 3))
    }

    /// Measures the memory with open connections, each of which has had one token verified.
    private static func connected(_ ca: String, rounds: Int) throws -> [Row] {
        let token = Array(
            try AssayProcess.run(processors: nil, ["mint", "transaction", "--ca", ca]).dropLast())
        var (whole, each): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            let server = try AssayProcess.Server(
                processors: nil, workers: ProcessInfo.processInfo.activeProcessorCount,
                root: ca + "/root.pem")
            defer { server.stop() }
            let address = try Endpoint(server.address)
            // The memory with one connection, so that the first request's allocations do not
            // count.
            let few = try resident(server, address, token, connections: 1)
            let many = try resident(server, address, token, connections: connections)
            whole.append(many)
            each.append((many - few) * 1000 / Double(connections - 1))
        }
        return [
            Row(
                name: "resident, 1,000 connections", value: whole.median, spread: whole.spread,
                unit: "MB", rounds: rounds),
            Row(
                name: "resident, each connection", value: each.median, spread: each.spread,
                unit: "KB",
                rounds: rounds),
        ]
    }

    private static func resident(
        _ server: AssayProcess.Server, _ address: Endpoint, _ token: [UInt8], connections: Int
    ) throws -> Double {
        let process = server.process.processIdentifier
        let done = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var answered = 0
        nonisolated(unsafe) var megabytes = 0.0
        Task.detached {
            var clients: [AssayClient] = []
            do throws(ClientError) {
                for _ in 0..<connections {
                    let client = try await AssayClient.connect(to: address)
                    clients.append(client)
                    _ = try await client.verify(token, as: .transaction)
                    unsafe answered += 1
                }
            } catch {
                Bench.progress("connection \(clients.count): \(error)")
            }
            unsafe megabytes = AssayProcess.Server.residentMegabytes(of: process)
            for client in clients { client.close() }
            done.signal()
        }
        done.wait()
        guard unsafe answered == connections else {
            throw AssayProcess.Failed(
                description: unsafe "\(answered) of \(connections) connections")
        }
        return unsafe megabytes
    }
}
