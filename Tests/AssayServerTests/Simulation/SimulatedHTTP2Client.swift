import AssayModels
import AssayWire

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// A client of HTTP/2 with requests of gRPC, Connect and JSON, unary calls and streams. It sends
/// some of them in parts, and gives some up.
final class SimulatedHTTP2Client: SimulatedClient {
    private let http2: SimulatedHTTP2Peer
    private let evidence: SimulatedEvidence
    private let world: SimulatedWorld
    private var lastStream: Int32 = -1
    private var open: [Int32: Call] = [:]
    /// Bytes of data that were sent, by stream; 0 for all.
    private var sent: [Int32: Int] = [:]
    private(set) var answered = 0

    private enum Form: CaseIterable { case grpc, connect, json }

    private struct Call {
        let question: SimulatedQuestion
        let form: Form
        /// What is not sent of the request.
        var rest: [UInt8]
        /// Bytes that are sent before `goOn`; nil after it.
        var part: Int?
        var isComplete = false
        /// Whether it ends with the connection alone.
        let isWatch: Bool
    }

    /// A few, so that some of all clients are open at once.
    private static let mostStreams = 20
    private static let largestFrame = 16_384

    init(_ server: SimulatedServer, _ evidence: SimulatedEvidence) {
        http2 = SimulatedHTTP2Peer(server)
        world = server.world
        self.evidence = evidence
    }

    var peer: SimulatedPeer { http2.peer }
    var unanswered: Int { open.values.count { !$0.isWatch } }
    var hasFinalAnswer: Bool { http2.ends.contains { $0.code != 0 } }

    // MARK: Requests

    func ask(_ question: SimulatedQuestion) {
        guard http2.ends.isEmpty, open.count < Self.mostStreams else { return }
        lastStream += 2
        let form = Form.allCases[world.number(below: Form.allCases.count)]
        let isWatch = question == .ping && form == .grpc && world.happens(onceIn: 4)
        let (fields, body) = isWatch ? Self.watch : request(question, form)
        peer.send(HTTP2Bytes.head(lastStream, fields, ends: body.isEmpty))
        let part = world.happens(onceIn: 3) ? world.number(below: body.count + 1) : nil
        open[lastStream] = Call(
            question: question, form: form, rest: body, part: part, isComplete: body.isEmpty,
            isWatch: isWatch)
        sendData()
    }

    private static var watch: (fields: [HTTP2Bytes.Field], body: [UInt8]) {
        (HTTP2Bytes.fields("/grpc.health.v1.Health/Watch"), RPCBytes.frame([]))
    }

    func goOn() {
        for stream in open.keys { open[stream]?.part = nil }
        sendData()
    }

    func giveUp() {
        let streams = open.keys.sorted()
        guard !streams.isEmpty else { return }
        let stream = streams[world.number(below: streams.count)]
        open[stream] = nil
        peer.send(HTTP2Bytes.reset(stream))
    }

    /// Sends what the server's windows admit.
    private func sendData() {
        for stream in open.keys.sorted() {
            while var call = open[stream], !call.isComplete {
                let windows = [(0, 65_535), (stream, Int(http2.settings[4] ?? 65_535))]
                    .map { $1 + http2.windows[$0, default: 0] - sent[$0, default: 0] }
                let most = min(windows[0], windows[1], Self.largestFrame, call.part ?? .max)
                let count = min(most, call.rest.count)
                guard count > 0 else { break }
                call.isComplete = count == call.rest.count
                peer.send(
                    HTTP2Bytes.data(stream, Array(call.rest.prefix(count)), ends: call.isComplete))
                call.rest.removeFirst(count)
                call.part = call.part.map { $0 - count }
                open[stream] = call
                for number in [0, stream] { sent[number, default: 0] += count }
            }
        }
    }

    private func request(
        _ question: SimulatedQuestion, _ form: Form
    ) -> (fields: [HTTP2Bytes.Field], body: [UInt8]) {
        if form == .json || form == .connect && question == .batch { return json(question) }
        let path: String
        var message: [UInt8] = []
        let timeout = question == .tooLate ? 1 : question == .fetch ? 2_000 : 0
        switch question {
        case .ping: path = "/grpc.health.v1.Health/Check"
        case .resolve: (path, message) = ("/assay.v1.Verifier/Resolve", resolve)
        case .fetch: (path, message) = ("/assay.v1.Verifier/Fetch", fetch)
        case .batch: path = "/assay.v1.Verifier/VerifyStream"
        default:
            path = RPCBytes.verify
            let app = question == .unknownApp ? "nowhere" : question == .namedApp ? "game" : nil
            message = RPCBytes.request(
                evidence[question], kind: question == .receipt ? .appReceipt : .transaction,
                app: app)
        }
        if form == .connect {
            let field = ("connect-timeout-ms", "\(timeout)")
            return (
                HTTP2Bytes.fields(
                    path, type: RPCTestForm.proto.rawValue, timeout > 0 ? [field] : []), message
            )
        }
        let body =
            question == .batch
            ? SimulatedBatch.questions.enumerated().flatMap {
                RPCBytes.streamRequest(UInt64($0 + 1), evidence[$1])
            } : RPCBytes.frame(message)
        return (HTTP2Bytes.fields(path, timeout > 0 ? [("grpc-timeout", "\(timeout)m")] : []), body)
    }

