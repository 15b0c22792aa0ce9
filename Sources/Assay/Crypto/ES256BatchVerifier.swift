internal import COpenSSL

/// Verifies batches of ES256 signatures (RFC 7518, section 3.4; SEC 1, section 4.1.4). Reuses its
/// buffers, so that no signature needs an allocation. Not thread-safe.
///
/// If the key has a table, both products of u₁·G + u₂·Q come from tables, one inversion of s
/// serves up to `Limits.signaturesPerInversion` signatures, and x is compared without a division.
/// Other keys are verified by EVP. EVP is the reference: it also verifies where the table path
/// fails unexpectedly.
@safe package final class ES256BatchVerifier: @unchecked Sendable {
    /// The batch. The caller fills and clears it.
    package var checks: [ES256Check] = []
    /// The results in the batch's order: whether each signature verifies.
    package private(set) var holds: [Bool] = []

    private let tables: KeyTables
    private var prepared = PreparedKeys()
    private var der = ES256DER()
    /// Signatures queued for a common inversion.
    private var waiting: [Waiting] = []
    private let numbers = ES256Numbers()

    /// A queued signature whose key has a table. `checks` keeps the key alive, and with it the
    /// group.
    @safe private struct Waiting {
        let index: Int
        let keyGroup: OpaquePointer
    }

    package init(tables: KeyTables) {
        self.tables = tables
        waiting.reserveCapacity(Limits.signaturesPerInversion)
    }

    /// Verifies all of `checks` and fills `holds`.
    package func verify() {
        holds.removeAll(keepingCapacity: true)
        var run: Run?
        for index in checks.indices {
            holds.append(false)
            if run == nil || checks[index].key !== run!.key {
                run?.note(in: tables)
                run = Run(checks[index].key)
            }
            if let table = run!.table {
                unsafe waiting.append(Waiting(index: index, keyGroup: table.group))
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

    private func verifyWaiting() {
        guard !waiting.isEmpty else { return }
        for place in waiting.indices {
            numbers.enter(checks[waiting[place].index].signature.s, at: place)
        }
        let isInverted = numbers.invert(count: waiting.count)
        for place in waiting.indices.reversed() {
            let index = waiting[place].index
            let byTables: Bool? =
                isInverted ? holdsByTables(index, at: place) : nil
            holds[index] = byTables ?? holdsByEVP(index)
        }
        waiting.removeAll(keepingCapacity: true)
    }

    /// Verifies one signature by the tables. Call from the last place to the first. Returns nil
    /// if OpenSSL failed.
    private func holdsByTables(_ index: Int, at place: Int) -> Bool? {
        let keyGroup = unsafe waiting[place].keyGroup
        return unsafe numbers.holds(
            r: checks[index].signature.r, digest: checks[index].digest.octets.span, at: place,
            keyGroup: keyGroup)
    }
}
