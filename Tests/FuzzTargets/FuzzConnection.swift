import Assay
import AssayBytes
import AssayIO
import AssayModels
import AssayServer
import AssayWire
import TestSupport

/// A complete server behind a Unix socket. Each input is one connection.
extension FuzzTarget {
    /// A connection. First four bytes: the split of the rest into writes. Invariants: every
    /// complete frame gets one answer, every answer decodes, verdicts equal the library's, and
    /// the split changes nothing.
    static func connection(_ authority: FuzzAuthority) -> FuzzTarget {
        // Started with the first input: the other targets don't need its threads.
        let server = FuzzServer(authority)
        return FuzzTarget(
            "Connection", seeds: connectionSeeds(authority), words: ["GET / HTTP/1.1\r\n\r\n"],
            mutate: { ConnectionMutation.mutate($0, &$1, authority) }
        ) { bytes in server.check(bytes) }
    }

    private static func connectionSeeds(_ authority: FuzzAuthority) -> [[UInt8]] {
        let codec = MessageCodec()
        let cuts: [UInt8] = [255, 1, 0, 40]
        var seeds: [[UInt8]] = []
        var id: UInt64 = 0
        func frame(_ call: RequestHead.Call, _ body: [UInt8] = [], app: String = "") -> [UInt8] {
            var bytes: [UInt8] = []
            id += 1
            codec.encodeFrame(RequestHead(id: id, call: call, app: app), body: body, into: &bytes)
            return bytes
        }
        for (kind, bytes) in authority.genuine {
            let call = VerifyCall(
                kind: kind, returnsPayloadJSON: true)
            var old = call
            old.returnsVerifyReceiptJSON = true
            seeds.append(cuts + frame(.verify(call), bytes) + frame(.verify(old), bytes))
        }
        seeds.append(cuts + calls.flatMap { frame($0, [1, 2, 3]) })
        let transaction = RequestHead.Call.verify(VerifyCall(kind: .transaction))
        seeds.append(cuts + frame(transaction, app: "none") + frame(.ping))
        seeds.append(
            cuts + (0..<6).flatMap { _ in frame(transaction, authority.genuine(.transaction)) })
        seeds.append(cuts + frame(.health) + Array("GET / HTTP/1.1\r\n\r\n".utf8))
        return seeds
    }
}

/// The server, started once, with limits that an input of a few kilobytes can reach.
final class FuzzServer: Sendable {
    private let authority: FuzzAuthority
    private let endpoint = Locked<Endpoint?>(nil)

    init(_ authority: FuzzAuthority) { self.authority = authority }

    private struct NoLog: LogSink { func write(_ line: String) {} }

    static let limits = {
        var limits = ServerLimits()
        limits.frameBytes = 64 << 10
        limits.headBytes = 512
        limits.jwsBytes = 16 << 10
        limits.streamedReceiptBytes = 600
        limits.requestsInFlight = 4
        limits.evidenceBytesPerConnection = 16 << 10
        limits.framesPerTurn = 3
        // Fuzzers run slowly; timeouts are not under test.
        limits.defaultTimeoutMilliseconds = 30_000
        limits.frameGraceMilliseconds = 600_000
        limits.writeStallMilliseconds = 600_000
        limits.lingerMilliseconds = 600_000
        return limits
    }()

    private func started() -> Endpoint {
        endpoint.withLock { endpoint in
            if let endpoint { return endpoint }
            let path = "/tmp/assay-fuzz-\(SystemClock.monotonicNanoseconds).sock"
            let app = AppEntry(
                verifier: Verifier(trust: authority.trust), policy: FuzzAuthority.policy)
            let configuration = ServerConfiguration(
                listen: [.unix(path: path)], apps: ["": app, "a": app], defaultApp: "a", workers: 2,
                limits: Self.limits, log: NoLog(), clock: { FuzzAuthority.now })
            guard let server = try? Server(configuration), let bound = server.endpoints.first else {
                preconditionFailure("no server")
            }
            endpoint = bound
            return bound
        }
    }

    /// Sends an input whole and cut, and checks the answers. Its first four bytes are the cuts.
    func check(_ bytes: Span<UInt8>) {
        guard bytes.count > 4 else { return }
        let stream = bytes.array(4..<bytes.count)
        let expected = ExpectedAnswers(stream)
        guard expected.complete.count <= 64 else { return }
        let cuts = (0..<4).map { Int(bytes[$0]) * 8 + 1 }
        let whole = answers(to: stream, cuts: [stream.count])
        expected.check(whole, authority)
        let cut = answers(to: stream, cuts: cuts)
        expected.check(cut, authority)
        expected.compare(whole, cut)
    }

