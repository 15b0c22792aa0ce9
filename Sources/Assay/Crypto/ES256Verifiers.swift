import AssayLocks

/// The batch verifiers of one `Verifier`: as many as threads ever verified at once, each lent to
/// one at a time.
package final class ES256Verifiers: Sendable {
    package let tables: KeyTables
    private let idle = Locked<[ES256BatchVerifier]>([])

    package init(tables: KeyTables) { self.tables = tables }

    package func withVerifier<Result>(_ body: (ES256BatchVerifier) -> Result) -> Result {
        let verifier =
            idle.withLock { $0.popLast() } ?? ES256BatchVerifier(tables: tables)
        let result = body(verifier)
        verifier.clear()
        idle.withLock { idle in
            if idle.count < Limits.idleBatchVerifiers { idle.append(verifier) }
        }
        return result
    }
}
