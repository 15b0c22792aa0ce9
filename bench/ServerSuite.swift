import Assay
import AssayClient
import AssayModels
import Foundation

/// End-to-end measurements over TCP on the loopback interface. The server runs on one processor,
/// the client on another if the machine has two.
enum ServerSuite {
    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        var rows: [Row] = []
        let seconds = isQuick ? 2 : 5
        for engine in SignatureEngine.supportedOwn {
            rows += Row.measuring("server on one processor, \(engine)") {
                try pinned(ca, 2, rounds: isQuick ? 1 : 9, engine)
            }
        }
        rows += Row.measuring("pipelining") {
            try pipelining(ca, seconds, rounds: isQuick ? 1 : 3)
        }
        rows += Row.measuring("lone request") {
            try LoneRequest.run(ca, count: isQuick ? 500 : 3000)
        }
        return rows
    }

    // MARK: One processor each

    private static func pinned(
        _ ca: String, _ seconds: Int, rounds: Int, _ engine: SignatureEngine
    ) throws -> [Row] {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem",
            engine: engine)
        defer { server.stop() }
        // Alternates short runs: each load is between two runs of the base, because the speed of
        // a shared machine varies.
        let (signer, knownKey) = (Signer(), Primitives.knownKey(engine))
        var signatures: [Double] = []
        func verifications() -> Double {
            var measurements = [JWSSuite.evp(signer), knownKey]
            Measurement.rounds(5, of: .milliseconds(40), &measurements)
            signatures.append(measurements[1].median)
            return 1e6 / measurements[0].median
        }
        var base = [verifications()]
        var (answers, wall, client): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<rounds {
            let load = try server.load(
                ca, processors: AssayProcess.clientProcessor,
                [
                    // Enough for full batches. More would wait for 20 ms on a slow processor, which
                    // is when a server refuses.
                    "--closed", "--connections", "16", "--depth", "32", "--duration", "\(seconds)",
                ])
            answers.append(load.answersPerProcessorSecond)
            wall.append(load.throughput)
            client.append(1e6 * load.processorsGenerator / load.throughput)
            base.append(verifications())
        }
        func row(_ name: String, _ rates: [Double]) -> Row {
            let ratios = rates.ratios(between: base)
            return Row(
                name: name, value: rates.median, spread: rates.spread, unit: "/s",
                ratio: ratios.median, ratioSpread: ratios.spread, isMoreBetter: true,
                rounds: rounds)
        }
        let beside = zip(answers.indices, answers).map { round, rate in
            1e6 / rate - (signatures[round] + signatures[round + 1]) / 2
        }
        return [
            Row(
                name: "EVP_PKEY_verify, one processor, \(engine)", value: base.median,
                spread: base.spread,
                unit: "/s", isMoreBetter: true),
            row("answers, server on one processor, \(engine)", answers),
            row("answers, wall clock, \(engine)", wall),
            besideRow(beside, base, engine),
            Row(
                name: "client processor time per answer, \(engine)", value: client.median,
                spread: client.spread, unit: "µs", rounds: rounds),
        ]
    }

    /// The time of the server beside the signature, of which `EVP_PKEY_verify` is a multiple.
    private static func besideRow(
        _ beside: [Double], _ base: [Double], _ engine: SignatureEngine
    ) -> Row {
        let rates = beside.map { 1e6 / $0 }
        let ratios = rates.ratios(between: base)
        return Row(
            name: "server's time for an answer beside its signature, \(engine)",
            value: beside.median, spread: beside.spread, unit: "µs", ratio: ratios.median,
            ratioSpread: ratios.spread, rounds: beside.count)
    }

    // MARK: All processors

    private static func pipelining(_ ca: String, _ seconds: Int, rounds: Int) throws -> [Row] {
        let workers = ProcessInfo.processInfo.activeProcessorCount
        let server = try AssayProcess.Server(
            processors: nil, workers: workers, root: ca + "/root.pem")
        defer { server.stop() }
        var (one, sixteen): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            // Both have the same number of requests in flight.
            for (connections, depth) in [(1, 512), (16, 32)] {
                let load = try server.load(
                    ca, processors: nil,
                    [
                        "--closed", "--connections", "\(connections)", "--depth", "\(depth)",
                        "--duration", "\(seconds)",
                    ])
                if connections == 1 {
                    one.append(load.throughput)
                } else {
                    sixteen.append(load.throughput)
                }
            }
        }
        return [
            Row(
                name: "16 connections", value: sixteen.median, spread: sixteen.spread, unit: "/s",
                isMoreBetter: true, rounds: rounds),
            Row(
                name: "one pipelining connection", value: one.median, spread: one.spread,
                unit: "/s", ratio: one.median / sixteen.median,
                ratioSpread: zip(one, sixteen).map { $0 / $1 }.spread, isMoreBetter: true,
                rounds: rounds),
        ]
    }
}

/// A request with nothing else in flight. The server answers a ping without work, so the extra
/// time of a request is the server's work and the transfer of the longer message.
private enum LoneRequest {
    static func run(_ ca: String, count: Int) throws -> [Row] {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
        defer { server.stop() }
        let token = Array(
            try AssayProcess.run(processors: nil, ["mint", "transaction", "--ca", ca]).dropLast())
        var evp = [JWSSuite.evp(Signer())]
        Measurement.rounds(10, of: .milliseconds(40), &evp)
        let done = DispatchSemaphore(value: 0)
        let address = try Endpoint(server.address)
        nonisolated(unsafe) var times: (pings: [Double], requests: [Double]) = ([], [])
        Task.detached {
            unsafe times = await measure(address, token, count)
            done.signal()
        }
        done.wait()
        let (pings, requests) = unsafe times
        guard !pings.isEmpty else {
            throw AssayProcess.Failed(description: "the lone client was refused, or got no answer")
        }
        let lone = requests.median - pings.median
        return [
            Row(
                name: "ping, round trip", value: pings.median, spread: pings.spread,
                unit: "µs"),
            Row(
                name: "lone request, round trip", value: requests.median,
                spread: requests.spread, unit: "µs"),
            // The ratio is the row ÷ EVP; less is better.
            Row(
                name: "lone request beyond a ping", value: lone, spread: requests.spread,
                unit: "µs", ratio: lone / evp[0].median),
        ]
    }

    private static func measure(
        _ address: Endpoint, _ token: [UInt8], _ count: Int
    ) async -> (pings: [Double], requests: [Double]) {
        var (pings, requests): ([Double], [Double]) = ([], [])
        let clock = ContinuousClock()
        do throws(ClientError) {
            let client = try await AssayClient.connect(to: address)
            // Extra rounds at the start, so that the server builds the key's table.
            for index in 0..<count + 1000 {
                var start = clock.now
                try await client.ping()
                let ping = start.duration(to: clock.now).microseconds
                start = clock.now
                let answer = try await client.verify(token, as: .transaction)
                let request = start.duration(to: clock.now).microseconds
                guard answer.verification.verdict == .valid else { return ([], []) }
                guard index >= 1000 else { continue }
                pings.append(ping)
                requests.append(request)
            }
            client.close()
        } catch {
            return ([], [])
        }
        return (pings, requests)
    }
}
