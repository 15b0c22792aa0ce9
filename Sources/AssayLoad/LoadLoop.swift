import AssayClient
import AssayIO
import AssayModels
import AssayWire

/// One thread of a load run: its connections, its share of the rate, and its results.
///
/// `@unchecked Sendable` because only the loop's thread uses it.
final class LoadLoop: @unchecked Sendable {
    private let settings: LoadSettings
    private let index: Int
    private let channels: [Channel]
    private var mix: Mix
    private var schedule: Schedule?
    private var timer: PreciseTimer?
    private var nextChannel = 0

    // Nanoseconds of the monotonic clock.
    private var measuredFrom: UInt64 = 0
    private var measuredUntil: UInt64 = 0

    private var tally: Tally
    /// Results since the last call of `takeGlimpse()`.
    private var glimpse = Glimpse()
    private var inFlight = 0
    private var isSending = true
    /// Connections of a closed loop that pause, until the start or after a failure, ordered by the
    /// end of their pause.
    private var pausing: [(channel: Channel, until: UInt64)] = []

    /// The results of a short interval of the running test.
    struct Glimpse: Sendable {
        var all = GroupTally()
        var lateness = Latencies()
        var inFlight = 0

        mutating func add(_ other: Glimpse) {
            all.add(other.all)
            lateness.add(other.lateness)
            inFlight += other.inFlight
        }
    }

    init(
        _ settings: LoadSettings, _ groups: [LoadGroup], index: Int, loop: EventLoop
    ) throws(LoopError) {
        self.settings = settings
        self.index = index
        tally = Tally(groups: groups.count)
        mix = Mix(groups, index: index, of: settings.threads)
        var options = ClientOptions(
            timeout: settings.timeout, retriesOnce: false, inFlightLimit: settings.depth,
            longestWait: settings.longestWait, waitingLimit: LoadLimits.waiting, tls: settings.tls)
        options.readsEvidence = false
        let connections = (index..<settings.connections).count(every: settings.threads)
        channels = (0..<connections).map { [options] _ in
            Channel(to: settings.endpoint, options: options, on: loop)
        }
        timer = try PreciseTimer(on: loop) { [unowned self] in
            sendDue()
            sendPaused()
        }
    }

    /// Starts the clock at `start`.
    ///
    /// - Precondition: All connections are open.
    func begin(at start: UInt64) {
        measuredFrom = start + settings.warmUp.nanoseconds
        measuredUntil = measuredFrom + settings.duration.nanoseconds
        switch settings.pace {
        case .open(let rate, let arrivals):
            schedule = Schedule(
                rate: rate, arrivals, from: start, index: index, of: settings.threads)
            sendDue()
        case .closed:
            for channel in channels {
                for _ in 0..<settings.depth { pausing.append((channel, start)) }
            }
            timer?.wake(at: start)
        }
    }

    /// Opens the connections before the clock starts.
    func connect(_ done: @escaping @Sendable (ClientError?) -> Void) {
        for channel in channels {
            channel.send(ClientRequest(.ping, timeout: .seconds(5)), id: channel.newId()) {
                if case .failure(let error) = $0 { done(error) } else { done(nil) }
            }
        }
    }

    var connectionCount: Int { channels.count }

    /// Stops sending. Answers to earlier requests still count.
    func stop() {
        guard isSending else { return }
        isSending = false
        measuredUntil = min(measuredUntil, max(clock, measuredFrom))
    }

    func close() {
        stop()
        timer?.close()
        timer = nil
        for channel in channels { channel.close() }
    }

    var isFinished: Bool { !isSending && inFlight == 0 }

    /// Returns the results since the last call.
    func takeGlimpse() -> Glimpse {
        defer { glimpse = Glimpse() }
        glimpse.inFlight = inFlight
        return glimpse
    }

    var measured: (tally: Tally, from: UInt64, until: UInt64) {
        (tally, measuredFrom, measuredUntil)
    }

    // MARK: Sending

    private var clock: UInt64 { SystemClock.monotonicNanoseconds }

