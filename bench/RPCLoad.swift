import AssayIO

/// Connections of HTTP/2 with calls in flight, or with one call that has messages in flight.
enum RPCLoad {
    /// How calls are made.
    enum CallKind {
        /// A call for each request.
        case grpc, connect
        /// One call for each connection.
        case stream
    }

    /// - Parameter messages: one for each place in flight on a connection.
    static func load(
        _ server: AssayProcess.Server, _ kind: CallKind, _ messages: [[UInt8]]
    ) throws -> PipelinedLoad {
        let address = try Endpoint(server.httpAddress)
        return PipelinedLoad(
            server,
            try (0..<HTTPSuite.connections).map { _ -> any LoadConnection in
                let client = try HTTP2Client(to: address)
                if case .stream = kind { return try RPCStreamConnection(client, messages) }
                return RPCConnection(client, isGRPC: kind == .grpc, messages)
            })
    }

    static func failed(_ what: String) -> AssayProcess.Failed {
        AssayProcess.Failed(description: what)
    }
}

private final class RPCConnection: LoadConnection {
    private let client: HTTP2Client
    private let isGRPC: Bool
    private let head: HTTP2RequestHead
    private let bodies: [[UInt8]]
    private var open: [HTTP2Client.Request] = []

    init(_ client: HTTP2Client, isGRPC: Bool, _ messages: [[UInt8]]) {
        self.client = client
        self.isGRPC = isGRPC
        head =
            isGRPC
            ? .grpc(RPCMessages.verify)
            : HTTP2RequestHead(RPCMessages.verify, [("content-type", "application/proto")])
        bodies = isGRPC ? messages.map(RPCMessages.frame) : messages
    }

    func send() throws {
        for body in bodies { open.append(try client.begin(head, body)) }
        try client.flush()
    }

    func receive() throws -> Int {
        defer { open.removeAll(keepingCapacity: true) }
        var count = 0
        for request in open {
            while !request.isClosed { try client.receive() }
            if try isValid(request) { count += 1 }
        }
        return count
    }

    /// Whether the answer is a verdict that is VALID. Throws if it is neither that nor the refusal
    /// of a busy server.
    private func isValid(_ request: HTTP2Client.Request) throws -> Bool {
        let (status, code) = (request.status, request.grpcStatus)
        if isGRPC ? code == "8" : status == "429" { return false }
        let answer = request.received.dropFirst(isGRPC ? RPCMessages.prefixBytes : 0)
        guard status == "200", !isGRPC || code == "0", RPCMessages.isValid(answer) else {
            throw RPCLoad.failed("a call was answered with \(status), grpc-status \(code)")
        }
        return true
    }
}

private final class RPCStreamConnection: LoadConnection {
    private let client: HTTP2Client
    private let request: HTTP2Client.Request
    private let requests: [UInt8]
    private let depth: Int

    init(_ client: HTTP2Client, _ messages: [[UInt8]]) throws {
        self.client = client
        requests = Array(messages.map(RPCMessages.frame).joined())
        depth = messages.count
        // Without a limit of time: it would be that of the stream.
        let head = HTTP2RequestHead(
            RPCMessages.verifyStream, [("te", "trailers"), ("content-type", "application/grpc")])
        request = try client.begin(head, [], isLast: false)
    }

    func send() throws {
        client.append(requests, to: request)
        try client.flush()
    }

    func receive() throws -> Int {
        var (answers, valid, next) = (0, 0, 0)
        while answers < depth {
            let unread = request.received[next...]
            guard let size = RPCMessages.size(unread), unread.count >= size else {
                guard !request.isClosed else {
                    throw RPCLoad.failed("the stream ended: grpc-status \(request.grpcStatus)")
                }
                try client.receive()
                continue
            }
            answers += 1
            // A busy server refuses some.
            let answer = unread.prefix(size).dropFirst(RPCMessages.prefixBytes)
            if RPCMessages.isValidOnStream(answer) { valid += 1 }
            next += size
        }
        request.received.removeFirst(next)
        guard valid > 0 else { throw RPCLoad.failed("no answer on the stream is VALID") }
        return valid
    }
}
