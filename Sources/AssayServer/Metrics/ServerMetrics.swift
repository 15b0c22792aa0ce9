package import AssayModels
package import AssayWire

/// The server's counters. Plain numbers used only on the loop's thread: no lock, no atomic
/// operation and no allocation per request.
package struct ServerMetrics: Sendable {
    /// By call, and by call and status.
    private var started = [UInt64](repeating: 0, count: CallLabel.allCases.count)
    private var handled = [UInt64](
        repeating: 0, count: CallLabel.allCases.count * Self.statuses)
    /// By kind, verdict and environment.
    private var verifications = [UInt64](
        repeating: 0, count: Self.kinds * Self.verdicts * EnvironmentLabel.allCases.count)
    private var resolves = [UInt64](repeating: 0, count: ResolveOutcome.allCases.count)
    private var refusals = [UInt64](repeating: 0, count: RefusalLabel.allCases.count)

    /// Nanoseconds of Verify calls, from the last byte of the frame until the answer is in the
    /// output buffer.
    package private(set) var handling = Distribution.times
    /// Nanoseconds of Resolve calls, from the last byte of the frame until the answer is in the
    /// output buffer.
    package private(set) var resolveHandling = Distribution.times
    /// Nanoseconds from the last byte of the frame until a worker takes the request.
    package private(set) var queueDelay = Distribution.times
    package private(set) var batchSizes = Distribution.batchSizes

    package var connectionsAccepted: UInt64 = 0
    /// The part of `connectionsAccepted` that was rejected: the client is not allowed, or does
    /// not use TLS on a TLS listener.
    package var connectionsRefused: UInt64 = 0
    package var framesReceived: UInt64 = 0
    package var framesSent: UInt64 = 0
    /// Chain validations, each for all requests that wait for the same chain.
    package var validatedChains: UInt64 = 0
    /// Connection faults by the reason that the log gives. The reasons are few, and constants of
    /// the source.
    package private(set) var faults: [String: UInt64] = [:]

    // The raw values of the wire begin with 1, or with 0 for a status.
    private static let statuses = Status.allCases.count
    private static let kinds = EvidenceKind.allCases.count
    private static let verdicts = Verdict.allCases.count

    package init() {}
}

// MARK: Counting

extension ServerMetrics {
    mutating func didStart(_ call: CallLabel, count: Int = 1) {
        started[call.rawValue] &+= UInt64(count)
    }

    mutating func didHandle(_ call: CallLabel, _ status: Status, count: Int = 1) {
        handled[call.rawValue * Self.statuses + Int(status.rawValue)] &+= UInt64(count)
    }

    /// Counts requests that got the same answer when they were read.
    mutating func didAnswerAtOnce(_ call: CallLabel, _ answer: ResponseHead, count: Int = 1) {
        didStart(call, count: count)
        didHandle(call, answer.status, count: count)
        if answer.status != .ok { didRefuse(answer, count: count) }
    }

    /// Counts rejected requests, or rejected frames.
    mutating func didRefuse(_ answer: ResponseHead, count: Int = 1) {
        refusals[RefusalLabel(answer).rawValue] &+= UInt64(count)
    }

    /// Counts requests that a worker, or the loop itself, verified in one batch.
    mutating func didVerify(batchOf count: Int) { batchSizes.add(UInt64(count)) }

    /// Counts a verification whose answer was passed to its connection. Times are the monotonic
    /// clock's.
    mutating func didAnswer(_ outcome: Outcome, arrived: UInt64, began: UInt64, now: UInt64) {
        didHandle(.verify, .ok)
        handling.add(now > arrived ? now - arrived : 0)
        queueDelay.add(began > arrived ? began - arrived : 0)
        verifications[Self.place(outcome.kind, outcome.verdict, outcome.environment)] &+= 1
    }

    /// Counts the verification of an item of a Resolve. Times are the monotonic clock's.
    mutating func didVerifyItem(_ outcome: Outcome, arrived: UInt64, began: UInt64) {
        queueDelay.add(began > arrived ? began - arrived : 0)
        verifications[Self.place(outcome.kind, outcome.verdict, outcome.environment)] &+= 1
    }

    /// Counts a Resolve whose answer was passed to its connection.
    mutating func didResolve(_ outcome: ResolveOutcome, arrived: UInt64, now: UInt64) {
        didHandle(.resolve, .ok)
        resolveHandling.add(now > arrived ? now - arrived : 0)
        resolves[outcome.rawValue] &+= 1
    }

    /// Counts an accepted request that ended without a result.
    mutating func didDrop(_ call: CallLabel, _ answer: ResponseHead?) {
        didHandle(call, answer?.status ?? .cancelled)
        if let answer { didRefuse(answer) }
    }

    mutating func didFail(_ reason: StaticString) { faults["\(reason)", default: 0] &+= 1 }

    private static func place(
        _ kind: EvidenceKind, _ verdict: Verdict, _ environment: EnvironmentLabel
    ) -> Int {
        ((Int(kind.rawValue) - 1) * verdicts + Int(verdict.rawValue) - 1)
            * EnvironmentLabel.allCases.count + environment.rawValue
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

    package func verifications(
        _ kind: EvidenceKind, _ verdict: Verdict, _ environment: EnvironmentLabel
    ) -> UInt64 {
        verifications[Self.place(kind, verdict, environment)]
    }

    /// The number of verifications with the given verdict, or with any verdict for nil.
    package func verifications(_ verdict: Verdict? = nil) -> UInt64 {
        var sum: UInt64 = 0
        for kind in EvidenceKind.allCases {
            for each in Verdict.allCases where verdict == nil || verdict == each {
                for environment in EnvironmentLabel.allCases {
                    sum &+= verifications(kind, each, environment)
                }
            }
        }
        return sum
    }

    /// Requests that were rejected for any reason.
    package var refused: UInt64 { refusals.reduce(0, &+) }
}
