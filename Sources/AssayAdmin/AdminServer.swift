import AssayHTTP
package import AssayIO
package import AssayServer

/// Serves the state of the server to operators and their tools: health, metrics and a status
/// page.
///
/// Runs on its own thread and reads what the server publishes. Neither waits for the other.
package final class AdminServer: Sendable {
    /// The listening address, with the port that the system chose.
    package let endpoint: Endpoint
    private let loop: EventLoop
    private let handler: LoopBound<AdminHandler>
    private let server: LoopBound<HTTPServer>
    /// Makes pages that take long.
    private let pages: WorkerPool

    /// - Parameter allowsAnyAddress: Whether other machines can reach the listener. Its answers
    ///   contain no client secrets, but are not meant for the public either.
    /// - Parameter explains: Whether `/explain` verifies evidence and shows why it gets its
    ///   verdict. Explanations are made one at a time, on a thread of their own.
    package convenience init(
        at endpoint: Endpoint, of monitor: ServerMonitor, allowsAnyAddress: Bool = false,
        explains: Bool = false
    ) throws(AdminError) {
        try self.init(
            at: endpoint, of: monitor, allowsAnyAddress: allowsAnyAddress, explains: explains,
            clock: { SystemClock.monotonicNanoseconds })
    }

    /// - Parameters:
    ///   - clock: Nanoseconds, by which connections have their time limit.
    ///   - wrap: Puts a site around that of the server, for tests.
    package init(
        at endpoint: Endpoint, of monitor: ServerMonitor, allowsAnyAddress: Bool = false,
        explains: Bool = false, clock: @escaping @Sendable () -> UInt64,
        around wrap: (AdminSite) -> any AdminPages = { $0 }
    ) throws(AdminError) {
        try Self.check(endpoint, allowsAnyAddress: allowsAnyAddress)
        let site = wrap(AdminSite(monitor: monitor, explains: explains, clock: clock))
        do throws(LoopError) {
            // Verifications go first.
            pages = try WorkerPool(count: 1, name: "assay-pages", hasLowPriority: true)
        } catch {
            throw .system(error)
        }
        do throws(LoopError) {
            loop = try EventLoop(name: "assay-admin")
            try loop.start()
        } catch {
            pages.stop()
            throw .system(error)
        }
        do throws(LoopError) {
            let (loop, pages) = (loop, pages)
            (self.endpoint, handler, server) = try loop.call { () throws(LoopError) in
                let handler = AdminHandler(site, on: loop, by: pages)
                let server = HTTPServer(
                    handler, serving: HTTPOriginPolicy(.init(endpoint), hasPages: true), .admin,
                    clock: clock)
                let bound = try server.listen(at: endpoint, on: loop)
                return (bound, LoopBound(handler, to: loop), LoopBound(server, to: loop))
            }
        } catch {
            loop.stop()
            loop.join()
            pages.stop()
            throw .listen(endpoint, error)
        }
    }

    /// Throws if the endpoint is not a valid address for the admin listener.
    package static func check(
        _ endpoint: Endpoint, allowsAnyAddress: Bool
    ) throws(AdminError) {
        switch endpoint {
        case .tcp, .unix: break
        case .tls, .inherited, .http, .https, .unixHTTP: throw .notOffered(endpoint)
        }
        guard endpoint.isLocal || allowsAnyAddress else { throw .notLocal(endpoint) }
        guard endpoint.isLiteral else { throw .notLiteral(endpoint) }
    }

    /// Closes the listener and all connections. A page that is being made is finished first. Call
    /// it once.
    package func stop() {
        let (handler, server) = (handler, server)
        // Fails only if the loop has stopped before.
        try? loop.call { () throws(LoopError) in
            server.value.stopListening()
            handler.value.stop()
        }
        pages.stop()
        loop.stop()
        loop.join()
    }
}

extension HTTPServerLimits {
    /// Probes and pages for operators. A connection carries one request and lasts ten seconds, and
    /// as long again for the answer to a form.
    static var admin: HTTPServerLimits {
        var limits = HTTPServerLimits()
        limits.connections = ServerLimits.adminConnections(ofDescriptors: Descriptors.limit)
        // A page is for one person.
        limits.bodies = 2
        // A browser's fields take 1 to 2 KB.
        limits.head.headBytes = 8 << 10
        limits.idleMilliseconds = 5_000
        limits.requestMilliseconds = 10_000
        limits.keepsAlive = false
        return limits
    }
}

/// The reason why the admin listener did not start.
package enum AdminError: Error, Equatable, Sendable {
    /// The address is neither `tcp://` nor `unix:`.
    case notOffered(Endpoint)
    /// Other machines could reach the address, and the configuration does not allow that.
    case notLocal(Endpoint)
    /// The address contains a name that needs a lookup.
    case notLiteral(Endpoint)
    case listen(Endpoint, LoopError)
    case system(LoopError)
}

extension AdminError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notOffered(let endpoint):
            "the admin address can't be \(endpoint): write tcp://HOST:PORT or unix:PATH"
        case .notLocal(let endpoint):
            "the admin address \(endpoint) can be reached from other machines: choose a loopback "
                + "address, or allow it (--admin-any-address, or any-address = true in [admin])"
        case .notLiteral(let endpoint):
            "the admin address \(endpoint) has a host name: write a numeric address, or localhost"
        case .listen(let endpoint, let error): "can't listen on \(endpoint): \(error)"
        case .system(let error): "can't start the admin listener: \(error)"
        }
    }
}
