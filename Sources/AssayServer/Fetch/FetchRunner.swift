import AssayEntitlements
import AssayIO
import AssayModels
import AssayWire

/// Runs the fetches that were admitted, and delivers their answers.
///
/// Owns the tasks, and the memory that they reserve. A task runs on Swift's own threads: neither
/// the loop nor a worker waits for the App Store. Belongs to the loop's thread.
final class FetchRunner {
    private let context: ServerContext
    private let turns: Turns
    private let budget: Budget
    private let codecs: IdleCodecs
    /// Until their tasks have ended, also those that are answered already.
    private var running: [UInt64: Running] = [:]
    private var lastNumber: UInt64 = 0

    private final class Running {
        let connection: Connection
        let admitted: AdmittedFetch
        /// Nanoseconds of the monotonic clock at which the request arrived.
        let arrived: UInt64
        var task: Task<Void, Never>?
        /// Whether it is answered, or dropped.
        var isEnded = false

        init(_ admitted: AdmittedFetch, from connection: Connection) {
            self.admitted = admitted
            self.connection = connection
            arrived = connection.arrived
        }
    }

    init(_ context: ServerContext, _ turns: Turns, _ budget: Budget, codecs: IdleCodecs) {
        self.context = context
        self.turns = turns
        self.budget = budget
        self.codecs = codecs
    }

    /// Whether every fetch is answered or dropped.
    var isIdle: Bool { running.values.allSatisfy(\.isEnded) }

    /// The number of tasks.
    var count: Int { running.count }

    /// Starts a fetch.
    func start(_ admitted: AdmittedFetch, from connection: Connection) {
        context.telemetry.metrics.didStart(.fetch)
        connection.didAdmit(admitted.id)
        budget.give(admitted.cost)
        lastNumber += 1
        let number = lastNumber
        let entry = Running(admitted, from: connection)
        running[number] = entry
        let work = FetchWork(
            admitted, connection.http?.format(of: admitted.id), now: context.now)
        let (codecs, loop, clock) = (codecs, context.loop, context.fixed.clock)
        let runner = LoopBound(self, to: loop)
        entry.task = Task.detached(priority: .utility) {
            let answer = await work.answer(by: codecs, clock)
            loop.post { runner.value.didEnd(number, answer) }
        }
    }

    /// Ends the fetches whose time has passed: a fetcher that ends in time says what it waited for.
    func sweep() {
        for entry in running.values
        where !entry.isEnded
            && entry.admitted.deadline + Self.graceMilliseconds <= context.now
        {
            end(entry, .refused(.fetchTimedOut(entry.admitted.id)))
            entry.task?.cancel()
        }
    }

    /// Time for a fetcher's own answer at the deadline.
    private static let graceMilliseconds: UInt64 = 300

    /// Cancels the fetches of a connection that has closed.
    func cancel(of connection: Connection) {
        for entry in running.values where entry.connection === connection && !entry.isEnded {
            end(entry, nil)
            entry.task?.cancel()
        }
    }

    private func didEnd(_ number: UInt64, _ answer: FetchWork.Answer) {
        guard let entry = running.removeValue(forKey: number) else { return }
        end(entry, answer)
    }

    /// Gives the memory of a fetch back, and answers it, unless it has ended.
    ///
    /// - Parameter answer: nil for a connection that takes none.
    private func end(_ entry: Running, _ answer: FetchWork.Answer?) {
        guard !entry.isEnded else { return }
        entry.isEnded = true
        let (id, connection) = (entry.admitted.id, entry.connection)
        budget.takeBack(entry.admitted.cost)
        connection.didAnswer(id)
        let now = SystemClock.monotonicNanoseconds
        switch connection.isClosed ? nil : answer {
        case .fetched(let frame):
            context.telemetry.metrics.didFetch(arrived: entry.arrived, now: now)
            connection.append(frame[...], to: id)
        case .refused(let refusal):
            context.telemetry.metrics.didHandle(.fetch, refusal.status)
            connection.answer(refusal)
        case nil: context.telemetry.metrics.didHandle(.fetch, .cancelled)
        }
        turns.touch(connection)
    }
}

/// What a fetch needs, on any thread.
struct FetchWork: Sendable {
    private let id: UInt64
    private let app: AppEntry
    private let fetcher: any Fetcher
    private let question: FetchQuestion
    private let returnsTypedPayloads: Bool
    /// How the answer is written for a client of HTTP; nil for a frame.
    private let format: HTTPFormat?

    /// The encoded answer.
    enum Answer: Sendable {
        case fetched([UInt8])
        case refused(ResponseHead)
    }

    init(_ admitted: AdmittedFetch, _ format: HTTPFormat?, now: UInt64) {
        let call = admitted.call
        id = admitted.id
        app = admitted.app
        fetcher = admitted.fetcher
        returnsTypedPayloads = call.returnsTypedPayloads
        self.format = format
        let left = admitted.deadline > now ? admitted.deadline - now : 0
        question = FetchQuestion(
            transactionId: call.transactionId,
            wantsStatuses: call.lists.isEmpty || call.lists.contains(.statuses),
            wantsHistory: call.lists.isEmpty || call.lists.contains(.history), at: call.at,
            policy: call.policy, timeout: .milliseconds(Int64(left)))
    }

    /// Fetches, and encodes the answer.
    func answer(by codecs: IdleCodecs, _ clock: @Sendable () -> Timestamp) async -> Answer {
        let found: FetchAnswer
        do throws(FetchError) {
            found = try await fetcher.fetch(question)
        } catch {
            return .refused(ResponseHead(id: id, error))
        }
        if let format {
            var response: [UInt8] = []
            let json = found.entitlements.json(
                found.items, of: found.environment, revision: found.revision)
            HTTPResponse.append(200, json: json, format, at: clock(), to: &response)
            return .fetched(response)
        }
        let items = found.items.map { item in
            var verification = item.verification
            if !returnsTypedPayloads { verification.evidence = nil }
            return ResolvedItem(label: item.label, verification: verification)
        }
        let result = Fetched(
            environment: found.environment, revision: found.revision, items: items,
            entitlements: found.entitlements)
        var frame: [UInt8] = []
        codecs.lend {
            $0.encodeFrame(ResponseHead(id: id, result: .fetched(result)), into: &frame)
        }
        let count = frame.count - FrameLimits.lengthBytes
        guard count <= FrameLimits.response.frameBytes else {
            return .refused(
                .answerTooLarge(id, count, limit: FrameLimits.response.frameBytes))
        }
        return .fetched(frame)
    }
}

extension ResponseHead {
    init(id: UInt64, _ error: FetchError) {
        let (status, retryAfter): (Status, UInt32) =
            switch error.reason {
            case .keyNotAccepted: (.failedPrecondition, 0)
            case .unknownTransaction: (.notFound, 0)
            case .refused: (.invalidArgument, 0)
            case .rateLimited: (.resourceExhausted, Self.retryElsewhereMilliseconds)
            case .tooLarge: (.resourceExhausted, 0)
            case .unavailable: (.unavailable, Self.retryElsewhereMilliseconds)
            case .deadlineExceeded: (.deadlineExceeded, 0)
            case .notVerified: (.dataLoss, 0)
            case .cancelled: (.cancelled, 0)
            }
        // Whether a retry can help is the reason's to say; how long to wait, the App Store's.
        self.init(
            id: id, status: status, message: error.message,
            retryAfterMilliseconds: retryAfter == 0
                ? 0 : max(error.retryAfterMilliseconds ?? retryAfter, 1),
            appStoreErrorCode: error.appStoreCode)
    }
}
