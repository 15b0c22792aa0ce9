public import AssayIO
import AssayKeepers
public import AssayModels
import AssayService
import AssaySessions
import AssayTelemetry

/// The configuration of a server: the settings that a reload changes, and those that only a
/// restart changes. The members of both are members of the configuration.
///
/// ```swift
/// var configuration = ServerConfiguration(listen: [endpoint], apps: ["game": entry])
/// configuration.limits.connections = 1_000
/// ```
@dynamicMemberLookup
public struct ServerConfiguration: Sendable {
    /// The settings that a reload replaces, all at once.
    public var reloadable: Reloadable
    /// The settings that only a restart changes.
    public var fixed: Fixed

    /// Creates a configuration with the default values of all other settings.
    public init(
        listen: [Endpoint], apps: [String: AppEntry], defaultApp: String? = nil,
        workers: Int = Self.availableParallelism, limits: ServerLimits = ServerLimits(),
        version: String = "", log: any LogSink = StandardErrorLog(),
        clock: @escaping @Sendable () -> Timestamp = Self.systemClock
    ) {
        reloadable = Reloadable(
            apps: apps, defaultApp: defaultApp, limits: limits, version: version)
        fixed = Fixed(listen: listen, workers: workers, log: log, clock: clock)
    }

    /// A setting that a reload changes.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<Reloadable, Value>) -> Value {
        get { reloadable[keyPath: setting] }
        set { reloadable[keyPath: setting] = newValue }
    }

    /// A setting that only a restart changes.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<Fixed, Value>) -> Value {
        get { fixed[keyPath: setting] }
        set { fixed[keyPath: setting] = newValue }
    }

    /// The default number of workers: the processors available. The thread of the listeners needs
    /// little.
    public static var availableParallelism: Int { SystemClock.availableParallelism }

    /// The clock of the system.
    public static let systemClock = Log.systemClock
}

extension ServerConfiguration {
    /// The settings that a reload replaces, all at once.
    public struct Reloadable: Sendable {
        /// App entries by name.
        public var apps: [String: AppEntry]
        /// The entry for requests that name none; nil to reject them with NOT_FOUND.
        public var defaultApp: String?
        /// Users that can connect to Unix sockets; nil to rely on the permissions of the file.
        public var allowedUsers: Set<UInt32>?
        /// The TLS context of TLS listeners; nil if there are none.
        public var tls: TLSContext?
        /// The settings of the HTTP listeners.
        public var http = HTTPSettings()
        /// Keeps the revocation statuses of the apps' verifiers; nil where no policy uses them.
        public var revocation: RevocationService?
        /// Reads the files with keys of the apps' policies again when they change; nil without any.
        public var keyFiles: KeyFileService?
        /// Writes a line of each answer; nil for none.
        public var audit: AuditService?
        /// Exports a span of each traced request; nil for none.
        public var spans: SpanService?
        /// The limits of memory, time and numbers.
        public var limits: ServerLimits
        /// The version reported by Info.
        public var version: String
    }

    /// The settings that only a restart changes.
    public struct Fixed: Sendable {
        /// The addresses to listen on.
        public var listen: [Endpoint]
        /// Listening sockets passed to the process at its start. All are served, including those
        /// that `listen` does not name.
        public var inherited: [InheritedSocket] = []
        /// Access to the files of Unix sockets.
        public var socketAccess = SocketFileAccess()
        /// Connections that the kernel queues until they are accepted.
        public var backlog = Listener.usualBacklog
        /// Number of workers: threads with an event loop that do everything for their connections.
        public var workers: Int
        /// Threads for work that would keep a worker's sockets waiting; nil for one a worker.
        package var background: Int?
        var backgroundThreads: Int { background ?? workers }
        /// Whether a worker hands all verifications over to the threads for long work. For tests
        /// that hold such a thread while the worker goes on.
        package var handsOver = false
        /// Receives the log.
        public var log: any LogSink
        /// Whether lines at debug level are logged: why a request to verifyReceipt got a status
        /// other than 0.
        public var logsDebug = false
        /// Where the server publishes its state several times a second; nil for nowhere.
        public var monitor: ServerMonitor?
        /// The endpoint of the admin interface. Here so that a reload reports its change, and that
        /// clients leave its connections their descriptors.
        public var admin: Endpoint?
        /// The clock that evidence is compared with.
        public var clock: @Sendable () -> Timestamp
    }
}

extension ServerConfiguration.Fixed {
    /// The names of the settings in the configuration file that differ from `new` and need a
    /// restart. The other members come from the process, not from the file.
    func differences(from new: Self) -> [String] {
        var names: [String] = []
        if new.listen != listen { names.append("listen") }
        if new.backlog != backlog { names.append("backlog") }
        if new.workers != workers { names.append("workers") }
        if new.socketAccess != socketAccess { names.append("unix") }
        if new.admin != admin { names.append("admin") }
        return names
    }

    /// The descriptors that clients leave free, of those that the process can have.
    func reservedDescriptors(of descriptors: Int) -> Int {
        guard admin != nil else { return ServerLimits.reservedDescriptors }
        return ServerLimits.reservedDescriptors
            + ServerLimits.adminConnections(ofDescriptors: descriptors)
    }

    /// All endpoints to listen on, including passed sockets that `listen` does not name.
    var listenOnAll: [Endpoint] {
        var names: [String] = []
        for socket in inherited
        where !isNamed("") && !isNamed(socket.name) && !names.contains(socket.name) {
            names.append(socket.name)
        }
        return listen + names.map { .inherited(name: $0) }
    }

    private func isNamed(_ name: String) -> Bool { listen.contains { $0.inheritedName == name } }

    /// The passed sockets with this name; for an empty name, also those that `listen` does not
    /// name.
    func sockets(named name: String) -> [InheritedSocket] {
        inherited.filter { socket in
            name.isEmpty
                ? socket.name.isEmpty || !isNamed(socket.name)
                : socket.name == name
        }
    }
}
