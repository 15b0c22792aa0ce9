package import AssayIO

/// A server of HTTP/1.1 for requests and answers that fit the memory: the admin listener and the
/// local App Store. Used on its loop's thread.
///
/// The site decides about each request twice: with its head, and with its body.
package final class HTTPServer {
    let site: any HTTPSite
    let origins: HTTPOriginPolicy
    let limits: HTTPServerLimits
    let clock: @Sendable () -> UInt64
    /// Bodies that arrive now.
    var arrivingBodies = 0
    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var listener: Listener?
    private var sweeper: AssayIO.Timer?

    /// - Parameters:
    ///   - clock: nanoseconds, by which connections have their time limits.
    package init(
        _ site: any HTTPSite, serving origins: HTTPOriginPolicy, _ limits: HTTPServerLimits,
        clock: @escaping @Sendable () -> UInt64 = { SystemClock.monotonicNanoseconds }
    ) {
        self.site = site
        self.origins = origins
        self.limits = limits
        self.clock = clock
    }

    /// Starts to listen.
    ///
    /// - Parameter endpoint: a TCP or Unix socket, or the same for HTTP.
    /// - Returns: the endpoint with the port that the system chose.
    package func listen(at endpoint: Endpoint, on loop: EventLoop) throws(LoopError) -> Endpoint {
        let sweeper = try AssayIO.Timer(on: loop)
        do throws(LoopError) {
            let listener = try Listener(on: loop, at: endpoint) { [self] in accept($0) }
            self.listener = listener
            self.sweeper = sweeper
            return listener.endpoint
        } catch {
            sweeper.close()
            throw error
        }
    }

    /// Closes the listener. Open connections go on.
    package func stopListening() {
        listener?.close()
        listener = nil
    }

    private func accept(_ stream: AssayIO.Stream) {
        let connection = HTTPConnection(stream, of: self)
        if connections.isEmpty { startSweeps() }
        connections[ObjectIdentifier(connection)] = connection
        if connections.count >= limits.connections { listener?.pause() }
        connection.begin()
    }

    func didClose(_ connection: HTTPConnection) {
        connections[ObjectIdentifier(connection)] = nil
        if connections.isEmpty, sweeper?.isClosing == false { sweeper?.stop() }
        if listener?.isPaused == true { listener?.resume() }
    }

    private func startSweeps() {
        let period = HTTPServerLimits.sweepMilliseconds
        sweeper?.start(afterMilliseconds: period, everyMilliseconds: period) { [self] in
            closeLateConnections()
        }
    }

    /// Closes connections past a time limit.
    package func closeLateConnections() {
        let now = clock()
        for connection in connections.values { connection.closeIfLate(at: now) }
    }
}
