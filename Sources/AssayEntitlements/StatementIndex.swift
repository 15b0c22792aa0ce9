/// Slots by a name that statements have. It keeps a statement for each name instead of the name: an
/// index of 100,000 names copies none of them, and hashes each once.
struct StatementIndex {
    private struct Entry {
        let digest: Int
        let slot: Int
    }

    private var entries: [Entry] = []
    /// Of each entry, a statement with its name.
    private var statements: [Snapshot] = []
    /// Open addressing: the number of an entry, or -1. The count is a power of two.
    private var table: [Int32]

    private static let leastCapacity = 8

    init(capacity: Int) {
        entries.reserveCapacity(capacity)
        statements.reserveCapacity(capacity)
        var count = Self.leastCapacity
        while count < 2 * capacity { count *= 2 }
        table = Array(repeating: -1, count: count)
    }

    /// - Parameter isSame: whether a statement has the name that is looked for.
    func slot(_ digest: Int, isSame: (Snapshot) -> Bool) -> Int? {
        var position = digest & (table.count - 1)
        while table[position] >= 0 {
            let number = Int(table[position])
            if entries[number].digest == digest, isSame(statements[number]) {
                return entries[number].slot
            }
            position = (position + 1) & (table.count - 1)
        }
        return nil
    }

    /// Adds a name that it does not have.
    mutating func add(_ statement: Snapshot, _ digest: Int, slot: Int) {
        entries.append(Entry(digest: digest, slot: slot))
        statements.append(statement)
        guard 2 * entries.count <= table.count else { return grow() }
        put(entries.count - 1)
    }

    private mutating func put(_ number: Int) {
        var position = entries[number].digest & (table.count - 1)
        while table[position] >= 0 { position = (position + 1) & (table.count - 1) }
        table[position] = Int32(number)
    }

    private mutating func grow() {
        table = Array(repeating: -1, count: 2 * table.count)
        for number in entries.indices { put(number) }
    }
}
