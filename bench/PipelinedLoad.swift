import AssayIO
import Foundation

/// A connection of a load, and its requests: one for each place in flight.
protocol LoadConnection: AnyObject {
    /// Sends the requests.
    func send() throws
    /// Receives the answers to all of them. Returns the number of verdicts that are VALID: a busy
    /// machine makes the server refuse some. Throws for other answers.
    func receive() throws -> Int
}

/// Keeps connections full of requests from one thread.
final class PipelinedLoad {
    private let server: AssayProcess.Server
    private let connections: [any LoadConnection]

    init(_ server: AssayProcess.Server, _ connections: [any LoadConnection]) {
        self.server = server
        self.connections = connections
    }

    /// A load of HTTP/1.1.
    ///
    /// - Parameters:
    ///   - requests: one for each place in flight on a connection.
    ///   - body: how the body of each answer begins.
    static func http(
        _ server: AssayProcess.Server, connections: Int = HTTPSuite.connections,
        requests: [[UInt8]], body: String = validBody
    ) throws -> PipelinedLoad {
        let body = Array(body.utf8)
        return try http(server, connections: connections, requests: requests) {
            $0.starts(with: body)
        }
    }

    /// How an answer of HTTP/JSON begins that is VALID.
    static let validBody = #"{"verdict":"VALID""#

    /// - Parameter isRight: whether a body is an answer that is expected.
    static func http(
        _ server: AssayProcess.Server, connections: Int = HTTPSuite.connections,
        requests: [[UInt8]], isRight: @escaping (ArraySlice<UInt8>) -> Bool
    ) throws -> PipelinedLoad {
        let address = try Endpoint(server.httpAddress)
        return PipelinedLoad(
            server,
            try (0..<connections).map { _ in
                HTTPLoadConnection(
                    try .connected(to: address), requests: requests, isRight: isRight)
            })
    }

    /// Answers for each second of the server's processor.
    func answersPerProcessorSecond(seconds: Double) throws -> Double {
        let process = server.process.processIdentifier
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        for connection in connections { try connection.send() }
        let before = ProcessorTime.of(process: process) ?? 0
        var count = 0
        while clock.now < end {
            for connection in connections {
                count += try connection.receive()
                try connection.send()
            }
        }
        let spent = (ProcessorTime.of(process: process) ?? 0) - before
        for connection in connections { _ = try connection.receive() }
        return Double(count) * 1e9 / Double(max(spent, 1))
    }
}

private final class HTTPLoadConnection: LoadConnection {
    private let socket: LoopbackSocket
    private let requests: [UInt8]
    private let depth: Int
    private let isRight: (ArraySlice<UInt8>) -> Bool
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)

    init(
        _ socket: LoopbackSocket, requests: [[UInt8]],
        isRight: @escaping (ArraySlice<UInt8>) -> Bool
    ) {
        self.socket = socket
        self.requests = Array(requests.joined())
        depth = requests.count
        self.isRight = isRight
    }

    func send() throws { try socket.send(requests) }

    func receive() throws -> Int {
        var scan = HTTPScan(isRight)
        while scan.responses + scan.refused < depth {
            let received = socket.receive(into: &buffer)
            guard received > 0, scan.take(buffer[..<received]) else {
                throw AssayProcess.Failed(description: "an answer over HTTP: \(scan.last)")
            }
        }
        return scan.responses
    }
}

/// Counts responses in received bytes, and checks the body of each.
struct HTTPScan {
    private(set) var responses = 0
    /// Responses with status 429.
    private(set) var refused = 0
    /// The beginning of a response that is neither, for the message.
    private(set) var last = "nothing"
    private var rest: [UInt8] = []
    private var start = 0

    private static let lengthField = Array("Content-Length: ".utf8)
    private static let endOfHead = Array("\r\n\r\n".utf8)
    private static let refusal = Array("HTTP/1.1 429 ".utf8)
    private let isRight: (ArraySlice<UInt8>) -> Bool

    init(_ isRight: @escaping (ArraySlice<UInt8>) -> Bool) { self.isRight = isRight }

    /// Returns false for a response with another body.
    mutating func take(_ bytes: ArraySlice<UInt8>) -> Bool {
        rest += bytes
        defer {
            rest.removeFirst(start)
            start = 0
        }
        while true {
            let unread = rest[start...]
            // A head has about 150 bytes.
            guard let end = unread.prefix(512).firstRange(of: Self.endOfHead) else { return true }
            guard let field = unread[..<end.lowerBound].firstRange(of: Self.lengthField) else {
                return false
            }
            var length = 0
            for digit in rest[field.upperBound...].prefix(while: { $0 >= 0x30 && $0 <= 0x39 }) {
                length = length * 10 + Int(digit - 0x30)
            }
            guard rest.count >= end.upperBound + length else { return true }
            if isRight(rest[end.upperBound..<end.upperBound + length]) {
                responses += 1
            } else if unread.starts(with: Self.refusal) {
                refused += 1
            } else {
                last = String(decoding: unread.prefix(400), as: UTF8.self)
                return false
            }
            start = end.upperBound + length
        }
    }
}
