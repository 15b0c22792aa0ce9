import Assay
import AssayBytes
import AssayClient
import AssayIO
import AssayModels
import AssayWire

/// Has a server verify batches. Requests are pipelined on one connection, and marked as willing to
/// wait.
final class RemoteBulk: BulkEngine {
    private let channel: Channel
    private let loop: EventLoop
    private let question: EvidenceQuestion
    private let member: String?
    private let app: String
    private let jobs: BulkJobs
    private let patience: UInt64
    /// The monotonic time of the latest answer, in nanoseconds.
    private let lastAnswer = Locked(SystemClock.monotonicNanoseconds)
    private let lost: @Sendable (String) -> Void

    /// - Parameter lost: called when the server has answered nothing for longer than the timeout.
    init(
        _ server: Endpoint, _ options: ClientOptions, question: EvidenceQuestion,
        member: String?, app: String, jobs: BulkJobs, lost: @escaping @Sendable (String) -> Void
    ) throws(LoopError) {
        loop = try EventLoop(name: "assay-bulk-io")
        try loop.start()
        channel = Channel(to: server, options: options, on: loop)
        patience = UInt64(options.timeout.components.seconds + 1) * 1_000_000_000
        self.question = question
        self.member = member
        self.app = app
        self.jobs = jobs
        self.lost = lost
    }

    func stop() {
        channel.close()
        loop.stop()
        loop.join()
    }

    func verify(_ batch: BulkBatch, _ done: @escaping @Sendable ([BulkAnswer]) -> Void) {
        let (jobs, question) = (jobs, question)
        let answers = RemoteAnswers(count: batch.items.count) { answers in
            // The loop's thread only moves bytes.
            jobs.submit { done(answers.map { $0.answer(to: question) }) }
        }
        for (index, item) in batch.items.enumerated() {
            do throws(BulkFault) {
                let evidence = try item.evidence(member: member)
                let named = question.kind.kind ?? Verifier.likelyKind(of: evidence.span)
                let kind = named ?? .transaction
                let call = VerifyCall(
                    kind: kind, expectations: question.expectations(of: kind),
                    returnsTypedPayload: false, returnsPayloadJSON: true, inApp: question.inApp)
                let request = ClientRequest(
                    .verify(call), body: evidence, app: app, mayWait: true)
                send(request, attempt: 1) { result in
                    answers.set(index, .answered(result, isOfUnknownKind: named == nil))
                }
            } catch {
                answers.set(index, .fault(error))
            }
        }
    }

    /// Sends a request, again while the server says that it can be retried.
    private func send(
        _ request: ClientRequest, attempt: Int, _ done: @escaping @Sendable (ClientResult) -> Void
    ) {
        channel.send(request, id: channel.newId()) { [self] result in
            switch result {
            case .success: lastAnswer.withLock { $0 = SystemClock.monotonicNanoseconds }
            case .failure(let error):
                if let pause = RetryRule.pause(after: error, attempt: attempt) {
                    Task { [self] in
                        try? await Task.sleep(for: .milliseconds(pause))
                        send(request, attempt: attempt + 1, done)
                    }
                    return
                }
                giveUpIfLost(error)
            }
            done(result)
        }
    }

    private func giveUpIfLost(_ error: ClientError) {
        switch error.reason {
        case .connectFailed, .tlsFailed, .connectionLost, .deadlineExceeded:
            let now = SystemClock.monotonicNanoseconds
            if now - lastAnswer.withLock({ $0 }) > patience { lost("\(error)") }
        default: break
        }
    }
}

/// When a request is sent again.
enum RetryRule {
    /// The most that one request is sent: with growing pauses, about 40 s.
    static let attempts = 25
    /// The pause without one from the server, and its upper bound, in milliseconds.
    static let shortestPause: UInt32 = 50
    static let longestPause: UInt32 = 2000

    /// The pause in milliseconds before the next attempt; nil if retrying does not help.
    ///
    /// - Parameter attempt: the number of the attempt that failed, from 1 on.
    static func pause(after error: ClientError, attempt: Int) -> UInt32? {
        guard attempt < attempts else { return nil }
        let own = min(shortestPause << UInt32(min(attempt - 1, 6)), longestPause)
        if error.reason == .connectionLost { return own }
        guard let status = error.status else { return nil }
        let pause = min(max(status.retryAfterMilliseconds, own), longestPause)
        return switch status.code {
        // 0 says that the request can never succeed.
        case .resourceExhausted: status.retryAfterMilliseconds == 0 ? nil : pause
        case .unavailable: pause
        default: nil
        }
    }
}

/// Collects the answers to the requests of one batch.
private final class RemoteAnswers: Sendable {
    enum Answer: Sendable {
        case answered(ClientResult, isOfUnknownKind: Bool)
        case fault(BulkFault)

        func answer(to question: EvidenceQuestion) -> BulkAnswer {
            switch self {
            case .fault(let fault): return .fault(fault)
            case .answered(.failure(let error), _): return .fault(.noAnswer("\(error)"))
            case .answered(.success(let answer), let isOfUnknownKind):
                guard case .verification(let verification) = answer.result else {
                    return .fault(.noAnswer("the server sent an answer to another call"))
                }
                do throws(JSONError) {
                    let report = try VerificationReport(verification, body: answer.body)
                    return .verified(question.finished(report, isOfUnknownKind: isOfUnknownKind))
                } catch {
                    return .fault(
                        .noAnswer("the server sent a payload that is not JSON: \(error)"))
                }
            }
        }
    }

    private let answers: Locked<(left: Int, values: [Answer?])>
    private let done: @Sendable ([Answer]) -> Void

    init(count: Int, done: @escaping @Sendable ([Answer]) -> Void) {
        answers = Locked((count, Array(repeating: nil, count: count)))
        self.done = done
    }

    func set(_ index: Int, _ answer: Answer) {
        let all = answers.withLock { answers -> [Answer]? in
            answers.values[index] = answer
            answers.left -= 1
            return answers.left == 0 ? answers.values.compactMap(\.self) : nil
        }
        if let all { done(all) }
    }
}
