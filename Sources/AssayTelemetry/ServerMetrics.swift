package import AssayWire

/// The server's counters. Plain numbers used only on the loop's thread: no lock, no atomic
/// operation and no allocation per request.
package struct ServerMetrics: Sendable {
    /// By call, and by call and status.
    private var started = [UInt64](repeating: 0, count: CallLabel.allCases.count)
    private var handled = [UInt64](
        repeating: 0, count: CallLabel.allCases.count * Self.statuses)
    /// The verdicts of each configured app.
    private var verdicts: [VerdictCounts] = []
    /// The indices of the apps in `verdicts`, by name. Counts are not in the dictionary: to change
    /// a value in place allocates memory.
    private var indices: [String: Int] = [:]
    /// The app counted last, which is mostly the next one.
    private var lastApp: (name: String, index: Int)?
    /// The verdicts of apps that a reload removed: part of all verdicts, of no app.
    private var verdictsOfRemovedApps = VerdictCounts()
    private var resolves = [UInt64](repeating: 0, count: ResolveOutcome.allCases.count)
    private var refusals = [UInt64](repeating: 0, count: RefusalLabel.allCases.count)
    package private(set) var appliedReloads: UInt64 = 0
    package private(set) var failedReloads: UInt64 = 0
    /// Whether the last reload was applied. The configuration of the start counts as applied.
    package private(set) var isLastReloadApplied = true

    /// Nanoseconds of Verify calls, from the last byte of the frame until the answer is in the
    /// output buffer.
    package private(set) var handling = Distribution.times
    /// Nanoseconds of Resolve calls, from the last byte of the frame until the answer is in the
    /// output buffer.
    package private(set) var resolveHandling = Distribution.times
    /// Nanoseconds of Fetch calls, from the last byte of the frame until the answer is in the
    /// output buffer.
    package private(set) var fetchHandling = Distribution.times
    /// Nanoseconds from the last byte of the frame until a worker takes the request.
    package private(set) var queueDelay = Distribution.times
    package private(set) var batchSizes = Distribution.batchSizes

    package var connectionsAccepted: UInt64 = 0
    /// The part of `connectionsAccepted` that was rejected: the client is not allowed, or does
    /// not use TLS on a TLS listener.
    package var connectionsRefused: UInt64 = 0
    package var requestsReceived: UInt64 = 0
    package var answersSent: UInt64 = 0
    /// Chain validations, each for all requests that wait for the same chain.
    package var validatedChains: UInt64 = 0
    /// Connection faults by the reason that the log gives. The reasons are few, and constants of
    /// the source.
    package private(set) var faults: [String: UInt64] = [:]

    // The raw values of the wire begin with 1, or with 0 for a status.
    private static let statuses = Status.allCases.count

    package init() {}
}

// MARK: Counting

extension ServerMetrics {
    package mutating func didStart(_ call: CallLabel, count: Int = 1) {
        started[call.rawValue] &+= UInt64(count)
    }

    mutating func didHandle(_ call: CallLabel, _ status: Status, count: Int = 1) {
        handled[call.rawValue * Self.statuses + Int(status.rawValue)] &+= UInt64(count)
    }

    /// Counts requests that got the same answer when they were read.
    package mutating func didAnswerAtOnce(_ call: CallLabel, _ answer: ResponseHead, count: Int = 1)
    {
        didStart(call, count: count)
        didHandle(call, answer.status, count: count)
        if answer.status != .ok { didRefuse(answer, count: count) }
    }

    /// Counts rejected requests, or rejected frames.
    package mutating func didRefuse(_ answer: ResponseHead, count: Int = 1) {
        refusals[RefusalLabel(answer).rawValue] &+= UInt64(count)
    }

    /// Counts requests that a worker, or the loop itself, verified in one batch.
    package mutating func didVerify(batchOf count: Int) { batchSizes.add(UInt64(count)) }

    /// Counts a verification whose answer was passed to its connection. Times are the monotonic
    /// clock's.
    ///
    /// - Parameter exemplar: of its trace; nil for most requests.
    package mutating func didAnswer(
        _ outcome: Outcome, arrived: UInt64, began: UInt64, now: UInt64, _ exemplar: Exemplar?
    ) {
        didHandle(.verify, .ok)
        handling.add(now > arrived ? now - arrived : 0, from: exemplar)
        queueDelay.add(began > arrived ? began - arrived : 0)
        count(outcome)
    }

    /// Counts the verification of an item of a Resolve. Times are the monotonic clock's.
    package mutating func didVerifyItem(_ outcome: Outcome, arrived: UInt64, began: UInt64) {
        queueDelay.add(began > arrived ? began - arrived : 0)
        count(outcome)
    }

