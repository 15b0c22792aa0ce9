import AssayClient
import AssayIO

/// One thread of a load run: its connections, its share of the rate, and its results.
///
/// `@unchecked Sendable` because only the loop's thread uses it.
final class LoadLoop: @unchecked Sendable {
    private let settings: LoadSettings
    /// The settings' timeout in nanoseconds.
    private let timeout: UInt64
    private let index: Int
    private let groups: [LoadGroup]
    private let prepared: PreparedRequests
    private var links: [any LoadLink] = []
    /// Links that have requests to write at the end of the turn.
    private var unwritten: [any LoadLink] = []
    private var turnEnd: TurnEnd?
    private var expiry: Timer?
    private var mix: Mix
    private var schedule: Schedule?
    private var timer: PreciseTimer?
    private var nextLink = 0

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
    private var pausing: [(link: any LoadLink, until: UInt64)] = []

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
        _ settings: LoadSettings, _ groups: [LoadGroup], _ prepared: PreparedRequests, index: Int,
        loop: EventLoop
    ) throws(LoopError) {
        self.settings = settings
        timeout = settings.timeout.nanoseconds
        self.index = index
        tally = Tally(groups: groups.count)
        mix = Mix(groups, index: index, of: settings.threads)
        self.groups = groups
        self.prepared = prepared
        let connections = (index..<settings.connections).count(every: settings.threads)
        for _ in 0..<connections { links.append(makeLink(on: loop)) }
        timer = try PreciseTimer(on: loop) { [unowned self] in
            sendDue()
            sendPaused()
        }
        turnEnd = try TurnEnd(on: loop) { [unowned self] in flush() }
        let expiry = try Timer(on: loop)
        self.expiry = expiry
        let period = LoadLimits.expiryMilliseconds
        expiry.start(afterMilliseconds: period, everyMilliseconds: period) { [unowned self] in
            let now = clock
            for link in links { link.expire(at: now) }
        }
    }

    private func makeLink(on loop: EventLoop) -> any LoadLink {
        switch settings.loadProtocol.framing {
        case .frames: FrameLink(settings, on: loop, owner: self)
        case .http1: HTTP1Link(settings, prepared, on: loop, owner: self)
        case .http2: HTTP2Link(settings, prepared, on: loop, owner: self)
        case .stream: RPCStreamLink(settings, prepared, on: loop, owner: self)
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
            for link in links {
                for _ in 0..<settings.depth { pausing.append((link, start)) }
            }
            timer?.wake(at: start)
        }
    }

    /// Opens the connections before the clock starts.
    func connect(_ done: @escaping @Sendable (ClientError?) -> Void) {
        for link in links { link.open(done) }
    }

    var connectionCount: Int { links.count }

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
        turnEnd?.close()
        turnEnd = nil
        expiry?.close()
        expiry = nil
        for link in links { link.close() }
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
            send(on: links[nextLink], due: due)
            nextLink = (nextLink + 1) % links.count
        }
    }

    /// Sends on the connections of a closed loop whose pause is over.
    private func sendPaused() {
        let now = clock
        let ready = pausing.prefix { $0.until <= now }
        pausing.removeFirst(ready.count)
        if let next = pausing.first { timer?.wake(at: next.until) }
        for (link, _) in ready {
            guard isSending, now < measuredUntil else { return stop() }
            send(on: link, due: now)
        }
    }

    private func send(on link: any LoadLink, due: UInt64) {
        let (group, item) = mix.next()
        let sent = clock
        let isMeasured = due >= measuredFrom && due < measuredUntil
        if isMeasured {
            tally.groups[group].counts.sent += 1
            tally.lateness.note(sent - due)
        }
        glimpse.all.counts.sent += 1
        glimpse.lateness.note(sent - due)
        inFlight += 1
        link.send(
            Ticket(
                group: group, item: item, due: due, deadline: sent + timeout,
                isMeasured: isMeasured))
    }

    /// The item of a request.
    func item(of ticket: Ticket) -> LoadItem { groups[ticket.group].items[ticket.item] }

    /// Has a link's `flush` called at the end of the turn.
    func flushLater(_ link: any LoadLink) { unwritten.append(link) }

    private func flush() {
        guard !unwritten.isEmpty else { return }
        for link in unwritten { link.flush() }
        unwritten.removeAll(keepingCapacity: true)
    }

    // MARK: Answers

    /// Takes the outcome of a request that `link` has sent.
    func take(_ outcome: CallOutcome, of ticket: Ticket, from link: any LoadLink) {
        inFlight -= 1
        let now = clock
        let latency = now - ticket.due
        glimpse.all.note(outcome, latency: latency)
        if ticket.isMeasured {
            tally.note(outcome, of: ticket.group, latency: latency)
            tally.lastAnswer = now
        }
        guard case .closed = settings.pace, isSending else { return }
        guard now < measuredUntil else { return stop() }
        switch outcome {
        case .correct, .wrong: send(on: link, due: now)
        case .refused, .error:
            let until = now + LoadLimits.pauseAfterFailure
            pausing.append((link, until))
            if pausing.count == 1 { timer?.wake(at: until) }
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
