import AssayCommandLine
import AssayIO
import AssayServer

/// Reads the configuration again on SIGHUP, on a thread of its own. A file that blocks (a FIFO,
/// a hung mount) delays neither signals nor the end of the process.
final class ConfigurationReloader: Sendable {
    private let server: Server
    private let manager: ServiceManager?
    private let read: @Sendable (ServerConfiguration) throws -> ServerConfiguration
    private let thread: WorkerPool
    private let state: Locked<State>

    private struct State: Sendable {
        var current: ServerConfiguration
        var isReading = false
        /// Another SIGHUP came during the read, so the result can be out of date.
        var isRequestedAgain = false
    }

    /// - Parameter read: makes the new configuration from the current one.
    init(
        _ server: Server, _ current: ServerConfiguration, _ manager: ServiceManager?,
        read: @escaping @Sendable (ServerConfiguration) throws -> ServerConfiguration
    ) throws(LoopError) {
        self.server = server
        self.manager = manager
        self.read = read
        state = Locked(State(current: current))
        thread = try WorkerPool(count: 1, name: "assay-reload")
    }

    /// The configuration that was applied last.
    var current: ServerConfiguration { state.withLock { $0.current } }

    /// Starts a reload, or requests another one after the reload in progress.
    func request() {
        let isFirst = state.withLock { state in
            defer { (state.isReading, state.isRequestedAgain) = (true, state.isReading) }
            return !state.isReading
        }
        guard isFirst else { return }
        manager?.notifyReloading()
        thread.submit { [self] in
            repeat { reload() } while isRequestedAgain()
            if server.isReady { manager?.notifyReady() }
        }
    }

    private func isRequestedAgain() -> Bool {
        state.withLock { state in
            state.isReading = state.isRequestedAgain
            state.isRequestedAgain = false
            return state.isReading
        }
    }

    private func reload() {
        do {
            let new = try read(state.withLock { $0.current })
            try server.reload(new)
            state.withLock { $0.current = new }
        } catch let failure as Failure {
            server.noteFailedReload(failure.reasons)
        } catch {
            server.noteFailedReload(["\(error)"])
        }
    }
}
