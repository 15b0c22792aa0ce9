public import Assay
import AssayIO
import AssayModels
import Synchronization

/// A client of Apple's App Store Server API for one app. Multiple tasks can use it concurrently and
/// share its rate limits.
///
/// ```swift
/// let key = try StoreKey(file: "key.p8", keyId: "2X9R4HXF34", issuerId: "57246542-…")
/// let client = try AppStoreClient(StoreConfiguration(bundleId: "com.example.game", key: key))
/// for try await page in client.pages(try .history(of: "470001500000001")) { … }
/// ```
///
/// Every signed member of an answer is verified, those of one answer in one batch. An answer with a
/// member that is refused is an error, and nothing of it is returned.
public final class AppStoreClient: Sendable {
    /// The settings.
    public let configuration: StoreConfiguration
    private let verifier: Verifier
    private let transport: any HTTPTransport
    private let clock: StoreClock
    private let tokens: StoreTokenSource
    private let gate = RateGate()
    private let retries: RetryPolicy
    private let counts = Locked(StoreMetrics())
    private let running = Atomic(0)

    /// Creates a client, and loads libcurl. Connects when it has something to send. The verifier
    /// verifies the answers; by default it trusts Apple's roots.
    public convenience init(
        _ configuration: StoreConfiguration, verifier: Verifier = Verifier(trust: .apple)
    ) throws(StoreError) {
        try configuration.check()
        let transport: CurlTransport
        do throws(StoreTransportError) {
            transport = try CurlTransport(
                CurlSettings(
                    proxy: configuration.proxy,
                    certificateAuthorities: configuration.certificateAuthorities))
        } catch {
            throw .transport(error)
        }
        try self.init(configuration, verifier: verifier, transport: transport)
    }

    init(
        _ configuration: StoreConfiguration, verifier: Verifier, transport: any HTTPTransport,
        clock: StoreClock = .system, retries: RetryPolicy = RetryPolicy()
    ) throws(StoreError) {
        try configuration.check()
        self.configuration = configuration
        self.verifier = verifier
        self.transport = transport
        self.clock = clock
        self.retries = retries
        tokens = StoreTokenSource(configuration.key, bundleId: configuration.bundleId)
    }

    deinit { transport.close() }

    /// What the client did so far.
    public var metrics: StoreMetrics { counts.withLock { $0 } }

    /// Closes the connections. Outstanding and later calls fail with `cancelled`.
    public func close() { transport.close() }

    /// Makes a call with one answer. Of a list it is the first page. The timeout is the time of the
    /// call with all its pauses; nil is that of the configuration.
    public func answer(
        to call: StoreCall, timeout: Duration? = nil
    ) async throws(StoreError) -> StoreAnswer {
        let deadline = StoreDeadline(
            after: timeout ?? configuration.timeout, from: clock.monotonic())
        return try await answer(
            to: call, page: nil, in: configuration.environment.environments(for: call), deadline)
    }

    /// Walks through the pages of a list, each verified when it arrives. Holds one page at a time.
    ///
    /// A revision continues a list: the App Store returns what changed since. Every page has one,
    /// also the last. The limit is the most pages, the timeout the time of all; nil is that of the
    /// configuration.
    public func pages(
        _ call: StoreCall, from revision: String? = nil, limit: Int? = nil,
        timeout: Duration? = nil
    ) -> StorePages {
        StorePages(
            client: self, call: call, revision: revision,
            limit: limit ?? configuration.pageLimit, timeout: timeout ?? configuration.timeout)
    }

    func deadline(after timeout: Duration) -> StoreDeadline {
        StoreDeadline(after: timeout, from: clock.monotonic())
    }

    /// The machine's clock.
    var now: Timestamp { Timestamp(milliseconds: clock.wall()) }

    // MARK: Environments

    /// Asks one environment after the other, until one knows the app and the transaction.
    func answer(
        to call: StoreCall, page: String?, in environments: [StoreEnvironment],
        _ deadline: StoreDeadline
    ) async throws(StoreError) -> StoreAnswer {
        #if ServerSide
            try await observed(call) { () async throws(StoreError) -> StoreAnswer in
                try await ask(call, page: page, in: environments, deadline)
            }
        #else
            try await ask(call, page: page, in: environments, deadline)
        #endif
    }

    private func ask(
        _ call: StoreCall, page: String?, in environments: [StoreEnvironment],
        _ deadline: StoreDeadline
    ) async throws(StoreError) -> StoreAnswer {
        let waiting = running.wrappingAdd(1, ordering: .relaxed).newValue
        defer { running.wrappingSubtract(1, ordering: .relaxed) }
        guard waiting <= StoreLimits.waitingRequests else { throw .tooManyWaiting }
        try call.check(environments)
        var before: StoreRefusal?
        for (index, environment) in environments.enumerated() {
            do throws(StoreError) {
                return try await answer(to: call, page: page, environment, deadline)
            } catch {
                guard let refusal = error.refusal else { throw error }
                let all = before?.followed(by: refusal) ?? refusal
                guard refusal.namesOtherEnvironment, index < environments.count - 1 else {
                    throw .refused(all)
                }
                before = all
            }
        }
        preconditionFailure("a call has at least one environment")
    }

