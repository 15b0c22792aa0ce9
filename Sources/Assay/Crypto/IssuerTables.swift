import AssayLocks
import Synchronization

/// Decides which keys that sign certificates get a table, and when. Verifies their signatures.
///
/// These are keys of pinned roots, and of intermediates that a pinned root's signature has
/// validated. So nobody but the owner of a pinned root's key can have a table built. A table lives
/// as long as its key.
package final class IssuerTables: Sendable {
    private struct State {
        /// The keys that have a table or are to get one.
        var holders: [WeakKey] = []
        /// Those without a table yet.
        var pending: [WeakKey] = []
    }

    private let state = Locked(State())
    /// Lets `hasPending` answer without a lock.
    private let pendingCount = Atomic<Int>(0)
    private let building: KeyTableBuilding
    private let engine: EngineInUse
    private let build: Builder

    /// Builds a table; returns nil if that is impossible.
    package typealias Builder = @Sendable (PublicKey) -> IssuerTable?

    /// - Parameter engine: with OpenSSL as the engine no table is built or used.
    package init(_ building: KeyTableBuilding, engine: EngineInUse, build: Builder? = nil) {
        self.building = building
        self.engine = engine
        self.build = build ?? { IssuerTable($0, engine: engine.chosen) }
    }

    /// Tables that are never built.
    package static var none: IssuerTables {
        IssuerTables(.never, engine: EngineInUse(.openssl))
    }

    /// The number of tables that exist or are requested.
    package var tables: Int { state.withLock { $0.holders.count { $0.key != nil } } }

    package var hasPending: Bool { pendingCount.load(ordering: .relaxed) > 0 }

    /// Requests the table of a pinned root's key at once where another thread builds it. Otherwise
    /// waits for its signatures: a process that verifies one token needs no table.
    package func didPin(_ key: PublicKey) {
        if building == .onRequest { request(key) }
    }

    /// Counts a signature that a trusted key verifies. Where another thread builds the tables, the
    /// second one requests the table. Not the first one: an intermediate with one leaf needs none.
    package func noteUse(of key: PublicKey) {
        guard building != .never, key.issuerTable == nil else { return }
        let uses = key.countUses(1).newValue
        // Asks again after as many signatures, in case all slots were taken.
        if uses % Limits.issuerTableUses == 0 || building == .onRequest && uses == 2 {
            request(key)
        }
    }

    /// Verifies a DER signature over a message: by the key's table if it has one, and without a
    /// table on P-384 once the engine has passed its self-test. Otherwise EVP verifies. The answers
    /// are the same.
    package func verifies(
        _ signature: Span<UInt8>, over message: Span<UInt8>, digest: ECDSADigest,
        by key: PublicKey
    ) -> Bool {
        let table = key.issuerTable
        guard engine.current != .openssl, table != nil || engine.hasPassedSelfTest
        else {
            return key.verifiesECDSA(signature, over: message, digest: digest)
        }
        let octets = digest.digest(message)
        let answer =
            if let table {
                table.verifies(signature, overDigest: octets.span)
            } else {
                key.verifiesWithoutTable(signature, overDigest: octets.span)
            }
        guard let holds = answer else {
            return key.verifiesECDSA(signature, over: message, digest: digest)
        }
        // At random slots, so that nobody who sends chains knows which.
        if Int.random(in: 0..<engine.certificatesPerAudit) == 0 {
            engine.keep(AuditedAnswer(key, signature, overDigest: octets, holds: holds))
        }
        return holds
    }

    private func request(_ key: PublicKey) {
        guard engine.current != .openssl, key.issuerTable == nil else { return }
        state.withLock { state in
            state.holders.removeAll { $0.key == nil }
            guard state.holders.count < Limits.issuerTables,
                !state.holders.contains(where: { $0.key === key })
            else { return }
            state.holders.append(WeakKey(key: key))
            state.pending.append(WeakKey(key: key))
            pendingCount.store(state.pending.count, ordering: .relaxed)
        }
    }

    /// Builds the requested tables one after another; each takes 2 to 4 ms, and the first one of a
    /// curve twice as long. The engine's self-test runs before. If it fails, none is built.
    ///
    /// - Returns: The number of tables built.
    @discardableResult
    package func buildPending() -> Int {
        guard hasPending else { return 0 }
        engine.test()
        var built = 0
        while let next = takePending() {
            // The key can be gone by now.
            guard engine.current != .openssl, let key = next.key, key.issuerTable == nil,
                let table = build(key)
            else { continue }
            key.adopt(table)
            built += 1
        }
        return built
    }

    private func takePending() -> WeakKey? {
        state.withLock { state in
            let next = state.pending.isEmpty ? nil : state.pending.removeFirst()
            pendingCount.store(state.pending.count, ordering: .relaxed)
            return next
        }
    }
}

/// A reference that lets the key, and its table, go.
private struct WeakKey: Sendable {
    weak let key: PublicKey?
}
