import AssayServer
import TestSupport
import Testing

@testable import AssayIO

/// A ClientHello has a limit, however its bytes arrive, and early data behind it is skipped.
@Suite("Sizes of ClientHellos", .ownThread, .serialized, .timeLimit(.minutes(2)))
struct HelloSizeTests {
    /// A genuine ClientHello whose extensions can be changed.
    private struct Hello {
        private var start: [UInt8]
        private var extensions: [UInt8]

        init() {
            let peer = OpenSSLPeer()
            _ = peer.handshake()
            let message = Array(peer.take().dropFirst(9))
            // The version and a random value; a session, cipher suites and compressions.
            var index = 34
            index += 1 + Int(message[index])
            index += 2 + Int(message[index]) << 8 + Int(message[index + 1])
            index += 1 + Int(message[index])
            start = Array(message[..<index])
            extensions = Array(message[(index + 2)...])
        }

        private static func number(_ value: Int, _ bytes: Int) -> [UInt8] {
            (0..<bytes).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        }

        mutating func add(_ type: Int, _ content: [UInt8]) {
            extensions += Self.number(type, 2) + Self.number(content.count, 2) + content
        }

        /// Adds padding, so that the message has this number of bytes after its length.
        func padded(to count: Int) -> Hello {
            var hello = self
            let used = start.count + 2 + extensions.count + 4
            hello.add(21, [UInt8](repeating: 0, count: count - used))
            return hello
        }

        /// Offers early data with a key that the server does not know.
        var withEarlyData: Hello {
            var hello = self
            hello.add(42, [])
            let identity = [UInt8](repeating: 7, count: 32)
            hello.add(
                41,
                Self.number(38, 2) + Self.number(32, 2) + identity + [0, 0, 0, 0]
                    + Self.number(33, 2) + [32] + identity)
            return hello
        }

        /// The records of the message, each with up to a number of bytes.
        func records(of size: Int = 1 << 14) -> [UInt8] {
            let body = start + Self.number(extensions.count, 2) + extensions
            let message = [1] + Self.number(body.count, 3) + body
            return stride(from: 0, to: message.count, by: size).flatMap { first in
                let part = message[first..<min(first + size, message.count)]
                return [22, 3, 1] + Self.number(part.count, 2) + part
            }
        }
    }

    private static func context() throws -> TLSContext {
        let pki = try TestPKI()
        let (certificate, key) = try pki.issue("localhost", [.loopback, .dns("localhost")])
        return try TLSContext(server: TLSServerSettings(certificate: certificate, key: key))
    }

    /// Feeds bytes in parts. Returns what the server answers, and whether it has refused.
    private static func answer(
        _ context: TLSContext, to bytes: [UInt8], each size: Int
    ) throws -> (bytes: [UInt8], hasFailed: Bool) {
        var server = try TLSSession(context, host: nil)
        var output: [UInt8] = []
        for first in stride(from: 0, to: bytes.count, by: size) {
            server.feed(Array(bytes[first..<min(first + size, bytes.count)]).span)
            let step = server.handshake()
            output += server.takeCiphertext()
            if case .failed = step { return (output, true) }
        }
        return (output, false)
    }

    /// The fatal alert illegal_parameter.
    private static let alert: [UInt8] = [21, 3, 3, 0, 2, 2, 47]

    @Test("a hello up to the limit is answered, one above it gets an alert, in any parts")
    func limit() throws {
        let context = try Self.context()
        let hello = Hello()
        for (count, isAccepted) in [
            (1_000, true), (HelloMeter.limit - 1, true), (HelloMeter.limit, true),
            (HelloMeter.limit + 1, false), (60_000, false),
        ] {
            let hello = hello.padded(to: count)
            for record in [1 << 14, 700, 3] {
                let bytes = hello.records(of: record)
                for size in [bytes.count, 16 << 10, 1_000, 7] {
                    let answer = try Self.answer(context, to: bytes, each: size)
                    let name = "\(count) in records of \(record), reads of \(size)"
                    #expect(answer.hasFailed != isAccepted, "\(name)")
                    if isAccepted {
                        #expect(answer.bytes.first == 22, "\(name)")
                    } else {
                        #expect(answer.bytes == Self.alert, "\(name)")
                    }
                }
            }
        }
    }

    @Test("early data is skipped up to 16 KB, and refused by an alert above")
    func earlyData() throws {
        let context = try Self.context()
        let hello = Hello().withEarlyData.records()
        func data(_ count: Int) -> [UInt8] {
            [23, 3, 3, UInt8(count >> 8), UInt8(count & 0xFF)] + [UInt8](repeating: 5, count: count)
        }
        let table: [(name: String, data: [UInt8], isAccepted: Bool)] = [
            ("none", [], true), ("a little", data(100), true),
            ("as much as the limit", data(8_000) + data(8_000), true),
            ("more", data(16_000) + data(16_000), false),
        ]
        for (name, data, isAccepted) in table {
            let bytes = hello + data
            for size in [bytes.count, 1_000, 16] {
                let answer = try Self.answer(context, to: bytes, each: size)
                #expect(answer.hasFailed != isAccepted, "\(name) in \(size)")
                // ServerHello, and if it is refused an alert, which is encrypted.
                #expect(answer.bytes.first == 22 && answer.bytes.count > 500, "\(name)")
            }
        }
        // Without an offer it is a fault.
        let fault = try Self.answer(context, to: Hello().records() + data(100), each: 64 << 10)
        #expect(fault.hasFailed)
    }

    @Test("a listener reads hellos and early data as they come")
    func listener() throws {
        let pki = try TestPKI()
        try withSocketServer {
            $0.listen.append(.tls(host: "127.0.0.1", port: 0))
            $0.tls = try? pki.server(ofClients: false)
        } _: { test in
            let early = [23, 3, 3, 0x40, 0] + [UInt8](repeating: 5, count: 1 << 14)
            for (bytes, isAccepted) in [
                (Hello().withEarlyData.records() + early, true),
                (Hello().padded(to: HelloMeter.limit).records(), true),
                (Hello().padded(to: HelloMeter.limit + 1).records(), false),
                (Hello().padded(to: 40_000).records(), false),
            ] {
                let client = try BlockingClient(test.server.endpoints[2])
                try client.send(bytes)
                let answer = try client.receive(exactly: Self.alert.count)
                #expect((answer == Self.alert) == !isAccepted && answer?.isEmpty == false)
                client.close()
            }
            test.eventually { _ in test.log.count(of: "a ClientHello above 16384 bytes") > 0 }
        }
    }

    @Test("a message of another type has no such limit, and ends the measure")
    func others() {
        func read(_ bytes: [UInt8]) -> Bool {
            var meter = HelloMeter()
            meter.read(bytes.span)
            return meter.isAboveLimit
        }
        let large: [UInt8] = [22, 3, 3, 0, 4, 1, 0, 0x40, 1]
        #expect(read(large))
        #expect(read([20, 3, 3, 0, 1, 1] + large))
        #expect(read([23, 3, 3, 0, 2, 1, 2] + large))
        #expect(read([22, 3, 1, 0, 4, 1, 0, 0, 0] + large))
        // A ClientKeyExchange; ciphertext follows it.
        #expect(!read([22, 3, 3, 0, 4, 16, 0xFF, 0xFF, 0xFF] + large))
        #expect(!read([22, 3, 3, 0, 4, 16, 0, 0, 0] + large))
        #expect(!read([22, 3, 3, 0, 4, 1, 0, 0x40, 0]))
    }
}
