import Assay
package import AssayIO
import AssayLocks
package import AssayMint
import AssayModels

/// A local App Store on a socket, for development and tests.
package final class LocalStoreServer: Sendable {
    /// The address, with the port that the system chose.
    package let endpoint: Endpoint
    private let loop: EventLoop
    private let ended: Mailbox<ProcessSignal>

    /// A customer that is there from the beginning.
    package struct Resident: Sendable {
        package var scenario: Scenario
        package var isSandbox: Bool

        package init(_ scenario: Scenario, isSandbox: Bool) {
            self.scenario = scenario
            self.isSandbox = isSandbox
        }
    }

    /// Opens the store. When this returns, it listens.
    ///
    /// - Parameters:
    ///   - endpoint: an `http` endpoint.
    ///   - allowsAnyAddress: whether other machines may reach it.
    ///   - speed: how much faster than the machine's clock time goes by; 0: it stands still.
    package init(
        _ settings: StoreSettings, at endpoint: Endpoint, allowsAnyAddress: Bool = false,
        residents: [Resident] = [], speed: Double = 0
    ) throws(LocalStoreError) {
        guard case .http = endpoint else { throw .notHTTP }
        guard endpoint.isLocal || allowsAnyAddress else { throw .notLocal }
        var store: LocalStore
        do throws(MintError) { store = try LocalStore(settings) } catch {
            throw .unusable(error.sentence)
        }
        for resident in residents {
            do throws(StoreProblem) {
                try store.add(resident.scenario, resident.isSandbox ? .sandbox : .production)
            } catch {
                throw .unusable(error.reason)
            }
        }
        do throws(LoopError) {
            let loop = try EventLoop(name: "assay-store")
            self.loop = loop
            ended = try Mailbox()
            try loop.start()
            let opened = store
            self.endpoint = try loop.call { () throws(LoopError) in
                let owner = StoreOwner(opened, on: loop)
                let listener = try Listener(on: loop, at: endpoint) { owner.accept($0) }
                if speed > 0 { try owner.run(speed: speed) }
                owner.begin()
                return listener.endpoint
            }
        } catch {
            throw .system(error)
        }
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
        loop.stop()
        loop.join()
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
