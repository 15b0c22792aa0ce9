import Assay
import AssayBytes
import AssayClient
import AssayIO
import AssayModels
import AssayWire

/// Assay's client against a server that answers with the fuzzer's bytes.
extension FuzzTarget {
    /// A client. First byte: the number of requests (three bits), and whether they can be
    /// retried. Next two bytes: the split of the rest, which is the server's answer, into
    /// writes. Invariant: each request ends once, with the result that the bytes received by
    /// then determine, for every split.
    static func client() -> FuzzTarget {
        let bench = ClientBench()
        return FuzzTarget(
            "Client", seeds: clientSeeds, words: ["GET / HTTP/1.1\r\n\r\n"],
            mutate: ResponseMutation.mutate
        ) { bytes in
            guard bytes.count >= 3 else { return }
            let count = Int(bytes[0] & 7) + 1
            let script = ServerScript(
                stream: bytes.array(3..<bytes.count), requests: count,
                cuts: [Int(bytes[1]) * 8 + 1, Int(bytes[2]) + 1])
            let canRetry = bytes[0] & 8 != 0
            let ends = bench.ask(script, canRetry: canRetry)
            precondition(ends.count == count, "a request ended twice, or never")
            guard !canRetry else { return }
            let expected = ExpectedEnds(script)
            for (id, end) in ends { expected.check(end, of: id) }
        }
    }

    private static var clientSeeds: [[UInt8]] {
        let codec = MessageCodec()
        func frame(_ head: ResponseHead, _ body: [UInt8] = []) -> [UInt8] {
            var bytes: [UInt8] = []
            codec.encodeFrame(head, body: body, into: &bytes)
            return bytes
        }
        let answers = results.enumerated().map { index, result in
            frame(ResponseHead(id: UInt64(index + 1), result: result), [1, 2, 3])
        }
        let refusals = Status.allCases.prefix(8).enumerated().map { index, status in
            frame(
                ResponseHead(
                    id: UInt64(index + 1), status: status, message: "m",
                    retryAfterMilliseconds: 1000))
        }
        let drain = frame(ResponseHead(id: 0, status: .unavailable, message: "draining"))
        let end = frame(ResponseHead(id: 0, status: .resourceExhausted, message: "too many"))
        let notTaken = frame(ResponseHead(id: 2, status: .unavailable))
        let streams: [(first: [UInt8], frames: [[UInt8]])] = [
            ([4, 255, 255], answers), ([4, 0, 0], answers.reversed()), ([7, 3, 40], refusals),
            ([15, 255, 255], refusals), ([4, 255, 255], [answers[0], drain] + answers[1...]),
            ([12, 9, 255], [answers[0], drain, notTaken, answers[2]]),
            ([2, 255, 255], [answers[0], end]), ([10, 255, 255], [end]),
            ([9, 255, 255], [answers[0]]), ([1, 255, 255], [answers[0], answers[0]]),
            ([0, 1, 1], [answers[0].dropLast()]),
        ]
        return streams.map { $0.first + $0.frames.joined() }
    }
}

/// The script of the server for one connection.
private struct ServerScript: Sendable {
    var stream: [UInt8]
    var requests: Int
    var cuts: [Int]
}

/// One event loop for clients and one for their servers, started with the first input.
private final class ClientBench: Sendable {
    typealias Ends = [UInt64: ClientResult]

    private struct Running: Sendable {
        var loop: EventLoop
        var endpoint: Endpoint
    }
    private let running = Locked<Running?>(nil)
    private let script = Locked(ServerScript(stream: [], requests: 1, cuts: [1]))
    /// The number of connections since the script was set.
    private let connections = Locked(0)

    private func started() -> Running {
        running.withLock { running in
            if let running { return running }
            do throws(LoopError) {
                let server = try EventLoop(name: "server"), client = try EventLoop(name: "client")
                try server.start()
                try client.start()
                let name = "@assay-fuzz-\(SystemClock.monotonicNanoseconds)"
                let endpoint = try server.call { [self] () throws(LoopError) in
                    try Listener(on: server, at: .unix(path: name)) { self.accept($0) }.endpoint
                }
                let new = Running(loop: client, endpoint: endpoint)
                running = new
                return new
            } catch {
                preconditionFailure("no loops: \(error)")
            }
        }
    }

    private func accept(_ stream: Stream) {
        let number = connections.withLock { count in
            count += 1
            return count
        }
        // The server can't know how many requests are retried.
        var script = script.withLock { $0 }
        if number > 1 { script.requests = 1 }
        ScriptedPeer.play(script, to: stream)
    }

    /// Returns the result of each request by its id, counted from 1.
    func ask(_ script: ServerScript, canRetry: Bool) -> Ends {
        let running = started()
        self.script.withLock { $0 = script }
        connections.withLock { $0 = 0 }
        let options = ClientOptions(
            timeout: .seconds(30), retriesOnce: canRetry, shortestPause: .milliseconds(1),
            longestPause: .milliseconds(2))
        let channel = Channel(to: running.endpoint, options: options, on: running.loop)
        let ends = Locked<Ends>([:])
        guard let done = try? Semaphore() else { preconditionFailure("no semaphore") }
        for index in 0..<script.requests {
            let call = FuzzTarget.calls[index % FuzzTarget.calls.count]
            let request = ClientRequest(call, body: index % 2 == 0 ? [] : [1, 2, 3])
            let id = channel.newId()
            channel.send(request, id: id) { end in
                let count = ends.withLock { ends in
                    precondition(ends.updateValue(end, forKey: id) == nil, "ended twice")
                    return ends.count
                }
                if count == script.requests { done.signal() }
            }
        }
        // The fuzzer's own time limit reports a request that never ends.
        done.wait()
        channel.close()
        return ends.withLock { $0 }
    }
}