    /// Writes the stream in slices, ends it, and reads until the server closes.
    func answers(to stream: [UInt8], cuts: [Int]) -> [FuzzAnswer] {
        let received: [UInt8]
        do {
            let client = try BlockingClient(started())
            var (position, index) = (0, 0)
            while position < stream.count {
                let end = min(position + cuts[index % cuts.count], stream.count)
                // The server can have closed after its final response.
                guard (try? client.send(Array(stream[position..<end]))) != nil else { break }
                (position, index) = (end, index + 1)
            }
            client.finishWriting()
            received = try client.receiveToEnd()
        } catch {
            StandardError.write("the server does not answer: \(error)\n")
            preconditionFailure("the server does not answer")
        }
        if case .fault(.foreign(.http1)) = FrameDecoder(limits: .request).next(in: stream.span) {
            return [FuzzAnswer(http: received)]
        }
        return FuzzAnswer.all(in: received)
    }
}

struct FuzzAnswer: Equatable {
    var head: ResponseHead
    var body: [UInt8]

    /// True for answers that depend on the server's speed and can differ between runs.
    var dependsOnTime: Bool {
        head.status == .deadlineExceeded || head.status == .alreadyExists
            || head.retryAfterMilliseconds > 0
    }

    init(head: ResponseHead, body: [UInt8]) {
        self.head = head
        self.body = body
    }

    /// The last word for a client of HTTP, which gets it in HTTP.
    init(http answer: [UInt8]) {
        precondition(
            answer.starts(with: "HTTP/1.1 400 Bad Request\r\n".utf8), "no answer of HTTP to HTTP")
        self.init(
            head: ResponseHead(
                id: ResponseHead.connectionId, status: .invalidArgument, message: "HTTP"),
            body: [])
    }

    static func all(in bytes: [UInt8]) -> [FuzzAnswer] {
        let decoder = FrameDecoder(limits: .response)
        let codec = MessageCodec()
        var answers: [FuzzAnswer] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let own = Array(rest)
            guard case .frame(let frame) = decoder.next(in: own.span) else {
                preconditionFailure("an answer that is no whole frame")
            }
            guard let head = try? codec.decodeResponse(own.span.extracting(frame.head)) else {
                preconditionFailure("an answer's head does not decode")
            }
            answers.append(FuzzAnswer(head: head, body: Array(own[frame.body])))
            rest = rest.dropFirst(frame.end)
        }
        return answers
    }
}

/// The answers that the stream alone determines.
struct ExpectedAnswers {
    /// The ids of the complete frames that get an answer.
    private(set) var complete: [UInt64] = []
    private var verifications: [UInt64: (call: VerifyCall, app: String, body: [UInt8])] = [:]
    private var resolves: [UInt64: (call: ResolveCall, body: [UInt8])] = [:]
    /// The id of an incomplete frame whose head can already be refused.
    private var canBeRefused: UInt64?
    /// True if the stream ends within a frame or can't continue: the server sends a
    /// connection-level response.
    private var hasFinalAnswer = false

    init(_ stream: [UInt8]) {
        let limits = FuzzServer.limits
        let decoder = FrameDecoder(
            limits: FrameLimits(frameBytes: limits.frameBytes, headBytes: limits.headBytes),
            reportsHeads: true)
        var position = 0
        while position < stream.count {
            let rest = Array(stream[position...])
            switch decoder.next(in: rest.span) {
            case .needMore:
                hasFinalAnswer = true
                return
            case .head(let frame):
                hasFinalAnswer = true
                canBeRefused = Self.head(rest, frame.head).id
                return
            case .frame(let frame):
                note(Self.head(rest, frame.head), Array(rest[frame.body]))
                position += frame.end
            case .fault(let fault):
                guard let skip = fault.skip else {
                    hasFinalAnswer = true
                    return
                }
                complete.append(ResponseHead.connectionId)
                position += skip
                hasFinalAnswer = position > stream.count
            }
        }
    }

    private static func head(
        _ bytes: [UInt8], _ range: Range<Int>
    ) -> (id: UInt64, head: RequestHead?) {
        let head = bytes.span.extracting(range)
        if let decoded = try? MessageCodec().decodeRequest(head) { return (decoded.id, decoded) }
        return (MessageCodec.leadingId(of: head), nil)
    }

    private mutating func note(_ head: (id: UInt64, head: RequestHead?), _ body: [UInt8]) {
        complete.append(head.id)
        if case .verify(let call)? = head.head?.call {
            verifications[head.id] = (call, head.head!.app, body)
        }
        if case .resolve(let call)? = head.head?.call { resolves[head.id] = (call, body) }
    }

    func check(_ answers: [FuzzAnswer], _ authority: FuzzAuthority) {
        var open = complete
        if hasFinalAnswer { open.append(ResponseHead.connectionId) }
        if let canBeRefused, answers.count > open.count { open.append(canBeRefused) }
        precondition(answers.map(\.head.id).sorted() == open.sorted(), "not one answer each")
        for answer in answers { check(answer, authority) }
    }

