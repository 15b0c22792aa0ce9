public import AssayIO
public import AssayWire

#if ServerSide
    public import Logging
#endif

/// The settings of a client. The defaults suit a backend and a server in the same network.
public struct ClientOptions: Sendable {
    /// The default timeout of a call. Longer timeouts are reduced to `longestTimeout`.
    public var timeout: Duration
    /// The timeout of one connection attempt.
    public var connectTimeout: Duration
    /// Retries a call once, on a new connection, if the connection was lost before the answer or
    /// if the draining server refused the call. All calls are safe to repeat.
    public var retriesOnce: Bool
    /// Keeps calls waiting, until their deadline, while the server is unreachable. If false,
    /// calls fail with the connection attempt.
    public var waitsForServer: Bool
    /// The maximum number of calls in flight on the connection. Further calls wait. The default
    /// of 256 keeps both ends of a local connection busy: 5 ms of work for a server that answers
    /// 50,000 calls a second.
    public private(set) var inFlightLimit: Int
    /// The maximum number of calls that wait for a connection or for their turn. It is above
    /// normal use and bounds this process's memory when a server hangs.
    public private(set) var waitingLimit: Int
    /// How long a call waits at most for its turn on an open connection, 1 s unless you change
    /// it; nil for its deadline. A call that has waited longer fails with `tooManyWaiting`, and the
    /// server does not learn of it. Above a server's capacity, calls then fail early instead of all
    /// calls late, and the client keeps fewer calls in flight while they queue at the server or it
    /// refuses some. Calls with `mayWait` wait for their deadline.
    public var longestWait: Duration?
    /// The pause before the second consecutive connection attempt. It doubles with each attempt.
    /// A random part of up to half the pause is omitted, so that the clients of a server spread
    /// out.
    public var shortestPause: Duration
    /// The longest pause between attempts.
    public var longestPause: Duration
    /// The size limits of a request. Match the server's limits if those are configured.
    public var requestLimits: FrameLimits
    /// Decodes the evidence in answers. False suits a client that only counts verdicts.
    package var readsEvidence = true
    /// The trusted roots and the client certificate for `tls://` addresses; nil for the system's
    /// roots and no certificate.
    public var tls: TLSContext?
    #if ServerSide
        /// Receives the calls at the level trace, and those without an answer at debug; nothing by
        /// default. A line names no evidence and no customer.
        public var logger = Logger(label: "assay.client") { _ in SwiftLogNoOpLogHandler() }
    #endif

    /// - Precondition: `inFlightLimit` and `waitingLimit` are above 0.
    public init(
        timeout: Duration = .seconds(5), connectTimeout: Duration = .seconds(5),
        retriesOnce: Bool = true, waitsForServer: Bool = false,
        inFlightLimit: Int = ClientOptions.defaultInFlightLimit,
        longestWait: Duration? = ClientOptions.defaultLongestWait, waitingLimit: Int = 65_536,
        shortestPause: Duration = .milliseconds(50), longestPause: Duration = .seconds(2),
        requestLimits: FrameLimits = .request, tls: TLSContext? = nil
    ) {
        precondition(inFlightLimit > 0 && waitingLimit > 0)
        self.timeout = timeout
        self.connectTimeout = connectTimeout
        self.retriesOnce = retriesOnce
        self.waitsForServer = waitsForServer
        self.inFlightLimit = inFlightLimit
        self.longestWait = longestWait
        self.waitingLimit = waitingLimit
        self.shortestPause = shortestPause
        self.longestPause = longestPause
        self.requestLimits = requestLimits
        self.tls = tls
    }

    /// The default of `inFlightLimit`.
    public static let defaultInFlightLimit = 256
    /// The default of `longestWait`.
    public static let defaultLongestWait = Duration.seconds(1)
    /// The longest timeout that a server accepts.
    public static let longestTimeout = Duration.seconds(30)
}

extension Duration {
    /// The duration in milliseconds, rounded up; 0 if negative.
    var milliseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        // A cap of a thousand years prevents overflow.
        let whole = UInt64(min(seconds, 32_000_000_000)) * 1000
        return whole + UInt64((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