/// Waits for the requests, writes its script, and ends.
private final class ScriptedPeer {
    private let stream: Stream
    private let script: ServerScript
    private let decoder = FrameDecoder()
    private var seen = 0

    static func play(_ script: ServerScript, to stream: Stream) {
        let peer = ScriptedPeer(stream, script)
        stream.setHandler { event in peer.didHappen(event) }
        stream.resumeReading()
    }

    private init(_ stream: Stream, _ script: ServerScript) {
        self.stream = stream
        self.script = script
    }

    private func didHappen(_ event: Stream.Event) {
        switch event {
        case .received:
            while let unread = stream.received.unread,
                case .frame(let frame) = decoder.next(in: unread.span)
            {
                stream.received.skip(frame.end)
                seen += 1
                if seen == script.requests { write(from: 0, cut: 0) }
            }
        case .ended: stream.finish()
        case .failed: stream.close()
        case .connected, .written, .closed: break
        }
    }

    /// Writes one slice per turn, so that the client can read them one by one.
    private func write(from start: Int, cut: Int) {
        guard start < script.stream.count, !stream.isClosing else { return stream.finish() }
        let end = min(start + script.cuts[cut % script.cuts.count], script.stream.count)
        stream.write(Array(script.stream[start..<end]))
        let peer = LoopBound(self, to: stream.loop)
        stream.loop.post { peer.value.write(from: end, cut: cut + 1) }
    }
}

/// The results of requests that are not retried, computed from the server's bytes.
private struct ExpectedEnds {
    private enum End: Equatable {
        case answer(ResponseHead.CallResult, [UInt8])
        case failure(ClientError)
        case violation
    }
    private var ends: [UInt64: End] = [:]

    init(_ script: ServerScript) {
        var open = Set((1...script.requests).map { UInt64($0) })
        var last = End.failure(.connectionLost)
        let decoder = FrameDecoder(limits: .response)
        var rest = script.stream[...]
        frames: while !open.isEmpty {
            let own = Array(rest)
            switch decoder.next(in: own.span) {
            case .needMore, .head: break frames
            case .fault:
                last = .violation
                break frames
            case .frame(let frame):
                let body = Array(own[frame.body])
                let head = try? MessageCodec().decodeResponse(own.span.extracting(frame.head))
                rest = rest.dropFirst(frame.end)
                guard let head else {
                    last = .violation
                    break frames
                }
                if head.id == ResponseHead.connectionId {
                    if head.status == .unavailable { continue }
                    last = .failure(Self.error(head))
                    break frames
                }
                guard open.remove(head.id) != nil else {
                    last = .violation
                    break frames
                }
                ends[head.id] =
                    switch head.status {
                    case .ok: .answer(head.result, body)
                    case .deadlineExceeded: .failure(.deadlineExceeded)
                    default: .failure(Self.error(head))
                    }
            }
        }
        for id in open { ends[id] = last }
    }

    private static func error(_ head: ResponseHead) -> ClientError {
        .status(
            head.status, message: head.message,
            retryAfterMilliseconds: head.retryAfterMilliseconds)
    }

    func check(_ result: ClientResult, of id: UInt64) {
        let end: End =
            switch result {
            case .success(let answer): .answer(answer.result, answer.body)
            case .failure(let error) where error.reason == .protocolViolation: .violation
            case .failure(let error): .failure(error)
            }
        precondition(ends[id] == end, "the connection ended differently from the server's bytes")
    }
}

/// Mutates each frame of a server's answers separately and keeps its lengths valid.
private enum ResponseMutation {
    static func mutate(_ input: [UInt8], _ mutation: inout FuzzMutation) -> [UInt8] {
        guard input.count > 3, !mutation.once(in: 16) else { return mutation.usual(input) }
        guard let stream = FuzzFrame.mutate(input[3...], &mutation, changeHead) else {
            return mutation.usual(input)
        }
        var first = Array(input[..<3])
        if mutation.once(in: 8) { first[mutation.below(3)] = UInt8(mutation.below(256)) }
        return first + stream
    }

    private static func changeHead(_ frame: inout FuzzFrame, _ mutation: inout FuzzMutation) {
        if mutation.once(in: 4) {
            frame.head = mutation.usual(frame.head)
            return
        }
        let codec = MessageCodec()
        guard var head = try? codec.decodeResponse(frame.head.span) else { return }
        switch mutation.below(4) {
        case 0, 1: head.id = UInt64(mutation.below(10))
        case 2: head.status = mutation.element(of: Status.allCases)
        default: head.retryAfterMilliseconds = UInt32(mutation.element(of: [0, 1, 1 << 31]))
        }
        frame.head = []
        codec.encode(head, into: &frame.head)
    }
}
