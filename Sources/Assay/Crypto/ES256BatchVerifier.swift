internal import AssayCurves

/// Verifies batches of ES256 signatures (RFC 7518, section 3.4; SEC 1, section 4.1.4). Reuses its
/// buffers, so that no signature needs an allocation. Not thread-safe.
///
/// The signatures of keys with a table are verified in batches of up to
/// `Limits.signaturesPerInversion` by the engine. Other keys are verified by EVP. EVP is the
/// reference: it also decides where the engine cannot, and all once the audit has failed.
package final class ES256BatchVerifier: @unchecked Sendable {
    /// The batch. The caller fills and clears it.
    package var checks: [ES256Check] = []
    /// The results in the batch's order: whether each signature verifies.
    package private(set) var holds: [Bool] = []

    private let tables: KeyTables
    private let engine: EngineInUse
    private var sample: AuditSample
    private var prepared = PreparedKeys()
    private var der = ES256DER()
    /// The indices of the signatures queued for the engine.
    private var waiting: [Int] = []
    /// Created at the first signature of a key with a table: its buffers are large.
    private var batch: P256Verification?

    package init(tables: KeyTables, engine: EngineInUse = EngineInUse()) {
        self.tables = tables
        self.engine = engine
        sample = AuditSample(answersPerAudit: engine.answersPerAudit)
        waiting.reserveCapacity(Limits.signaturesPerInversion)
    }

    /// Verifies all of `checks` and fills `holds`.
    package func verify() {
        holds.removeAll(keepingCapacity: true)
        let usesTables = !engine.isDistrusted
        var run: Run?
        for index in checks.indices {
            holds.append(false)
            if run == nil || checks[index].key !== run!.key {
                run?.note(in: tables)
                run = Run(checks[index].key)
            }
            if usesTables, let table = run!.table {
                append(index, table)
                if waiting.count == Limits.signaturesPerInversion { verifyWaiting() }
            } else {
                let holds = holdsByEVP(index)
                self.holds[index] = holds
                run!.held += holds ? 1 : 0
            }
        }
        run?.note(in: tables)
        verifyWaiting()
    }

    /// Empties the batch and releases its keys. Keeps the storage of a batch of usual size.
    package func clear() {
        let keepsCapacity = checks.capacity <= Limits.signaturesKept
        checks.removeAll(keepingCapacity: keepsCapacity)
        holds.removeAll(keepingCapacity: keepsCapacity)
    }

    /// A run of consecutive signatures of one key.
    private struct Run {
        let key: PublicKey
        let table: KeyTable?
        var held = 0

        init(_ key: PublicKey) {
            self.key = key
            table = key.table
        }

        func note(in tables: KeyTables) { tables.note(key, held: held) }
    }

    private func holdsByEVP(_ index: Int) -> Bool {
        checks[index].signature.encode(into: &der)
        return prepared.prepared(for: checks[index].key)
            .verifies(der.bytes, overDigest: checks[index].digest.octets.span)
    }

    /// The batch for the arithmetic of this table. All tables are of one engine.
    private func batch(for table: KeyTable) -> P256Verification {
        if let batch { return batch }
        let new = P256Verification(
            capacity: Limits.signaturesPerInversion, arithmetic: table.arithmetic)
        batch = new
        return new
    }

    private func append(_ index: Int, _ table: KeyTable) {
        waiting.append(index)
        batch(for: table).append(
            table.multiples, digest: checks[index].digest.octets.span,
            r: checks[index].signature.r, s: checks[index].signature.s)
    }

    private func verifyWaiting() {
        guard let batch, !waiting.isEmpty else { return }
        batch.verify()
        for (position, index) in waiting.enumerated() {
            holds[index] = batch.outcome(position).holds ?? holdsByEVP(index)
        }
        if let audited = sample.next(of: waiting.count) {
            let index = waiting[audited]
            engine.keep(AuditedAnswer(checks[index], holds: holds[index]))
        }
        batch.removeAll()
        waiting.removeAll(keepingCapacity: true)
    }
}
