import AssayWire
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// A simulated client that speaks a protocol, and keeps the account of its requests.
protocol SimulatedClient: AnyObject {
    var peer: SimulatedPeer { get }
    /// Sends a request.
    func ask(_ question: SimulatedQuestion)
    /// Sends the rest of requests of which a part was sent.
    func goOn()
    /// Gives a request up that is not answered, and goes on with the others.
    func giveUp()
    /// Receives up to a number of bytes, and returns what is wrong with them; nil if nothing.
    func receive(upTo limit: Int) -> String?
    /// Requests without an answer. The server can leave them if it has ended the connection.
    var unanswered: Int { get }
    /// The number of answers.
    var answered: Int { get }
    /// Whether the server's last word was received, after which requests are not answered.
    var hasFinalAnswer: Bool { get }
}

extension SimulatedClient {
    func goOn() {}
    func giveUp() {}
}

/// What a simulated client asks.
enum SimulatedQuestion: CaseIterable {
    case ping, genuine, forged, unknownChain, receipt, resolve, mayWait, tooLate, unknownApp
    case namedApp, fetch, batch

    /// Whether an answer is right. Shortage and the end of the server are right answers to
    /// everything; a verdict has to be the right one.
    func admits(_ outcome: SimulatedOutcome) -> Bool {
        switch (self, outcome) {
        case (.ping, .done), (.resolve, .done), (.fetch, .done), (.batch, .done): true
        case (.ping, _): false
        case (_, .refused(.unavailable)), (_, .refused(.resourceExhausted)),
            (_, .refused(.deadlineExceeded)):
            true
        case (.unknownApp, .refused(.notFound)), (.namedApp, .refused(.notFound)),
            (.fetch, .refused(.notFound)):
            true
        case (.genuine, .verdict(let isValid)), (.namedApp, .verdict(let isValid)),
            (.mayWait, .verdict(let isValid)), (.tooLate, .verdict(let isValid)),
            (.receipt, .verdict(let isValid)):
            isValid
        case (.forged, .verdict(let isValid)), (.unknownChain, .verdict(let isValid)): !isValid
        default: false
        }
    }

    /// The transaction of a Fetch, which decides what the simulated App Store does.
    static func transactionId(_ number: Int) -> String {
        "\(1 + number % SimulatedStore.transactions)"
    }

    /// A Fetch in JSON.
    static func fetch(_ number: Int) -> String {
        #"{"transactionId":"\#(transactionId(number))","timeout":2}"#
    }
}

/// What an answer says, in any protocol.
enum SimulatedOutcome {
    case verdict(isValid: Bool)
    /// The result of another call.
    case done
    case refused(AssayWire.Status)
}

/// Evidence of the questions, made once.
struct SimulatedEvidence {
    let genuine: [UInt8]
    let forged: [UInt8]
    let foreign: [UInt8]
    let receipt: [UInt8]

    /// Requests for a batch.
    var batch: SimulatedBatch { SimulatedBatch(self) }

    static let all = Result { () throws -> SimulatedEvidence in
        let genuine = try Minted.transaction.get()
        return SimulatedEvidence(
            genuine: genuine, forged: Minted.tampered(genuine),
            foreign: try Minted.token(.transaction, by: Minted.foreign.get()),
            receipt: try Minted.receipt(bytes: 20_000))
    }
}

/// A client of frames.
final class SimulatedFrameClient: SimulatedClient {
    let peer: SimulatedPeer
    private let evidence: SimulatedEvidence
    private let codec = MessageCodec()
    private var received: [UInt8] = []
    private var open: [UInt64: SimulatedQuestion] = [:]
    private var lastId: UInt64 = 0
    private(set) var answers: [(question: SimulatedQuestion, status: AssayWire.Status)] = []
    private(set) var hasFinalAnswer = false

    init(_ peer: SimulatedPeer, _ evidence: SimulatedEvidence) {
        self.peer = peer
        self.evidence = evidence
    }

    var unanswered: Int { open.count }
    var answered: Int { answers.count }
    var lastStatus: AssayWire.Status? { answers.last?.status }