    private func sendDue() {
        let now = clock
        while isSending, let due = schedule?.next {
            guard due < measuredUntil else { return stop() }
            guard due <= now else {
                timer?.wake(at: max(due, now + LoadLimits.sendingPeriod))
                return
            }
            schedule?.advance()
            send(on: channels[nextChannel], due: due)
            nextChannel = (nextChannel + 1) % channels.count
        }
    }

    /// Sends on the connections of a closed loop whose pause is over.
    private func sendPaused() {
        let now = clock
        let ready = pausing.prefix { $0.until <= now }
        pausing.removeFirst(ready.count)
        if let next = pausing.first { timer?.wake(at: next.until) }
        for (channel, _) in ready {
            guard isSending, now < measuredUntil else { return stop() }
            send(on: channel, due: now)
        }
    }

    private func send(on channel: Channel, due: UInt64) {
        let (item, group) = mix.take()
        let sent = clock
        let isMeasured = due >= measuredFrom && due < measuredUntil
        if isMeasured {
            tally.groups[group].counts.sent += 1
            tally.lateness.note(sent - due)
        }
        glimpse.all.counts.sent += 1
        glimpse.lateness.note(sent - due)
        inFlight += 1
        let request = ClientRequest(
            item.call, body: item.evidence, app: settings.app, mayWait: settings.mayWait)
        let expected = item.expected
        channel.send(request, id: channel.newId()) { [self] result in
            let outcome = Outcome(result, expected)
            take(outcome, of: group, due: due, isMeasured: isMeasured, from: channel)
        }
    }

    // MARK: Answers

    private func take(
        _ outcome: Outcome, of group: Int, due: UInt64, isMeasured: Bool, from channel: Channel
    ) {
        inFlight -= 1
        let now = clock
        glimpse.all.note(outcome, latency: now - due)
        if isMeasured {
            tally.note(outcome, of: group, latency: now - due)
            tally.lastAnswer = now
        }
        guard case .closed = settings.pace, isSending else { return }
        guard now < measuredUntil else { return stop() }
        switch outcome {
        case .correct, .wrong: send(on: channel, due: now)
        case .refused, .error:
            let until = now + LoadLimits.pauseAfterFailure
            pausing.append((channel, until))
            if pausing.count == 1 { timer?.wake(at: until) }
        }
    }
}

extension Outcome {
    init(_ result: ClientResult, _ expected: Verdict) {
        switch result {
        case .success(let answer):
            self = Self.outcome(of: answer.result, expected)
        case .failure(.status(.resourceExhausted, let message, _, _)):
            self = .refused("RESOURCE_EXHAUSTED: " + message)
        case .failure(.tooManyWaiting): self = .refused(ClientError.tooManyWaiting.description)
        case .failure(let error): self = .error(error.description)
        }
    }

    private static func outcome(
        of result: ResponseHead.CallResult, _ expected: Verdict
    ) -> Outcome {
        let verifications: [Verification]
        switch result {
        case .verification(let verification): verifications = [verification]
        case .resolution(let resolution): verifications = resolution.items.map(\.verification)
        case .fetched(let fetched): verifications = fetched.items.map(\.verification)
        case .none, .health, .info, .pong: verifications = []
        }
        guard let last = verifications.last else { return .error("an answer without a verdict") }
        if let wrong = verifications.dropLast().first(where: { $0.verdict != .valid }) {
            return outcome(wrong, .valid)
        }
        return last.verdict == expected ? .correct : outcome(last, expected)
    }

    private static func outcome(_ wrong: Verification, _ expected: Verdict) -> Outcome {
        .wrong("\(wrong.verdict.name) where \(expected.name) was expected: \(wrong.detail)")
    }
}

extension Range<Int> {
    fileprivate func count(every step: Int) -> Int {
        isEmpty ? 0 : (count + step - 1) / step
    }
}

extension Duration {
    var nanoseconds: UInt64 {
        UInt64(components.seconds) * 1_000_000_000 + UInt64(components.attoseconds / 1_000_000_000)
    }

    package var inSeconds: Double { Double(nanoseconds) / 1e9 }
}
