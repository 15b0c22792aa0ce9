public import AssayIO
public import AssayModels

/// The addresses, app entries and limits of a server.
public struct ServerConfiguration: Sendable {
    public var listen: [Endpoint]
    /// Listening sockets passed to the process at its start. All are served, including those that
    /// `listen` does not name.
    public var inherited: [InheritedSocket] = []
    /// Access to the files of Unix sockets.
    public var socketAccess = SocketFileAccess()
    /// Users that can connect to Unix sockets; nil to rely on the permissions of the file.
    public var allowedUsers: Set<UInt32>?
    /// The TLS context of TLS listeners; nil if there are none.
    public var tls: TLSContext?
    /// App entries by name.
    public var apps: [String: AppEntry]
    /// The entry for requests that name none; nil to reject them with NOT_FOUND.
    public var defaultApp: String?
    /// Number of worker threads.
    public var workers: Int
    /// Whether there is one processor: then single-signature requests are verified on the loop's
    /// thread.
    public var hasOneProcessor = Self.availableParallelism == 1
    public var limits: ServerLimits
    /// The version reported by Info.
    public var version: String
    public var log: any LogSink
    /// Where the server publishes its state several times a second; nil for nowhere.
    public var monitor: ServerMonitor?
    /// The endpoint of the admin interface. Here so that a reload reports its change.
    public var admin: Endpoint?
    /// The clock that evidence is compared with.
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

    /// The default number of workers: the processors available. The loop's own thread needs
    /// little.
    public static var availableParallelism: Int { SystemClock.availableParallelism }

    public static let systemClock: @Sendable () -> Timestamp = {
        Timestamp(milliseconds: SystemClock.wallMilliseconds)
    }
}
