internal import COpenSSL

/// Verifies the ES256 signatures of batch after batch (RFC 7518, section 3.4; SEC 1, section
/// 4.1.4), and keeps what it needs for that: nothing is allocated a signature. One thread at a
/// time.
///
/// For a key with a table both products of u₁·G + u₂·Q come from tables, one inversion of s serves
/// up to `Limits.signaturesPerInversion` signatures, and x is compared without a division. Other
/// keys go through EVP, whose answers are the measure of the former: where anything fails in an
/// unforeseen way, EVP answers.
@safe package final class ES256BatchVerifier: @unchecked Sendable {
    /// The batch. Whoever fills it, empties it.
    package var checks: [ES256Check] = []
    /// The answers, in the batch's order.
    package private(set) var holds: [Bool] = []

    private let tables: KeyTables
    private var prepared = PreparedKeys()
    private var der = ES256DER()
    /// Signatures that wait for their common inversion.
    private var waiting: [Waiting] = []
    private let numbers = ES256Numbers()

    /// A signature whose key has a table; `checks` keeps the key, and so the group, alive.
    @safe private struct Waiting {
        let index: Int
        let keyGroup: OpaquePointer
    }

    package init(tables: KeyTables) {
        self.tables = tables
        waiting.reserveCapacity(Limits.signaturesPerInversion)
    }

    /// Fills `holds`.
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

    /// Empties the batch, so that its keys may go; room for a usual one stays.
    package func clear() {
        let keepsRoom = checks.capacity <= Limits.signaturesKept
        checks.removeAll(keepingCapacity: keepsRoom)
        holds.removeAll(keepingCapacity: keepsRoom)
    }

    /// Signatures of one key in a row.
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

    /// Called from the last place to the first. Nil where OpenSSL failed.
    private func holdsByTables(_ index: Int, at place: Int) -> Bool? {
        let keyGroup = unsafe waiting[place].keyGroup
        return unsafe numbers.holds(
            r: checks[index].signature.r, digest: checks[index].digest.octets.span, at: place,
            keyGroup: keyGroup)
    }
}