    private func check(_ answer: FuzzAnswer, _ authority: FuzzAuthority) {
        precondition(answer.head.status != .internal)
        precondition((answer.head.status == .ok) == answer.head.message.isEmpty)
        if case .resolution(let resolution) = answer.head.result {
            return check(answer, resolution, authority)
        }
        guard case .verification(let verification) = answer.head.result else {
            return precondition(answer.body.isEmpty)
        }
        guard complete.count(where: { $0 == answer.head.id }) == 1,
            let asked = verifications[answer.head.id], let kind = asked.call.kind
        else { return }
        // Compares with the library's answer, from a separate verifier that shares no state.
        var direct = authority.verifier.verify(
            asked.body.span, as: kind, policy: FuzzAuthority.policy,
            expecting: asked.call.expectations, inApp: asked.call.inApp, at: FuzzAuthority.now)
        if asked.call.inApp == .all { authority.check(direct) }
        direct.evidence = nil
        var wire = verification
        wire.evidence = nil
        precondition(wire == direct, "over the wire, another answer")
        let returnsEvidence = asked.call.returnsTypedPayload && wire.verdict == .valid
        precondition((verification.evidence != nil) == returnsEvidence)
        if !answer.body.isEmpty {
            precondition((try? JSONDocument.parse(answer.body)) != nil, "a body that is no JSON")
        }
    }

    /// Each item has the library's answer, and the order of the items decides nothing.
    private func check(
        _ answer: FuzzAnswer, _ resolution: Resolution, _ authority: FuzzAuthority
    ) {
        guard complete.count(where: { $0 == answer.head.id }) == 1,
            let asked = resolves[answer.head.id]
        else { return }
        FuzzResolve(call: asked.call, body: asked.body).check(resolution, answer.body, authority)
    }

    /// Compares two sets of answers, except those that depend on time.
    func compare(_ whole: [FuzzAnswer], _ cut: [FuzzAnswer]) {
        guard canBeRefused == nil, Set(complete).count == complete.count else { return }
        for answer in whole where !answer.dependsOnTime {
            let same = cut.filter { $0.head.id == answer.head.id }
            precondition(
                same.contains { $0 == answer || $0.dependsOnTime }, "chunks change the answer")
        }
    }
}

/// Mutates each frame, head and body of a stream separately and keeps the lengths valid.
enum ConnectionMutation {
    static func mutate(
        _ input: [UInt8], _ mutation: inout FuzzMutation, _ authority: FuzzAuthority
    ) -> [UInt8] {
        guard input.count > 4, !mutation.once(in: 16) else { return mutation.usual(input) }
        if mutation.once(in: 16) { return mutation.usual(Array(input[..<4])).prefix4 + input[4...] }
        let stream = FuzzFrame.mutate(input[4...], &mutation) { frame, mutation in
            switch mutation.below(6) {
            case 0, 1: changeHead(&frame, &mutation)
            case 2: frame.body = mutation.element(of: authority.genuine).bytes
            default: changeBody(&frame, &mutation, authority)
            }
        }
        return stream.map { input[..<4] + $0 } ?? mutation.usual(input)
    }

    private static func changeHead(_ frame: inout FuzzFrame, _ mutation: inout FuzzMutation) {
        let codec = MessageCodec()
        guard var head = try? codec.decodeRequest(frame.head.span) else { return }
        switch mutation.below(5) {
        case 0: head.id = UInt64(mutation.below(8))
        case 1: head.app = mutation.element(of: ["", "a", "b"])
        case 2: head.call = mutation.element(of: FuzzTarget.calls)
        case 3: head.timeoutMilliseconds = UInt32(mutation.element(of: [0, 1, 1000, 1 << 31]))
        default:
            var call = VerifyCall(kind: mutation.element(of: EvidenceKind.allCases))
            call.returnsPayloadJSON = mutation.once(in: 2)
            call.returnsVerifyReceiptJSON = mutation.once(in: 2)
            call.returnsTypedPayload = mutation.once(in: 2)
            call.inApp = mutation.element(of: [.all, .latest, .none, .product("gold")])
            head.call = .verify(call)
        }
        frame.head = []
        codec.encode(head, into: &frame.head)
    }

    private static func changeBody(
        _ frame: inout FuzzFrame, _ mutation: inout FuzzMutation, _ authority: FuzzAuthority
    ) {
        if frame.body.first == 0x30 {
            frame.body = DERMutation.mutate(frame.body, &mutation)
        } else {
            frame.body = TokenMutation.mutate(frame.body, &mutation, authority)
        }
    }
}

extension [UInt8] {
    fileprivate var prefix4: [UInt8] { Array((self + [0, 0, 0, 0]).prefix(4)) }
}
