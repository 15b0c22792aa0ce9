public import AssayIO
public import AssayModels

/// What a server listens on, what it verifies, and within which limits.
public struct ServerConfiguration: Sendable {
    public var listen: [Endpoint]
    /// Listening sockets that the process was started with. All are served, also those that
    /// `listen` does not name.
    public var inherited: [InheritedSocket] = []
    /// Of the files of Unix sockets.
    public var socketAccess = SocketFileAccess()
    /// Users that may use Unix sockets; nil: whoever the file's permissions let connect.
    public var allowedUsers: Set<UInt32>?
    /// What listeners of TLS show and demand; nil: there are none.
    public var tls: TLSContext?
    /// App entries by the names that requests choose them with.
    public var apps: [String: AppEntry]
    /// The entry of requests that name none; nil: such requests are NOT_FOUND.
    public var defaultApp: String?
    /// Threads that verify.
    public var workers: Int
    /// Whether the threads share one processor: then what is quick is verified on the loop's.
    public var hasOneProcessor = Self.availableParallelism == 1
    public var limits: ServerLimits
    /// What Info tells.
    public var version: String
    public var log: any LogSink
    /// Where the server publishes its counts some times a second; nil: nowhere.
    public var monitor: ServerMonitor?
    /// Where its owner shows what is published; here so that a change of it is told.
    public var admin: Endpoint?
    /// The present, as evidence is compared with it.
    public var clock: @Sendable () -> Timestamp

    public init(
        listen: [Endpoint], apps: [String: AppEntry], defaultApp: String? = nil,
        workers: Int = Self.availableParallelism, limits: ServerLimits = ServerLimits(),
        version: String = "", log: any LogSink = StandardErrorLog(),
        clock: @escaping @Sendable () -> Timestamp = Self.systemClock
    ) {
        self.listen = listen
        self.apps = apps
        self.defaultApp = defaultApp
        self.workers = workers
        self.limits = limits
        self.version = version
        self.log = log
        self.clock = clock
    }

    /// One worker for each thread that the machine runs at once: the loop's own needs little.
    public static var availableParallelism: Int { SystemClock.availableParallelism }

    public static let systemClock: @Sendable () -> Timestamp = {
        Timestamp(milliseconds: SystemClock.wallMilliseconds)
    }
}
