import AssayClient
import Foundation

/// Performs the cases of the conformance suite with `AssayClient`: one case a line on standard
/// input, one outcome a line on standard output. With the argument `throughput`, measures.
/// `conformance/README.md` describes both.
@main
struct ConformanceClient {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "throughput" {
            return try await Throughput.measure(Array(arguments.dropFirst()))
        }
        write(["ready": "swift"])
        while let line = readLine() {
            guard let plan = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? JSON
            else { throw CaseError("not an object: \(line)") }
            var outcome: JSON
            do {
                outcome = ["outcomes": try await perform(plan)]
            } catch let error as EndpointError {
                outcome = ["error": "address", "message": "\(error)"]
            } catch let error as ClientError where error.reason == .invalidAddress {
                outcome = ["error": "address", "message": error.message]
            }
            outcome["name"] = plan["name"]
            write(outcome)
        }
    }

    private static func write(_ object: JSON) {
        let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        FileHandle.standardOutput.write((data ?? Data()) + Data("\n".utf8))
    }

    private static func perform(_ plan: JSON) async throws -> [JSON] {
        let client = try client(for: plan)
        defer { client.close() }
        var outcomes: [JSON] = []
        for step in plan["steps"] as? [JSON] ?? [] {
            if let pause = step["sleepMs"] as? Int {
                try await Task.sleep(for: .milliseconds(pause))
            } else if step["close"] as? Bool == true {
                client.close()
            } else {
                outcomes += try await perform(step["calls"] as? [JSON] ?? [], client)
            }
        }
        return outcomes
    }

    private static func client(for plan: JSON) throws -> AssayClient {
        let texts = plan["addresses"] as? [String]
        let addresses =
            try texts.map { texts in try texts.map { try Endpoint($0) } }
            ?? AssayClient.addresses(in: ProcessInfo.processInfo.environment)
        let values = plan["options"] as? [String: Any] ?? [:]
        func duration(_ name: String, _ usual: Int) -> Duration {
            .milliseconds(values[name] as? Int ?? usual)
        }
        var options = ClientOptions(
            timeout: duration("timeoutMs", 5000),
            connectTimeout: duration("connectTimeoutMs", 5000),
            retriesOnce: values["retriesOnce"] as? Bool ?? true,
            inFlightLimit: values["inFlightLimit"] as? Int ?? ClientOptions.defaultInFlightLimit,
            longestWait: (values["longestWaitMs"] as? Int).map { .milliseconds($0) }
                ?? ClientOptions.defaultLongestWait,
            waitingLimit: values["waitingLimit"] as? Int ?? 65_536,
            shortestPause: duration("shortestPauseMs", 50),
            longestPause: duration("longestPauseMs", 2000),
            requestLimits: FrameLimits(frameBytes: values["frameBytes"] as? Int ?? 33_554_432))
        if let tls = plan["tls"] as? [String: String] {
            options.tls = try TLSContext(
                client: TLSClientSettings(
                    authority: tls["authority"], certificate: tls["certificate"],
                    key: tls["key"], serverName: tls["serverName"]))
        }
        return try AssayClient(addresses: addresses, options: options)
    }

    /// Starts all calls, and returns their outcomes in order.
    private static func perform(_ calls: [JSON], _ client: AssayClient) async throws -> [JSON] {
        var tasks: [Task<CaseResult, any Error>] = []
        for members in calls {
            let call = try Call(members)
            for _ in 0..<call.count {
                let task = Task { try await call.outcome(from: client) }
                if let pause = call.cancelAfter {
                    Task {
                        try await Task.sleep(for: pause)
                        task.cancel()
                    }
                }
                tasks.append(task)
            }
        }
        var outcomes: [JSON] = []
        for task in tasks { outcomes.append(try await task.value.members) }
        return outcomes
    }
}

typealias JSON = [String: Any]

/// A case that this program does not understand.
struct CaseError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
