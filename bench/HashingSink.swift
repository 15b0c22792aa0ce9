import Assay
import AssayBytes
import AssayIO
import Foundation

/// The lower bound of a receipt's cost on arrival: a process that copies the bytes from a socket,
/// hashes them and answers with the digest. Each message begins with eight octets of length.
enum HashingSink {
    /// Implements `bench sink`: prints its address and serves one connection.
    static func run() throws {
        let (listener, port) = LoopbackSocket.listening()
        FileHandle.standardOutput.write(Data("tcp://127.0.0.1:\(port)\n".utf8))
        let socket = listener.accepted()
        // The size of Assay's own reads, which fits a processor's cache.
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            var head = [UInt8](repeating: 0, count: 8)
            guard socket.receive(into: &head) == 8 else { return }
            var remaining = head.reduce(0) { $0 << 8 | Int($1) }
            var hash = SHA256()
            while remaining > 0 {
                let count = socket.receive(into: &buffer)
                guard count > 0 else { return }
                hash.update(buffer.span.extracting(0..<count))
                remaining -= count
            }
            try socket.send(hash.finish().octets.span.array)
        }
    }

    /// The sink as a child process on one processor.
    final class Child {
        private let process = Process()
        let socket: LoopbackSocket

        init(processors: String) throws {
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
            process.arguments = [
                "-c", processors,
                URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().path,
                "sink",
            ]
            process.standardOutput = output
            try process.run()
            let line = String(
                decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            socket = try LoopbackSocket.connected(
                to: try Endpoint(line.trimmingCharacters(in: .whitespacesAndNewlines)))
        }

        /// The message with its length in front.
        static func frame(_ message: [UInt8]) -> [UInt8] {
            let count = UInt64(message.count)
            return (0..<8).map { UInt8(truncatingIfNeeded: count >> UInt64(56 - $0 * 8)) }
                + message
        }

        /// Sends the frame and waits for its digest.
        func hash(_ frame: [UInt8]) throws {
            try socket.send(frame)
            _ = try socket.receive(32)
        }

        func stop() {
            process.terminate()
            process.waitUntilExit()
        }
    }
}