    // MARK: Attempts

    private func answer(
        to call: StoreCall, page: String?, _ environment: StoreEnvironment,
        _ deadline: StoreDeadline
    ) async throws(StoreError) -> StoreAnswer {
        var attempt = 1
        var hasFreshToken = false
        while true {
            try await waitForRate(call, environment, deadline)
            let token = try tokens.token(at: clock.wall() / 1000)
            let failure: StoreError
            do throws(StoreError) {
                return try await attempted(call, page, environment, token, deadline)
            } catch {
                failure = error
            }
            if failure.refusal?.httpStatus == 401, !hasFreshToken,
                token.madeAt < clock.wall() / 1000
            {
                // The clock may have been set right since the token was made.
                hasFreshToken = true
                tokens.discard(token)
                continue
            }
            let now = now
            let left = deadline.left(at: clock.monotonic())
            closeRate(after: failure, call, environment)
            switch retries.decision(
                after: failure, attempt: attempt, isRepeatable: call.isRepeatable, now: now,
                left: left / 1_000_000, chance: clock.chance())
            {
            case .giveUp: throw failure
            case .tooLate where attempt == 1 && failure.isRateLimit: throw failure
            case .tooLate: throw .deadlineExceeded("the last attempt: \(failure)")
            case .retry(let pause):
                counts.withLock { $0.retries += 1 }
                #if ServerSide
                    noteRetry(of: call, after: pause)
                #endif
                try await sleep(pause * 1_000_000)
            }
            attempt += 1
        }
    }

    private func attempted(
        _ call: StoreCall, _ page: String?, _ environment: StoreEnvironment, _ token: StoreToken,
        _ deadline: StoreDeadline
    ) async throws(StoreError) -> StoreAnswer {
        let left = deadline.left(at: clock.monotonic()) / 1_000_000
        guard left > 0 else { throw .deadlineExceeded("no time is left for the request") }
        let request = TransportRequest(
            method: call.method,
            url: configuration.baseURL(of: environment) + call.target(page: page),
            token: token.text, body: call.body, contentType: call.contentType, timeout: left)
        let received: TransportAnswer
        do throws(StoreTransportError) {
            received = try await transport.send(request)
        } catch {
            if case .cancelled = error { throw .cancelled }
            count(call, .transport)
            throw .transport(error)
        }
        let now = now
        guard (200...299).contains(received.status) else {
            let refusal = ErrorBody.refusal(received, in: environment, at: now)
            count(call, refusal.outcome)
            throw .refused(refusal)
        }
        do throws(StoreError) {
            let answer = try StoreAnswer(
                received.body, to: call, in: environment, configuration, verifier,
                at: configuration.moment ?? now)
            count(call, .answered)
            return answer
        } catch {
            count(call, error.reason == .unverified ? .unverified : .malformed)
            throw error
        }
    }

    private func count(_ call: StoreCall, _ outcome: StoreMetrics.Outcome) {
        counts.withLock { $0.note(call.name, outcome) }
        #if ServerSide
            note(outcome, of: call)
        #endif
    }

    // MARK: Time

    private func waitForRate(
        _ call: StoreCall, _ environment: StoreEnvironment, _ deadline: StoreDeadline
    ) async throws(StoreError) {
        let now = clock.monotonic()
        let wait = gate.reserve(
            call.callClass, in: environment, at: now, left: deadline.left(at: now))
        guard let wait else {
            throw .deadlineExceeded(
                "the rate limit of \(call.name) in \(environment) allows the next request later")
        }
        guard wait > 0 else { return }
        counts.withLock { $0.noteWait(wait) }
        try await sleep(wait)
    }

    /// After 429 the other calls of the class wait as well.
    private func closeRate(
        after failure: StoreError, _ call: StoreCall, _ environment: StoreEnvironment
    ) {
        guard let time = failure.refusal?.retryAt else { return }
        let wait = max(time.milliseconds.subtractingReportingOverflow(clock.wall()).0, 0)
        // A day bounds what a wrong clock on either side can cost.
        let bounded = UInt64(min(wait, 86_400_000)) * 1_000_000
        gate.close(call.callClass, in: environment, until: clock.monotonic() + bounded)
    }

    private func sleep(_ nanoseconds: UInt64) async throws(StoreError) {
        do {
            try await clock.sleep(nanoseconds)
        } catch {
            throw .cancelled
        }
    }
}

extension StoreRefusal {
    /// Whether the other environment can answer: it knows the transaction, or, after a 401, the
    /// app. Production answers 401 for an app that has no release there, which is how TestFlight
    /// and App Review meet it first.
    fileprivate var namesOtherEnvironment: Bool {
        code == Self.transactionNotFound || isUnauthorized
    }
}

extension StoreError {
    fileprivate var isRateLimit: Bool { refusal?.httpStatus == 429 }
}
