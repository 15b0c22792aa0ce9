// Makes calls with gRPC for Swift for rpc_agents.py, which says what its lines mean.
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2Posix
import GRPCProtobuf
import SwiftProtobuf

typealias Transport = HTTP2ClientTransport.Posix

@main struct Agent {
    let verifier: Assay_V1_Verifier.Client<Transport>
    let signer: Assay_V1_Signer.Client<Transport>
    let health: Grpc_Health_V1_Health.Client<Transport>

    static func main() async throws {
        let address = CommandLine.arguments[1].split(separator: ":")
        let transport = try Transport(
            target: .ipv4(address: String(address[0]), port: Int(address[1]) ?? 0),
            transportSecurity: .plaintext)
        try await withGRPCClient(transport: transport) { client in
            let agent = Agent(
                verifier: .init(wrapping: client), signer: .init(wrapping: client),
                health: .init(wrapping: client))
            while let line = readLine() { try await agent.perform(line) }
        }
    }

    private func perform(_ line: String) async throws {
        let words = line.split(separator: " ").map(String.init)
        let (action, method, number) = (words[0], words[1], Int(words[2]) ?? 0)
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: words[3])))
        var options = CallOptions.defaults
        // A client's own limit is 4 MB.
        options.maxRequestMessageBytes = 32 << 20
        let metadata: Metadata =
            words.count > 4 ? ["authorization": .string("Bearer \(words[4])")] : [:]
        switch action {
        case "call":
            if number > 0 { options.timeout = .milliseconds(number) }
            await answer { [options] in try await call(method, bytes, metadata, options) }
        case "cancel":
            await answer { [options] in
                try await cancelling(after: .milliseconds(number)) {
                    try await call(method, bytes, metadata, options)
                }
            }
        case "stream": try await stream(number, bytes)
        case "watch": await watch(bytes)
        default: throw RPCError(code: .invalidArgument, message: "no action \(action)")
        }
    }

    private func call(
        _ method: String, _ bytes: [UInt8], _ metadata: Metadata, _ options: CallOptions
    ) async throws -> [UInt8] {
        switch method {
        case "Verify":
            try await verifier.verify(
                .init(serializedBytes: bytes), metadata: metadata, options: options
            ).serializedBytes()
        case "Resolve":
            try await verifier.resolve(
                .init(serializedBytes: bytes), metadata: metadata, options: options
            ).serializedBytes()
        case "Fetch":
            try await verifier.fetch(
                .init(serializedBytes: bytes), metadata: metadata, options: options
            ).serializedBytes()
        case "Info":
            try await verifier.info(
                .init(serializedBytes: bytes), metadata: metadata, options: options
            ).serializedBytes()
        case "SignPromotionalOffer":
            try await signer.signPromotionalOffer(
                .init(serializedBytes: bytes), metadata: metadata, options: options
            ).serializedBytes()
        case "Check":
            try await health.check(
                .init(serializedBytes: bytes), metadata: metadata, options: options
            ).serializedBytes()
        default: throw RPCError(code: .invalidArgument, message: "no method \(method)")
        }
    }

    /// Cancels the task of a call after a time.
    private func cancelling(
        after time: Duration, _ call: @escaping @Sendable () async throws -> [UInt8]
    ) async throws -> [UInt8] {
        let task = Task { try await call() }
        let timer = Task {
            try await Task.sleep(for: time)
            task.cancel()
        }
        defer { timer.cancel() }
        do {
            return try await task.value
        } catch  where task.isCancelled {
            // The library's own code is then .unknown.
            throw RPCError(code: .cancelled, message: "\(error)")
        }
    }

    private func stream(_ count: Int, _ bytes: [UInt8]) async throws {
        let request = try Assay_V1_VerifyStreamRequest(serializedBytes: bytes)
        let found = try await verifier.verifyStream { writer in
            for number in 1...count {
                var numbered = request
                numbered.id = UInt64(number)
                try await writer.write(numbered)
            }
        } onResponse: { response in
            var (answers, valid, ids) = (0, 0, Set<UInt64>())
            for try await message in response.messages {
                answers += 1
                ids.insert(message.id)
                if message.verification.verdict == .valid { valid += 1 }
            }
            return "\(answers) \(valid) \(ids.count)"
        }
        write(found)
    }

    private func watch(_ bytes: [UInt8]) async {
        await answer {
            try await health.watch(.init(serializedBytes: bytes)) { response in
                for try await message in response.messages {
                    write("status \(message.status.rawValue)")
                }
            }
            return []
        }
    }

    /// Writes the line of a call's outcome.
    private func answer(_ call: () async throws -> [UInt8]) async {
        do {
            write("0 - \(encoded(try await call())) -")
        } catch let error as RPCError {
            let values = error.metadata[binaryValues: "grpc-status-details-bin"]
            let details = values.first { _ in true }
            write(
                "\(error.code.rawValue) \(encoded(Array(error.message.utf8))) - "
                    + encoded(details ?? []))
        } catch {
            write("2 \(encoded(Array("\(error)".utf8))) - -")
        }
    }
}

private func encoded(_ bytes: [UInt8]) -> String {
    bytes.isEmpty ? "-" : Data(bytes).base64EncodedString()
}

private func write(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
