import Assay
import AssayEntitlements
import AssayIO
import AssayModels
import AssayServer
import AssayWire
import TestSupport

/// An App Store by script.
final class ScriptedFetcher: Fetcher {
    typealias Script = @Sendable (Question) async throws(FetchError) -> CustomerState
    private let script: Script
    private let questions = Locked<[Question]>([])

    /// What the server asked.
    struct Question: Sendable {
        let query: CustomerQuery
        let timeout: Duration
        let hold: @Sendable (_ bytes: Int) async -> Bool
    }

    init(_ script: @escaping Script) { self.script = script }

    func fetch(
        _ query: CustomerQuery, timeout: Duration,
        holding hold: @escaping @Sendable (_ bytes: Int) async -> Bool
    ) async throws(FetchError) -> CustomerState {
        let question = Question(query: query, timeout: timeout, hold: hold)
        questions.withLock { $0.append(question) }
        return try await script(question)
    }

    var asked: [Question] { questions.withLock { $0 } }

    var statistics: FetchStatistics {
        var statistics = FetchStatistics()
        statistics.requests = [.init(endpoint: "history", outcome: "answered", count: 7)]
        statistics.retries = 3
        statistics.rateWaits = 2
        statistics.rateWaitNanoseconds = 1_500_000_000
        return statistics
    }

    /// A customer with one transaction.
    static func answer(_ question: Question) throws(FetchError) -> CustomerState {
        guard let verifier = try? Minted.verifier(), let token = try? Minted.transaction.get()
        else {
            throw FetchError(.unavailable, "nothing was minted")
        }
        let verification = verifier.verify(
            token.span, as: .transaction, policy: Minted.policy, at: Minted.now)
        let items = [EvidenceItem(verification, label: "history 1")]
        return CustomerState(
            environment: .sandbox, revision: "r1", items: items,
            entitlements: Entitlements(
                of: items, at: question.query.at ?? Minted.now,
                policy: question.query.policy))
    }
}

/// Fetches that wait until they are released or cancelled.
final class HeldFetches: Sendable {
    private struct State: Sendable {
        var isReleased = false
        var cancelled = 0
        var waiting: [AsyncStream<Never>.Continuation] = []
    }
    private let state = Locked(State())

    var cancelled: Int { state.withLock { $0.cancelled } }

    func release() {
        let waiting = state.withLock { state in
            state.isReleased = true
            return state.waiting
        }
        for waiter in waiting { waiter.finish() }
    }

    func wait() async throws(FetchError) {
        let (released, waiter) = AsyncStream.makeStream(of: Never.self)
        let isReleased = state.withLock { state in
            state.waiting.append(waiter)
            return state.isReleased
        }
        if isReleased { return }
        // Ends when it is released, or the task is cancelled.
        for await _ in released {}
        let isCancelled = state.withLock { state in
            if !state.isReleased { state.cancelled += 1 }
            return !state.isReleased
        }
        if isCancelled { throw FetchError(.cancelled, "cancelled") }
    }

    var fetcher: ScriptedFetcher {
        ScriptedFetcher { question async throws(FetchError) in
            try await self.wait()
            return try ScriptedFetcher.answer(question)
        }
    }
}

extension ServerConfiguration {
    /// Lets the entry `game` ask this fetcher, and adds one that asks nobody.
    mutating func ask(_ fetcher: any Fetcher, keys: [String] = []) {
        guard let entry = reloadable.apps["game"] else { return }
        reloadable.apps["silent"] = entry
        reloadable.apps["game"] = AppEntry(
            verifier: entry.verifier, policy: entry.policy,
            secrets: AppSecrets(fetchKeys: keys), fetcher: fetcher)
    }
}

extension RawClient {
    static func fetch(
        _ id: UInt64, _ call: FetchCall = FetchCall(of: "470001"), app: String = "",
        timeout: UInt32 = 0, body: [UInt8] = []
    ) -> [UInt8] {
        frame(
            RequestHead(id: id, call: .fetch(call), app: app, timeoutMilliseconds: timeout), body)
    }
}
