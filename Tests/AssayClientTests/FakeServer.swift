import AssayClient
import AssayIO
import AssayModels
import AssayWire
import TestSupport

/// A server on its own event loop. The test decides its answers.
final class FakeServer: Sendable {
    typealias Answering = @Sendable (Peer, RequestHead, [UInt8]) -> Void

    let endpoint: Endpoint
    private let loop: EventLoop
    private let peers = Peers()

    private final class Peers: Sendable {
        let list = Locked<[LoopBound<Peer>]>([])
    }

    /// Starts the server. `answering` receives each request, on the loop's thread.
    init(
        at endpoint: Endpoint = .tcp(host: "127.0.0.1", port: 0), _ answering: @escaping Answering
    ) throws {
        let loop = try EventLoop(name: "fake")
        try loop.start()
        self.loop = loop
        self.endpoint = try loop.call { [peers] () throws(LoopError) in
            try Listener(on: loop, at: endpoint) { stream in
                peers.list.withLock { list in
                    let peer = Peer(stream, number: list.count + 1, answering)
                    list.append(LoopBound(peer, to: loop))
                }
            }.endpoint
        }
    }

    var connectionCount: Int { peers.list.withLock { $0.count } }

    /// Runs `body` for each connection, on the loop's thread.
    func forEachPeer(_ body: @escaping @Sendable (Peer) -> Void) {
        loop.post { [self] in
            for peer in peers.list.withLock({ $0 }) { body(peer.value) }
        }
    }

    func stop() {
        loop.stop()
        loop.join()
    }
}

/// One connection of a fake server.
final class Peer {
    /// The connection's number, counted from 1.
    let number: Int
    /// Requests kept for later.
    var kept: [UInt64] = []
    /// Answers kept for later.
    var later: [[UInt8]] = []
    private let stream: Stream
    private let codec = MessageCodec()
    private let decoder = FrameDecoder()
    private let answering: FakeServer.Answering

    init(_ stream: Stream, number: Int, _ answering: @escaping FakeServer.Answering) {
        self.stream = stream
        self.number = number
        self.answering = answering
        stream.setHandler { [self] event in
            switch event {
            case .received: receive()
            case .ended: self.stream.finish()
            case .failed: self.stream.close()
            case .connected, .written, .closed: break
            }
        }
        stream.resumeReading()
    }

    private func receive() {
        while !stream.isClosing, let bytes = stream.received.unread {
            switch decoder.next(in: bytes.span) {
            case .frame(let frame):
                stream.received.skip(frame.end)
                guard let head = try? codec.decodeRequest(bytes.extracting(frame.head).span)
                else { return stream.close() }
                let body = bytes.extracting(frame.body)
                answering(self, head, [UInt8](copying: body))
            case .needMore(let minimum):
                return stream.received.expect(minimum)
            case .head, .fault:
                return stream.close()
            }
        }
    }

    func frame(_ head: ResponseHead, body: [UInt8] = []) -> [UInt8] {
        var bytes: [UInt8] = []
        codec.encodeFrame(head, body: body, into: &bytes)
        return bytes
    }

    func answer(_ head: ResponseHead, body: [UInt8] = []) { write(frame(head, body: body)) }

    func pong(_ id: UInt64) { answer(ResponseHead(id: id, result: .pong)) }

    func write(_ bytes: [UInt8]) { if !stream.isClosing { stream.write(bytes) } }

    func close() { stream.close() }
}

extension [UInt8] {
    init(copying bytes: SlabBytes) {
        self.init(capacity: bytes.count) { output in
            let span = bytes.span
            for index in span.indices { output.append(span[index]) }
        }
    }
}

extension ClientOptions {
    /// Options with deadlines that a busy machine does not exceed.
    static let longTimeout = ClientOptions(
        timeout: longestTimeout, inFlightLimit: RequestLimits.inFlight, longestWait: nil)
    static let longTimeoutNoRetry = ClientOptions(
        timeout: longestTimeout, retriesOnce: false, inFlightLimit: RequestLimits.inFlight,
        longestWait: nil)
}

/// Runs `body` with a fake server and a client connected to it.
func withServer(
    _ options: ClientOptions = .longTimeout, at endpoint: Endpoint? = nil,
    answering: @escaping FakeServer.Answering,
    _ body: (FakeServer, AssayClient) async throws -> Void
) async throws {
    let server = try FakeServer(at: endpoint ?? .tcp(host: "127.0.0.1", port: 0), answering)
    let client = try AssayClient(address: server.endpoint, options: options)
    let result: Result<Void, any Error>
    do { result = .success(try await body(server, client)) } catch { result = .failure(error) }
    client.close()
    server.stop()
    try result.get()
}
