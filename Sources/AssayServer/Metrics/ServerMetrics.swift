package import AssayModels
package import AssayWire

/// What the server counts. Plain numbers that the loop's thread alone touches: no lock, no atomic
/// operation and no memory of its own for a request.
package struct ServerMetrics: Sendable {
    /// By call, and by call and status.
    private var started = [UInt64](repeating: 0, count: CallLabel.allCases.count)
    private var handled = [UInt64](
        repeating: 0, count: CallLabel.allCases.count * Self.statuses)
    /// By kind, verdict and environment.
    private var verifications = [UInt64](
        repeating: 0, count: Self.kinds * Self.verdicts * EnvironmentLabel.allCases.count)
    private var refusals = [UInt64](repeating: 0, count: RefusalLabel.allCases.count)

    /// Nanoseconds of Verify, from the last byte of its frame to its answer's place in the output.
    package private(set) var handling = Distribution.times
    /// Nanoseconds from there to the moment at which a worker takes it.
    package private(set) var queueDelay = Distribution.times
    package private(set) var batchSizes = Distribution.batchSizes

    package var connectionsAccepted: UInt64 = 0
    /// Of them those that were turned away: by a client that is not served, or without TLS where
    /// TLS is spoken.
    package var connectionsRefused: UInt64 = 0
    package var framesReceived: UInt64 = 0
    package var framesSent: UInt64 = 0
    /// Requests that were verified on the thread of unknown chains, each for all that wait for its.
    package var validatedChains: UInt64 = 0
    /// By what was wrong: the reasons that the log gives, which are few and the source's own.
    package private(set) var faults: [String: UInt64] = [:]

    // The raw values of the wire begin with 1, or 0 for a status.
    private static let statuses = Status.allCases.count
    private static let kinds = EvidenceKind.allCases.count
    private static let verdicts = Verdict.allCases.count

    package init() {}
}

// MARK: Counting

extension ServerMetrics {
    mutating func didStart(_ call: CallLabel) { started[call.rawValue] &+= 1 }

    mutating func didHandle(_ call: CallLabel, _ status: Status) {
        handled[call.rawValue * Self.statuses + Int(status.rawValue)] &+= 1
    }

    /// A request that was answered where it was read.
    mutating func didAnswerAtOnce(_ call: CallLabel, _ answer: ResponseHead) {
        didStart(call)
        didHandle(call, answer.status)
        if answer.status != .ok { didRefuse(answer) }
    }

    /// A request, or a frame that is none, whose client is told why it is not carried out.
    mutating func didRefuse(_ answer: ResponseHead) {
        refusals[RefusalLabel(answer).rawValue] &+= 1
    }

    /// A worker, or the loop itself, has verified that many requests in one go.
    mutating func didVerify(batchOf count: Int) { batchSizes.add(UInt64(count)) }

    /// A verification's answer has been given to its connection. Times are the monotonic clock's.
    mutating func didAnswer(_ outcome: Outcome, arrived: UInt64, began: UInt64, now: UInt64) {
        didHandle(.verify, .ok)
        handling.add(now > arrived ? now - arrived : 0)
        queueDelay.add(began > arrived ? began - arrived : 0)
        verifications[Self.place(outcome.kind, outcome.verdict, outcome.environment)] &+= 1
    }

    /// A Verify that was accepted and came to nothing.
    mutating func didDrop(_ answer: ResponseHead?) {
        didHandle(.verify, answer?.status ?? .cancelled)
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

    package func refused(_ reason: RefusalLabel) -> UInt64 { refusals[reason.rawValue] }

    package func verifications(
        _ kind: EvidenceKind, _ verdict: Verdict, _ environment: EnvironmentLabel
    ) -> UInt64 {
        verifications[Self.place(kind, verdict, environment)]
    }

    /// Verifications that ended with that verdict; of all verdicts where none is named.
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

    /// Requests that were not carried out, for whatever reason.
    package var refused: UInt64 { refusals.reduce(0, &+) }
}
