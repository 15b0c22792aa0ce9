import AssayLocks

/// The pool of batch verifiers of one `Verifier`. Each is used by one thread at a time; the pool
/// grows to the number of concurrent threads and keeps `Limits.idleBatchVerifiers` idle ones.
package final class ES256Verifiers: Sendable {
    package let tables: KeyTables
    private let engine: EngineInUse
    private let idle = Locked<[ES256BatchVerifier]>([])

    package init(tables: KeyTables, engine: EngineInUse = EngineInUse()) {
        self.tables = tables
        self.engine = engine
    }

    package func withVerifier<Result>(_ body: (ES256BatchVerifier) -> Result) -> Result {
        let verifier = take()
        let result = body(verifier)
        verifier.clear()
        giveBack(verifier)
        return result
    }

    func take() -> ES256BatchVerifier {
        idle.withLock { $0.popLast() } ?? ES256BatchVerifier(tables: tables, engine: engine)
    }

    /// - Parameter verifier: a clear one.
    func giveBack(_ verifier: ES256BatchVerifier) {
        idle.withLock { idle in
            if idle.count < Limits.idleBatchVerifiers { idle.append(verifier) }
        }
    }
}
