import AssayIO
import AssayModels
import AssayWire
import TestSupport
import Testing

/// A client's end of a connection: a socket, or a simulated one.
protocol ByteConnection: AnyObject {
    func send(_ bytes: [UInt8]) throws
    /// Receives 1 to `count` bytes; none at the end of the stream.
    func receive(upTo count: Int) throws -> [UInt8]
    func receiveToEnd() throws -> [UInt8]
    /// Waits until there are bytes to receive, or the stream has ended; false after the timeout.
    func hasMore(milliseconds: Int32) -> Bool
    func finishWriting()
    func shutDown()
    func close()
    func reset()
}

extension BlockingClient: ByteConnection {}

/// A client that can send any bytes.
final class RawClient {
    let socket: any ByteConnection
    private let codec = MessageCodec()
    private var received: [UInt8] = []
    private var start = 0

    /// The timeout where a test is not about time, in milliseconds: under a sanitizer, seconds of
    /// the server's work can take minutes.
    static let patience: UInt32 = 600_000

    init(_ endpoint: Endpoint, receiveBuffer: Int32? = nil) throws {
        socket = try BlockingClient(endpoint, receiveBuffer: receiveBuffer)
    }

    init(_ address: TestAddress, receiveBuffer: Int32? = nil) throws {
        socket = try address.connect(receiveBuffer: receiveBuffer)
    }

    init(_ socket: any ByteConnection) { self.socket = socket }

    static func frame(_ head: RequestHead, _ body: [UInt8] = []) -> [UInt8] {
        var bytes: [UInt8] = []
        MessageCodec().encodeFrame(head, body: body, into: &bytes)
        return bytes
    }

    static func ping(_ id: UInt64) -> [UInt8] { frame(RequestHead(id: id, call: .ping)) }

    static func verify(
        _ id: UInt64, _ kind: EvidenceKind? = .transaction, _ body: [UInt8], app: String = "",
        timeout: UInt32 = patience, expecting: Expectations = .none, inApp: InAppSelection = .all,
        mayWait: Bool = false
    ) -> [UInt8] {
        let call = VerifyCall(
            kind: kind, expectations: expecting, returnsTypedPayload: false, inApp: inApp)
        return frame(
            RequestHead(
                id: id, call: .verify(call), app: app, timeoutMilliseconds: timeout,
                mayWait: mayWait), body)
    }

    /// A Resolve of these items; the server detects a kind that is nil.
    static func resolve(
        _ id: UInt64, _ items: [(kind: EvidenceKind?, evidence: [UInt8])],
        timeout: UInt32 = patience, mayWait: Bool = false,
        _ change: (inout ResolveCall) -> Void = { _ in }
    ) -> [UInt8] {
        var call = ResolveCall(
            items: items.map { item in
                ResolveCall.Item(
                    item.kind.map { .named($0) } ?? .detected,
                    length: UInt32(item.evidence.count))
            })
        change(&call)
        return frame(
            RequestHead(
                id: id, call: .resolve(call), timeoutMilliseconds: timeout, mayWait: mayWait),
            items.flatMap(\.evidence))
    }

    func send(_ bytes: [UInt8]) throws { try socket.send(bytes) }

    /// Receives the next response; nil at the end of the stream.
    func receive() throws -> (head: ResponseHead, body: [UInt8])? {
        let decoder = FrameDecoder(limits: .response)
        while true {
            switch decoder.next(in: received.span.extracting(start...)) {
            case .frame(let frame):
                let bytes = Array(
                    received[(start + frame.head.lowerBound)..<(start + frame.head.upperBound)])
                let head = try codec.decodeResponse(bytes.span)
                let body = received[(start + frame.body.lowerBound)..<(start + frame.end)]
                start += frame.end
                return (head, Array(body))
            case .needMore:
                received.removeFirst(start)
                start = 0
                let more = try socket.receive(upTo: 64 * 1024)
                if more.isEmpty {
                    if received.isEmpty { return nil }
                    throw BlockingClient.Failure(what: "the stream ended within an answer")
                }
                received += more
            case .head, .fault: throw BlockingClient.Failure(what: "no answer frame")
            }
        }
    }

    /// Receives responses until each of the ids has exactly one.
    func expectAnswers(
        _ ids: ClosedRange<UInt64>, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var missing = Set(ids)
        while !missing.isEmpty {
            let head = try #require(try receive()?.head, sourceLocation: sourceLocation)
            #expect(head.status == .ok, "\(head)", sourceLocation: sourceLocation)
            #expect(missing.remove(head.id) != nil, "\(head)", sourceLocation: sourceLocation)
        }
    }

    /// Expects that the connection still answers.
    func expectPong(
        _ id: UInt64 = 77, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try send(Self.ping(id))
        let head = try receive()?.head
        #expect(
            head == ResponseHead(id: id, result: .pong), sourceLocation: sourceLocation)
    }

    /// Expects a connection-level response, and then the end of the stream.
    func expectEnd(
        _ status: AssayWire.Status, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let head = try receive()?.head
        #expect(
            head?.id == 0 && head?.status == status, "\(head as Any)",
            sourceLocation: sourceLocation)
        #expect(head?.message.isEmpty == false, sourceLocation: sourceLocation)
        #expect(try receive() == nil, sourceLocation: sourceLocation)
    }
}

/// A socket on which one thread sends while another receives.
final class SharedClient: @unchecked Sendable {
    let client: any ByteConnection
    init(_ client: any ByteConnection) {
        precondition(!(client is SimulatedConnection), "a simulation has one thread")
        self.client = client
    }
}
