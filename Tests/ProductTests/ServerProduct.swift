import AssayServer

/// Uses the product AssayServer alone.
final class ServerProduct {
    let address: String
    private let server: Server

    /// Starts a server on a Unix socket.
    init(root: [UInt8], at path: String) throws {
        let trust = try TrustStore.empty.pinning(root, development: false)
        let entry = AppEntry(
            verifier: Verifier(trust: trust), policy: Policy(bundleId: "com.example.game"))
        var limits = ServerLimits()
        limits.connections = 4
        var configuration = ServerConfiguration(
            listen: [Endpoint.unix(path: path)], apps: ["game": entry], defaultApp: "game",
            workers: 1, limits: limits, log: SilentLog())
        configuration.socketAccess = SocketFileAccess()
        configuration.inherited = try InheritedSocket.passed(environment: [:])
        configuration.monitor = ServerMonitor()
        server = try Server(configuration)
        address = server.endpoints.map(\.description).joined()
    }

    /// Returns whether the server answered all accepted requests.
    func stop() -> Bool {
        server.drain()
        let end: ServerEnd = server.wait()
        return end == .drained
    }

    /// Runs the server until the task is cancelled. Returns whether it was drained.
    func run() async -> Bool {
        let events = server.events
        await server.run()
        var last: ServerEvent?
        for await event in events { last = event }
        return last == .ended(.drained)
    }

    /// Returns whether a second server at this address fails, and its error says what to do.
    static func failsAtUsedAddress(root: [UInt8], at path: String) throws -> Bool {
        do {
            _ = try ServerProduct(root: root, at: path)
            return false
        } catch let error as ServerError {
            let reason: ServerError.Reason = error.reason
            return reason == .listenFailed && error.endpoint == .unix(path: path)
                && error.message.hasSuffix("choose another address")
        }
    }

    /// The current time in milliseconds since 1970.
    static var now: Int64 { ServerConfiguration.systemClock().milliseconds }

    /// Returns the file that a TLS context without its files reports.
    static func unreadableFile() -> String? {
        do throws(TLSError) {
            let settings = TLSServerSettings(certificate: "/nonexistent", key: "/nonexistent")
            _ = try TLSContext(server: settings)
            return nil
        } catch {
            return error.reason == .unreadable ? error.file : nil
        }
    }
}

/// A log of the user's own.
struct SilentLog: LogSink {
    func write(_ line: String) {}
}
