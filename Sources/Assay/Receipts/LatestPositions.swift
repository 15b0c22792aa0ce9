import AssayBytes

/// The positions of kept records by original transaction id: a hash table with open addressing
/// that refers to the ids in the records' text, so an id takes no memory of its own.
struct LatestPositions: Sendable {
    /// The upper half of the hash and the position + 1 of each id; 0 for an empty entry.
    private var entries: [UInt64] = []
    private var count = 0

    /// Bytes of memory for the table.
    var heldBytes: Int { entries.capacity * MemoryLayout<UInt64>.stride }

    /// SipHash under the process's random key: an attacker can choose the ids of a receipt.
    static func hash(_ id: Span<UInt8>) -> UInt64 {
        var hasher = Hasher()
        id.hash(into: &hasher)
        return UInt64(truncatingIfNeeded: hasher.finalize())
    }

    /// Returns the position of the id with that hash.
    ///
    /// - Parameter isEqual: compares it with the id of the record at a position.
    func position(_ hash: UInt64, where isEqual: (Int) -> Bool) -> Int? {
        guard !entries.isEmpty else { return nil }
        var index = start(hash)
        while entries[index] != 0 {
            if entries[index] >> 32 == hash >> 32 {
                let position = Int(entries[index] & 0xFFFF_FFFF) - 1
                if isEqual(position) { return position }
            }
            index = (index + 1) & (entries.count - 1)
        }
        return nil
    }

    /// Adds the position of an id that has none.
    mutating func insert(_ position: Int, _ hash: UInt64) {
        // At most half of the entries are taken, so a search ends soon.
        if count * 2 >= entries.count {
            let old = entries
            entries = [UInt64](repeating: 0, count: max(Self.smallest, old.count * 2))
            for entry in old where entry != 0 { store(entry) }
        }
        store((hash >> 32) << 32 | UInt64(UInt32(position + 1)))
        count += 1
    }

    private mutating func store(_ entry: UInt64) {
        var index = start(entry)
        while entries[index] != 0 { index = (index + 1) & (entries.count - 1) }
        entries[index] = entry
    }

    /// The entry where the search for a hash begins.
    private func start(_ hash: UInt64) -> Int { Int(hash >> 32) & (entries.count - 1) }

    private static let smallest = 16
}
