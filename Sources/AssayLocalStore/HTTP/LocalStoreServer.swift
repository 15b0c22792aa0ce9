import AssayHTTP
package import AssayIO
import AssayLocks
import AssayMint
import AssayModels

/// A local App Store on a socket, for development and tests.
package final class LocalStoreServer: Sendable {
    /// The address, with the port that the system chose.
    package let endpoint: Endpoint
    private let loop: EventLoop
    private let owner: LoopBound<StoreOwner>
    private let ended: Mailbox<ProcessSignal>

    /// A customer that is there from the beginning.
    package struct InitialCustomer: Sendable {
        /// The JSON of its scenario.
        let scenario: [UInt8]
        let environment: APIEnvironment

        package init(_ scenario: [UInt8], isSandbox: Bool) {
            self.scenario = scenario
            environment = isSandbox ? .sandbox : .production
        }
    }

    /// Opens the store. When this returns, it listens.
    ///
    /// - Parameters:
    ///   - endpoint: an `http` endpoint.
    ///   - allowsAnyAddress: whether other machines may reach it.
    ///   - initialCustomers: the customers of a new store; one that is kept has its own.
    ///   - folder: keeps the store for later processes; nil: it is gone with this one.
    ///   - speed: how much faster than the machine's clock time goes by; 0: it stands still.
    package init(
        _ settings: StoreSettings, at endpoint: Endpoint, allowsAnyAddress: Bool = false,
        initialCustomers: [InitialCustomer] = [], folder: String? = nil, speed: Double = 0
    ) throws(LocalStoreError) {
        guard case .http = endpoint else { throw .notHTTP }
        guard endpoint.isLocal || allowsAnyAddress else { throw .notLocal }
        let journal: StoreJournal? =
            if let folder { try StoreJournal(folder, settings) } else { nil }
        let store = try Self.store(settings, initialCustomers, journal)
        let origins = HTTPOriginPolicy(.init(endpoint), hasPages: true)
        do throws(LoopError) {
            let loop = try EventLoop(name: "assay-store")
            self.loop = loop
            ended = try Mailbox()
            try loop.start()
        } catch {
            throw .system(error)
        }
        do throws(LoopError) {
            let loop = loop
            (self.endpoint, owner) = try loop.call { () throws(LoopError) in
                let owner = StoreOwner(store, journal, on: loop)
                let server = HTTPServer(owner, serving: origins, .store)
                let bound = try server.listen(at: endpoint, on: loop)
                if speed > 0 { try owner.run(speed: speed) }
                owner.begin()
                return (bound, LoopBound(owner, to: loop))
            }
        } catch {
            loop.stop()
            loop.join()
            throw .system(error)
        }
    }

    /// Returns the store of the journal, or a new one with these customers if it is empty.
    private static func store(
        _ settings: StoreSettings, _ initialCustomers: [InitialCustomer], _ journal: StoreJournal?
    ) throws(LocalStoreError) -> LocalStore {
        let new: LocalStore
        do throws(MintError) { new = try LocalStore(settings) } catch {
            throw .unusable(error.message)
        }
        let kept = journal?.inputs ?? []
        let added =
            kept.isEmpty
            ? initialCustomers.map { StoreInput.initialCustomer($0.scenario, $0.environment) } : []
        var replay = StoreReplay(new)
        do throws(StoreProblem) {
            for input in kept + added { try replay.take(input) }
        } catch {
            throw .unusable(error.reason)
        }
        do throws(LoopError) {
            for input in added { try journal?.append(input) }
        } catch {
            throw .system(error)
        }
        var store = replay.store
        store.notify(settings.targets)
        return store
    }

    /// Ends the store on SIGTERM and SIGINT: `wait` returns then.
    package func followSignals() throws(LocalStoreError) {
        let ended = ended
        let loop = loop
        do throws(LoopError) {
            for signal in [ProcessSignal.terminate, .interrupt] {
                try loop.call { () throws(LoopError) in
                    _ = try SignalWatcher(signal, on: loop) { ended.put(signal) }
                }
            }
        } catch {
            throw .system(error)
        }
    }

    /// Waits for a signal, then closes the store.
    package func wait() {
        _ = ended.take()
        stop()
    }

    /// Closes all connections and ends the loop.
    package func stop() {
        let owner = owner
        // Fails where the loop has stopped before.
        try? loop.call { () throws(LoopError) in owner.value.noteTime() }
        loop.stop()
        loop.join()
    }
}

extension HTTPServerLimits {
    /// Those of a store, which a backend's tests use over a few connections.
    fileprivate static var store: HTTPServerLimits {
        var limits = HTTPServerLimits()
        limits.connections = LocalStoreLimits.connections
        limits.idleMilliseconds = LocalStoreLimits.idleMilliseconds
        limits.requestMilliseconds = LocalStoreLimits.idleMilliseconds
        return limits
    }
}

/// Why a local store can't be opened.
package enum LocalStoreError: Error, Equatable, Sendable {
    /// The address is not one of HTTP.
    case notHTTP
    /// Other machines could reach the address.
    case notLocal
    /// The authority, the start or a scenario can't be used. Says why.
    case unusable(String)
    /// The system refused.
    case system(LoopError)
}

extension LocalStoreError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notHTTP: "the address must be http://HOST:PORT"
        case .notLocal:
            "other machines can reach the address: write http://127.0.0.1:PORT, or add "
                + "--any-address"
        case .unusable(let reason): reason
        case .system(let error): "\(error)"
        }
    }
}