    private func json(
        _ question: SimulatedQuestion
    ) -> (fields: [HTTP2Bytes.Field], body: [UInt8]) {
        let (verify, raw) = ("/v1/verify?kind=transaction", "application/octet-stream")
        let (path, type, body): (String, String?, [UInt8]) =
            switch question {
            case .ping: ("/v1/health", nil, [])
            case .receipt: ("/v1/verify?kind=app-receipt", raw, evidence.receipt)
            case .resolve: ("/v1/entitlements", "application/json", evidence.customer)
            case .fetch:
                ("/v1/fetch", "application/json", Array(SimulatedQuestion.fetch(answered).utf8))
            case .batch: (SimulatedBatch.path, SimulatedBatch.type, evidence.batch.body)
            case .tooLate: (verify + "&timeout=0.001", raw, evidence.genuine)
            case .unknownApp: (verify + "&app=nowhere", raw, evidence.genuine)
            case .namedApp: (verify + "&app=game", raw, evidence.genuine)
            case .genuine, .mayWait, .forged, .unknownChain: (verify, raw, evidence[question])
            }
        let method = question == .ping ? "GET" : "POST"
        return (HTTP2Bytes.fields(path, method: method, type: type), body)
    }

    private var resolve: [UInt8] {
        var message = MessageBuilder()
        message.set(10, bytes: [])
        message.set(RPCBytes.evidenceField, bytes: evidence.genuine)
        message.set(RPCBytes.evidenceField, bytes: evidence.forged)
        return message.bytes
    }

    private var fetch: [UInt8] {
        var call = MessageBuilder()
        call.set(1, text: SimulatedQuestion.transactionId(answered))
        var message = MessageBuilder()
        message.set(11, bytes: call.bytes)
        return message.bytes
    }

    // MARK: Answers

    func receive(upTo limit: Int) -> String? {
        http2.read(peer.receive(upTo: limit))
        if http2.hasAnsweredTwice { return "an answer goes on after its end" }
        if let code = http2.ends.map(\.code).first(where: { $0 != 0 }), !peer.hasEnded {
            return "the server ended the connection with code \(code)"
        }
        for stream in open.keys.sorted() {
            guard let call = open[stream] else { continue }
            let answer = http2[stream]
            // Streams that begin after the last one that the server takes.
            let isRefused = http2.ends.last.map { $0.last < stream } ?? false
            guard answer.hasEnded || isRefused else { continue }
            open[stream] = nil
            if call.isWatch { continue }
            answered += 1
            if !isRefused, let problem = problem(of: answer, to: call) { return problem }
        }
        sendData()
        return nil
    }

    private func problem(of answer: SimulatedHTTP2Peer.Answer, to call: Call) -> String? {
        let content =
            call.question == .batch && call.form == .grpc
            ? "\(RPCBytes.streamAnswers(answer))" : "\(answer.text.prefix(200))"
        let wrong = "\(call.question) was answered with \(answer.fields) \(content)"
        if let code = answer.code, code != 0 {
            // REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM.
            return [7, 8, 11].contains(code) ? nil : "\(wrong), and reset with code \(code)"
        }
        let outcome = outcome(answer, call)
        // Health says whether the server accepts requests.
        if call.question == .ping, case .refused = outcome { return nil }
        if call.question == .fetch, peer.hasEnded, case .refused(let status) = outcome {
            // HTTP has no status of its own for it.
            if status == .cancelled || answer.text.contains("CANCELLED") { return nil }
        }
        return call.question.admits(outcome) ? nil : wrong
    }

    private func outcome(_ answer: SimulatedHTTP2Peer.Answer, _ call: Call) -> SimulatedOutcome {
        let message: [UInt8]
        if call.form == .grpc {
            guard answer.grpcStatus == 0 else {
                let status = answer.grpcStatus.flatMap { Status(rawValue: Int32($0)) }
                return .refused(status ?? .unknown)
            }
            if call.question == .batch { return isAnswered(answer) ? .done : .refused(.unknown) }
            message = answer.message
        } else {
            guard answer.status == 200 else { return .refused(Status(ofHTTP: answer.status ?? 0)) }
            message = answer.data
        }
        switch call.question {
        case .ping, .resolve, .fetch: return .done
        case .batch:
            return evidence.batch.isAnswered(by: answer.text) ? .done : .refused(.unknown)
        default: break
        }
        guard call.form == .json else {
            return .verdict(isValid: RPCBytes.verification(message)?.verdict == .valid)
        }
        return .verdict(isValid: answer.text.contains(#""verdict":"VALID""#))
    }

    /// Whether each request of a stream has one answer, and the right one.
    private func isAnswered(_ answer: SimulatedHTTP2Peer.Answer) -> Bool {
        let questions = SimulatedBatch.questions
        let (verdicts, codes) = RPCBytes.streamAnswers(answer)
        guard answer.messages.count == questions.count,
            verdicts.count + codes.count == questions.count
        else { return false }
        return questions.enumerated().allSatisfy { index, question in
            let id = UInt64(index + 1)
            if let code = codes[id] {
                return question.admits(.refused(Status(rawValue: Int32(code)) ?? .unknown))
            }
            return verdicts[id].map { question.admits(.verdict(isValid: $0 == .valid)) } ?? false
        }
    }
}

extension SimulatedEvidence {
    /// The evidence of a question about one item.
    fileprivate subscript(question: SimulatedQuestion) -> [UInt8] {
        switch question {
        case .forged: forged
        case .unknownChain: foreign
        case .receipt: receipt
        default: genuine
        }
    }

    /// The same items as those of a Resolve, in JSON.
    fileprivate var customer: [UInt8] {
        let items = [genuine, forged].map {
            #"{"kind":"transaction","evidence":"\#(String(decoding: $0, as: UTF8.self))"}"#
        }
        return Array(#"{"items":[\#(items.joined(separator: ","))]}"#.utf8)
    }
}
