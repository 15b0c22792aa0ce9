public import AssayIO
public import AssayWire

/// How a client behaves. The defaults suit a backend and its server in one network.
public struct ClientOptions: Sendable {
    /// How long a call may take where it does not say; longer ones are cut to `longestTimeout`.
    public var timeout: Duration
    /// How long one attempt to connect may take.
    public var connectTimeout: Duration
    /// Send a call once more, on a new connection, when its connection was lost before the
    /// answer, or when the server was draining and refused it. All calls can be repeated safely.
    public var retriesOnce: Bool
    /// Calls wait, up to their deadline, for a server that can't be reached at the moment. Off:
    /// they fail with the attempt to connect.
    public var waitsForServer: Bool
    /// Calls in flight on the connection; further ones wait their turn.
    public private(set) var inFlightLimit: Int
    /// Calls waiting for their turn, or for a connection: above what any process should have,
    /// so that a server that stands still does not fill this process's memory.
    public private(set) var waitingLimit: Int
    /// Pause before the second attempt in a row to connect; it doubles from attempt to attempt.
    /// Up to half of a pause is left out at random, so that clients of one server spread.
    public var shortestPause: Duration
    /// The longest pause between attempts.
    public var longestPause: Duration
    /// What a request may be; the server's limits, where they were configured.
    public var requestLimits: FrameLimits
    /// Off: answers come without their evidence, for a client that only counts verdicts.
    package var readsEvidence = true
    /// Whom to trust at `tls://` addresses, and what to show there; nil: whom the system trusts,
    /// and nothing.
    public var tls: TLSContext?

    /// - Precondition: `inFlightLimit` and `waitingLimit` are above 0.
    public init(
        timeout: Duration = .seconds(5), connectTimeout: Duration = .seconds(5),
        retriesOnce: Bool = true, waitsForServer: Bool = false,
        inFlightLimit: Int = RequestLimits.inFlight, waitingLimit: Int = 65_536,
        shortestPause: Duration = .milliseconds(50), longestPause: Duration = .seconds(2),
        requestLimits: FrameLimits = .request, tls: TLSContext? = nil
    ) {
        precondition(inFlightLimit > 0 && waitingLimit > 0)
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.retriesOnce = retriesOnce
        self.waitsForServer = waitsForServer
        self.inFlightLimit = inFlightLimit
        self.waitingLimit = waitingLimit
        self.shortestPause = shortestPause
        self.longestPause = longestPause
        self.requestLimits = requestLimits
        self.tls = tls
    }

    /// The longest that a server lets a call take.
    public static let longestTimeout = Duration.seconds(30)
}

extension Duration {
    /// Rounded up; never negative.
    var milliseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // A thousand years are enough, and do not overflow.
        let whole = UInt64(min(seconds, 32_000_000_000)) * 1000
        return whole + UInt64((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
