import AssayClient
import AssayLoop
import AssayModels
import AssayWire

/// One thread of a run: its connections, its part of the rate, and what came back.
///
/// Belongs to its loop's thread, which is what `@unchecked` stands for.
final class LoadLoop: @unchecked Sendable {
    private let plan: LoadPlan
    private let channels: [Channel]
    private var mix: Mix
    private var schedule: Schedule?
    private var timer: PreciseTimer?
    private var nextChannel = 0

    // Nanoseconds of the monotonic clock.
    private let measuredFrom: UInt64
    private var measuredUntil: UInt64

    private var tally = Tally()
    /// Of everything since the last look.
    private var glimpse = Tally()
    private var inFlight = 0
    private var isSending = true

    init(
        _ plan: LoadPlan, _ groups: [LoadGroup], index: Int, loop: EventLoop, start: UInt64
    ) throws(LoopError) {
        self.plan = plan
        mix = Mix(groups, index: index, of: plan.threads)
        let options = ClientOptions(
            timeout: plan.timeout, retriesOnce: false, inFlightLimit: plan.depth,
            waitingLimit: LoadLimits.waiting)
        let connections = (index..<plan.connections).count(every: plan.threads)
        channels = (0..<connections).map { _ in
            Channel(to: plan.endpoint, options: options, on: loop)
        }
        measuredFrom = start + plan.warmUp.nanoseconds
        measuredUntil = measuredFrom + plan.duration.nanoseconds
        if case .open(let rate, let arrivals) = plan.pace {
            schedule = Schedule(
                rate: rate / Double(plan.threads), arrivals, from: start, seed: UInt64(index))
        }
        timer = try PreciseTimer(on: loop) { [unowned self] in sendDue() }
    }

    /// - Precondition: all connections are there.
    func begin() {
        switch plan.pace {
        case .open: sendDue()
        case .closed:
            for channel in channels {
                for _ in 0..<plan.depth { send(on: channel, due: clock) }
            }
        }
    }

    /// Connects, before the clock runs.
    func connect(_ done: @escaping @Sendable (ClientError?) -> Void) {
        for channel in channels {
            channel.send(ClientRequest(.ping, timeout: .seconds(5)), id: channel.newId()) {
                if case .failure(let error) = $0 { done(error) } else { done(nil) }
            }
        }
    }

    var connectionCount: Int { channels.count }

    /// No further requests; answers to earlier ones are still counted.
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

    /// What was seen since the last call.
    func takeGlimpse() -> (tally: Tally, inFlight: Int) {
        defer { glimpse = Tally() }
        return (glimpse, inFlight)
    }

    var measured: (tally: Tally, from: UInt64, until: UInt64) {
        (tally, measuredFrom, measuredUntil)
    }

    // MARK: Sending

    private var clock: UInt64 { SystemClock.monotonicNanoseconds }

    private func sendDue() {
        while isSending, let due = schedule?.next {
            guard due < measuredUntil else { return stop() }
            guard due <= clock else {
                timer?.wake(at: due)
                return
            }
            schedule?.advance()
            send(on: channels[nextChannel], due: due)
            nextChannel = (nextChannel + 1) % channels.count
        }
    }

    private func send(on channel: Channel, due: UInt64) {
        let item = mix.take()
        let sent = clock
        let isMeasured = due >= measuredFrom && due < measuredUntil
        if isMeasured {
            tally.counts.sent += 1
            tally.lateness.note(sent - due)
        }
        glimpse.counts.sent += 1
        glimpse.lateness.note(sent - due)
        inFlight += 1
        let request = ClientRequest(.verify(item.call), body: item.evidence, app: plan.app)
        let expected = item.expected
        channel.send(request, id: channel.newId()) { [self] result in
            take(result, expected, due: due, isMeasured: isMeasured, from: channel)
        }
    }

    // MARK: Answers

    private func take(
        _ result: ClientResult, _ expected: Verdict, due: UInt64, isMeasured: Bool,
        from channel: Channel
    ) {
        inFlight -= 1
        let now = clock
        note(result, expected, latency: now - due, &glimpse)
        if isMeasured {
            note(result, expected, latency: now - due, &tally)
            tally.lastAnswer = now
        }
        guard case .closed = plan.pace, isSending else { return }
        guard now < measuredUntil else { return stop() }
        // A server that is gone must not be asked as fast as this process can.
        if case .failure = result { return stop() }
        send(on: channel, due: now)
    }

    private func note(
        _ result: ClientResult, _ expected: Verdict, latency: UInt64, _ tally: inout Tally
    ) {
        switch result {
        case .success(let answer):
            guard case .verification(let verification) = answer.result else {
                tally.counts.errors += 1
                return tally.complain("an answer without a verdict")
            }
            guard verification.verdict == expected else {
                tally.counts.wrong += 1
                return tally.complain(
                    "\(verification.verdict.name) where \(expected.name) was expected: "
                        + verification.detail)
            }
            tally.counts.correct += 1
            tally.latencies.note(latency)
        case .failure(let error):
            if error.isRefusal {
                tally.counts.refused += 1
            } else {
                tally.counts.errors += 1
            }
            tally.complain(error.description)
        }
    }
}

extension ClientError {
    /// The server is there, and does not take the request for now.
    fileprivate var isRefusal: Bool {
        switch self {
        case .status(.resourceExhausted, _, let retryAfter),
            .status(.unavailable, _, let retryAfter):
            retryAfter > 0
        default: false
        }
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