    /// Counts a Resolve whose answer was passed to its connection.
    package mutating func didResolve(
        _ outcome: ResolveOutcome, arrived: UInt64, now: UInt64, _ exemplar: Exemplar?
    ) {
        didHandle(.resolve, .ok)
        resolveHandling.add(now > arrived ? now - arrived : 0, from: exemplar)
        resolves[outcome.rawValue] &+= 1
    }

    /// Counts a Fetch whose answer was passed to its connection.
    package mutating func didFetch(arrived: UInt64, now: UInt64, _ exemplar: Exemplar?) {
        didHandle(.fetch, .ok)
        fetchHandling.add(now > arrived ? now - arrived : 0, from: exemplar)
    }

    /// Counts an accepted request that ended without a result. That of a Fetch is mostly the App
    /// Store's, and no refusal of this server.
    package mutating func didDrop(_ call: CallLabel, _ answer: ResponseHead?) {
        didHandle(call, answer?.status ?? .cancelled)
        if let answer, call != .fetch { didRefuse(answer) }
    }

    package mutating func didReload(_ isApplied: Bool) {
        if isApplied { appliedReloads &+= 1 } else { failedReloads &+= 1 }
        isLastReloadApplied = isApplied
    }

    package mutating func didFail(_ reason: StaticString) { faults["\(reason)", default: 0] &+= 1 }

    /// Counts verdicts of these apps from now on, and of no others: labels are the names of the
    /// configuration alone.
    package mutating func follow(_ names: some Sequence<String>) {
        let names = Set(names)
        let before = verdictsByApp
        verdicts = []
        indices = [:]
        lastApp = nil
        for (name, counts) in before {
            if names.contains(name) {
                indices[name] = verdicts.count
                verdicts.append(counts)
            } else {
                verdictsOfRemovedApps.add(counts)
            }
        }
        for name in names where indices[name] == nil {
            indices[name] = verdicts.count
            verdicts.append(VerdictCounts())
        }
    }

    private mutating func count(_ outcome: Outcome) {
        if lastApp?.name != outcome.app {
            lastApp = indices[outcome.app].map { (outcome.app, $0) }
        }
        // A reload can remove the app of an accepted request.
        guard let lastApp else { return verdictsOfRemovedApps.add(outcome) }
        verdicts[lastApp.index].add(outcome)
    }
}

// MARK: Adding

extension ServerMetrics {
    /// Adds what another worker has counted.
    package mutating func add(_ other: ServerMetrics) {
        Self.add(other.started, to: &started)
        Self.add(other.handled, to: &handled)
        Self.add(other.resolves, to: &resolves)
        Self.add(other.refusals, to: &refusals)
        for (name, index) in other.indices {
            if let mine = indices[name] {
                verdicts[mine].add(other.verdicts[index])
            } else {
                // A worker has not applied the reload yet that removed the app.
                verdictsOfRemovedApps.add(other.verdicts[index])
            }
        }
        verdictsOfRemovedApps.add(other.verdictsOfRemovedApps)
        handling.add(other.handling)
        resolveHandling.add(other.resolveHandling)
        fetchHandling.add(other.fetchHandling)
        queueDelay.add(other.queueDelay)
        batchSizes.add(other.batchSizes)
        connectionsAccepted &+= other.connectionsAccepted
        connectionsRefused &+= other.connectionsRefused
        requestsReceived &+= other.requestsReceived
        answersSent &+= other.answersSent
        validatedChains &+= other.validatedChains
        for (reason, count) in other.faults { faults[reason, default: 0] &+= count }
    }

    private static func add(_ counts: [UInt64], to sums: inout [UInt64]) {
        for index in counts.indices { sums[index] &+= counts[index] }
    }
}

// MARK: Reading

extension ServerMetrics {
    package func started(_ call: CallLabel) -> UInt64 { started[call.rawValue] }

    package func handled(_ call: CallLabel, _ status: Status) -> UInt64 {
        handled[call.rawValue * Self.statuses + Int(status.rawValue)]
    }

    package func resolves(_ outcome: ResolveOutcome) -> UInt64 { resolves[outcome.rawValue] }

    package func refused(_ reason: RefusalLabel) -> UInt64 { refusals[reason.rawValue] }

    /// The verdicts of each configured app, ordered by its name.
    package var verdictsByApp: [(app: String, counts: VerdictCounts)] {
        indices.sorted { $0.key < $1.key }.map { ($0.key, verdicts[$0.value]) }
    }

    /// All verdicts since the start, those of apps that are no longer configured included.
    package var allVerdicts: VerdictCounts {
        verdicts.reduce(into: verdictsOfRemovedApps) { $0.add($1) }
    }

    /// Requests that were rejected for any reason.
    package var refused: UInt64 { refusals.reduce(0, &+) }
}
