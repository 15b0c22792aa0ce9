/// Bytes of one message that arrive in parts, in memory that is counted like received bytes.
///
/// It has one owner and cannot be copied, so appending never copies what is already there, except
/// to double the memory: the time is linear in the bytes, however small the parts are.
package struct CollectedBytes: ~Copyable {
    private let pool: SlabPool
    private var slab: Slab?
    package private(set) var count = 0
    /// Bytes that were copied, those that moved to larger memory included.
    package private(set) var copiedCount = 0
    package private(set) var allocations = 0

    /// Memory of the first part, unless it is larger. Most bodies in parts have a few of them.
    private static let smallestCapacity = 1 << 10

    init(pool: SlabPool) { self.pool = pool }

    package var isEmpty: Bool { count == 0 }

    /// Bytes of memory.
    package var heldCount: Int { slab?.capacity ?? 0 }

    /// Appends bytes.
    ///
    /// - Parameter limit: the largest number of bytes that will ever be appended, above which no
    ///   memory is kept in advance.
    package mutating func append(_ bytes: Span<UInt8>, limit: Int) {
        guard bytes.count > 0 else { return }
        let needed = count + bytes.count
        if needed > heldCount { grow(to: max(needed, min(2 * heldCount, limit))) }
        slab!.copy(bytes, to: count)
        copiedCount += bytes.count
        count = needed
    }

    /// All bytes so far, without a copy. Later ones are appended after them.
    package var bytes: SlabBytes? {
        slab.map { SlabBytes(slab: $0, range: 0..<count) }
    }

    /// Takes all bytes, without a copy.
    package mutating func take() -> SlabBytes? {
        guard let slab else { return nil }
        defer { removeAll() }
        return SlabBytes(slab: slab, range: 0..<count)
    }

    package mutating func removeAll() {
        slab = nil
        count = 0
    }

    private mutating func grow(to capacity: Int) {
        let larger = Slab(capacity: max(capacity, Self.smallestCapacity), pool: pool)
        if let slab { larger.copy(from: slab, at: 0, count: count, to: 0) }
        copiedCount += count
        allocations += 1
        slab = larger
    }
}

extension Stream {
    /// Makes a collector, whose memory counts like received bytes.
    package func makeCollectedBytes() -> CollectedBytes { CollectedBytes(pool: loop.arena.pool) }
}
