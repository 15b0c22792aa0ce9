import AssayClient
import Foundation

/// Measures verifications a second; see `conformance/README.md`.
struct Throughput: Sendable {
    let client: AssayClient
    let token: [UInt8]
    let inFlight: Int
    let payloads: ReturnedPayloads

    /// Prints the measurement. Arguments: ADDRESS FILE CALLS IN-FLIGHT typed|bare.
    static func measure(_ arguments: [String]) async throws {
        guard arguments.count == 5, let calls = Int(arguments[2]), let inFlight = Int(arguments[3])
        else { throw CaseError("usage: throughput ADDRESS FILE CALLS IN-FLIGHT typed|bare") }
        let client = try AssayClient(
            addresses: [try Endpoint(arguments[0])],
            options: ClientOptions(timeout: .seconds(30), inFlightLimit: inFlight))
        defer { client.close() }
        let load = Throughput(
            client: client,
            token: [UInt8](try Data(contentsOf: URL(filePath: arguments[1]))), inFlight: inFlight,
            payloads: arguments[4] == "typed" ? .typed : [])
        try await load.perform(calls / 4)
        let start = ContinuousClock.now
        try await load.perform(calls)
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print("{\"answers\": \(calls), \"seconds\": \(seconds)}")
    }

    private func perform(_ calls: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<calls {
                if index >= inFlight { try await group.next() }
                group.addTask { try await verify() }
            }
            try await group.waitForAll()
        }
    }

    private func verify() async throws {
        let answer = try await client.verify(
            token, as: .transaction, returning: payloads, mayWait: true)
        guard answer.verification.verdict == .valid else {
            throw CaseError("\(answer.verification.verdict): \(answer.verification.detail)")
        }
    }
}