    func ask(_ question: SimulatedQuestion) {
        lastId += 1
        let id = lastId
        open[id] = question == .batch ? .genuine : question
        let frame =
            switch question {
            case .ping: RawClient.ping(id)
            // Frames have no batches.
            case .genuine, .batch: RawClient.verify(id, evidence.genuine, timeout: 0)
            case .forged: RawClient.verify(id, evidence.forged, timeout: 0)
            case .unknownChain: RawClient.verify(id, evidence.foreign, timeout: 0)
            case .receipt: RawClient.verify(id, .appReceipt, evidence.receipt, timeout: 0)
            case .resolve:
                RawClient.resolve(
                    id, [(nil, evidence.genuine), (.transaction, evidence.forged)], timeout: 0)
            case .mayWait: RawClient.verify(id, evidence.genuine, timeout: 0, mayWait: true)
            case .tooLate: RawClient.verify(id, evidence.genuine, timeout: 1)
            case .unknownApp: RawClient.verify(id, evidence.genuine, app: "nowhere", timeout: 0)
            case .namedApp: RawClient.verify(id, evidence.genuine, app: "game", timeout: 0)
            case .fetch:
                RawClient.fetch(
                    id, FetchCall(of: SimulatedQuestion.transactionId(Int(id))), timeout: 2_000)
            }
        peer.send(frame)
    }

    func receive(upTo limit: Int) -> String? {
        received += peer.receive(upTo: limit)
        let decoder = FrameDecoder(limits: .response)
        while case .frame(let frame) = decoder.next(in: received.span) {
            defer { received.removeFirst(frame.end) }
            guard let head = try? codec.decodeResponse(Array(received[frame.head]).span) else {
                return "an answer that can't be decoded"
            }
            if let problem = take(head) { return problem }
        }
        return nil
    }

    private func take(_ head: ResponseHead) -> String? {
        guard head.id != 0 else {
            // An announcement, or the last word of the connection.
            if head.status != .ok { hasFinalAnswer = true }
            return nil
        }
        guard let question = open.removeValue(forKey: head.id) else {
            return "an answer to a request that is not open: \(head)"
        }
        answers.append((question, head.status))
        return problem(of: head, to: question)
    }

    private func problem(of head: ResponseHead, to question: SimulatedQuestion) -> String? {
        let outcome: SimulatedOutcome? =
            switch (head.status, head.result) {
            case (.ok, .verification(let answer)):
                .verdict(isValid: answer.verdict == .valid)
            case (.ok, .pong), (.ok, .resolution), (.ok, .fetched): .done
            case (.ok, _): nil
            default: .refused(head.status)
            }
        if let outcome, question.admits(outcome) { return nil }
        return "\(question) was answered with \(head)"
    }
}

extension SimulatedServer {
    /// Connects a client of frames.
    func frameClient() throws -> SimulatedFrameClient {
        SimulatedFrameClient(connect(), try SimulatedEvidence.all.get())
    }

    /// A server with one worker that takes 10 ms per request and has measured that, and a client
    /// of it.
    static func slow(
        _ change: (inout ServerConfiguration) -> Void
    ) throws -> (SimulatedServer, SimulatedFrameClient) {
        let simulated = try SimulatedServer(sliceNanoseconds: 10_000_000) {
            $0.workers = 1
            $0.limits.requestsPerSlice = 1
            change(&$0)
        }
        let client = try simulated.frameClient()
        for _ in 0..<15 { client.ask(.mayWait) }
        simulated.runUntilIdle()
        #expect(client.receive(upTo: .max) == nil && client.unanswered == 0)
        #expect(client.lastStatus == .ok)
        return (simulated, client)
    }
}

/// A client of HTTP/1.1, which pipelines.
final class SimulatedHTTPClient: SimulatedClient {
    let peer: SimulatedPeer
    private let evidence: SimulatedEvidence
    private var received: [UInt8] = []
    private var open: [SimulatedQuestion] = []
    private(set) var answered = 0
    private(set) var hasFinalAnswer = false

    init(_ peer: SimulatedPeer, _ evidence: SimulatedEvidence) {
        self.peer = peer
        self.evidence = evidence
    }

    var unanswered: Int { open.count }

