import AssayIO
import AssayService
import AssayTelemetry

/// What a server gets from outside of its loops: connections, and threads for other work.
/// Production has the system's; tests simulate them.
protocol Transport: ServiceThreads {
    /// Listens on an endpoint: on several sockets if the service manager passed several.
    ///
    /// - Parameter onConnection: gets each stream and the index of its socket.
    func listen(
        at endpoint: Endpoint, for server: ServerConfiguration.Fixed, on loop: EventLoop,
        onConnection: @escaping (Stream, Int) -> Void
    ) throws(LoopError) -> [any StreamListener]

    /// Resident memory of the process; nil if it is not known.
    var residentBytes: Int? { get }
}

/// The system's sockets and threads.
struct SystemTransport: Transport {
    func listen(
        at endpoint: Endpoint, for server: ServerConfiguration.Fixed, on loop: EventLoop,
        onConnection: @escaping (Stream, Int) -> Void
    ) throws(LoopError) -> [any StreamListener] {
        guard let name = endpoint.inheritedName else {
            let listener = try Listener(
                on: loop, at: endpoint, access: server.socketAccess, backlog: server.backlog
            ) { onConnection($0, 0) }
            return [listener]
        }
        let sockets = server.sockets(named: name)
        guard !sockets.isEmpty else { throw .notPassed }
        var listeners: [any StreamListener] = []
        for (index, socket) in sockets.enumerated() {
            listeners.append(
                try Listener(
                    on: loop, inheriting: socket, tls: endpoint.isTLS, backlog: server.backlog
                ) { onConnection($0, index) })
        }
        return listeners
    }

    func makeExecutor(
        count: Int, name: String, hasLowPriority: Bool
    ) throws(LoopError) -> any Executor {
        try WorkerPool(count: count, name: name, hasLowPriority: hasLowPriority)
    }

    var residentBytes: Int? { ProcessFacts.ownResidentBytes }

    func startTask(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.detached(priority: .utility, operation: operation)
    }
}