    func ask(_ question: SimulatedQuestion) {
        open.append(question)
        let token = "/v1/verify?kind=transaction"
        let request: [UInt8] =
            switch question {
            case .ping, .resolve: Array(HTTPClient.get("/v1/health").utf8)
            case .genuine, .mayWait: HTTPClient.post(token, evidence.genuine)
            case .namedApp: HTTPClient.post(token + "&app=game", evidence.genuine)
            case .forged: HTTPClient.post(token, evidence.forged)
            case .unknownChain: HTTPClient.post(token, evidence.foreign, chunk: 300)
            case .receipt: HTTPClient.post("/v1/verify?kind=app-receipt", evidence.receipt)
            case .tooLate: HTTPClient.post(token + "&timeout=0.001", evidence.genuine)
            case .unknownApp: HTTPClient.post(token + "&app=nowhere", evidence.genuine)
            case .fetch: HTTPClient.post("/v1/fetch", json: SimulatedQuestion.fetch(answered))
            case .batch:
                HTTPClient.post(
                    SimulatedBatch.path, evidence.batch.body, type: SimulatedBatch.type, chunk: 900)
            }
        peer.send(request)
    }

    func receive(upTo limit: Int) -> String? {
        received += peer.receive(upTo: limit)
        while let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
            let head = String(decoding: received[..<end.lowerBound], as: UTF8.self).lowercased()
            let lines = head.split(separator: "\r\n")
            guard let first = lines.first?.split(separator: " "), first.count > 1,
                first[0] == "http/1.1", let status = Int(first[1])
            else { return "no response: \(head.prefix(60))" }
            let body: String
            if lines.contains("transfer-encoding: chunked") {
                guard let (content, rest) = Self.chunks(received[end.upperBound...]) else {
                    return nil
                }
                (body, received) = (content, Array(rest))
            } else {
                let length = lines.lazy.compactMap { line -> Int? in
                    line.hasPrefix("content-length: ") ? Int(line.dropFirst(16)) : nil
                }.first
                guard let length else { return "a response without a length: \(head)" }
                guard received.count >= end.upperBound + length else { return nil }
                body = String(
                    decoding: received[end.upperBound..<end.upperBound + length], as: UTF8.self)
                received.removeFirst(end.upperBound + length)
            }
            if lines.contains("connection: close") { hasFinalAnswer = true }
            guard !open.isEmpty else {
                return hasFinalAnswer ? nil : "one response too many: \(head)"
            }
            answered += 1
            if let problem = problem(of: status, body, to: open.removeFirst()) { return problem }
        }
        return nil
    }

    /// The content of a chunked body, and what follows it; nil if it has not arrived.
    private static func chunks(
        _ bytes: ArraySlice<UInt8>
    ) -> (content: String, rest: ArraySlice<UInt8>)? {
        var (content, rest): ([UInt8], ArraySlice<UInt8>) = ([], bytes)
        while let line = rest.firstRange(of: [13, 10]) {
            let size = String(decoding: rest[..<line.lowerBound], as: UTF8.self)
            let chunk = rest[line.upperBound...]
            guard let count = Int(size, radix: 16), chunk.count >= count + 2 else { return nil }
            content += chunk.prefix(count)
            rest = chunk.dropFirst(count + 2)
            if count == 0 { return (String(decoding: content, as: UTF8.self), rest) }
        }
        return nil
    }

    private func problem(
        of status: Int, _ body: String, to question: SimulatedQuestion
    ) -> String? {
        let wrong = "\(question) was answered with \(status) \(body.prefix(200))"
        switch status {
        case 503, 504, 429: return nil
        // A body whose deadline has passed before its end.
        case 408 where question == .receipt: return nil
        // A reload can leave less memory than a fetch begins with.
        case 413 where question == .fetch: return nil
        case 408, 413, 400: return hasFinalAnswer ? nil : wrong
        case 404: return question == .unknownApp || question == .fetch ? nil : wrong
        // The client has left: nobody waits for the App Store.
        case 500 where question == .fetch && peer.hasEnded: return nil
        case 200: break
        default: return wrong
        }
        let isValid = body.contains(#""verdict":"VALID""#)
        switch question {
        case .ping, .resolve, .fetch: return nil
        case .batch: return evidence.batch.isAnswered(by: body) ? nil : wrong
        case .genuine, .mayWait, .tooLate, .receipt, .namedApp: return isValid ? nil : wrong
        case .forged, .unknownChain: return isValid ? wrong : nil
        case .unknownApp: return wrong
        }
    }
}

extension RawClient {
    fileprivate static func verify(
        _ id: UInt64, _ token: [UInt8], app: String = "", timeout: UInt32, mayWait: Bool = false
    ) -> [UInt8] {
        verify(id, .transaction, token, app: app, timeout: timeout, mayWait: mayWait)
    }
}
