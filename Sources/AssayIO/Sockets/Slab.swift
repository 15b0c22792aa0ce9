import Synchronization

/// A block of memory that streams read into. Its bytes are written once, by the loop's thread,
/// each before a `SlabBytes` with it exists; other threads see them through `SlabBytes` alone. So
/// workers read what has been received while the loop's thread receives further bytes behind it.
@safe
final class Slab: @unchecked Sendable {
    /// What a connection's reads are given: a dozen tokens of 5 KB in one read.
    static let standardCapacity = 64 * 1024

    let capacity: Int
    let memory: UnsafeMutablePointer<UInt8>
    private let pool: SlabPool

    init(capacity: Int, pool: SlabPool) {
        self.capacity = capacity
        self.pool = pool
        unsafe memory = pool.takeMemory(of: capacity)
    }

    deinit { unsafe pool.giveBack(memory, of: capacity) }

    /// Another one, whose memory goes back to the same place.
    func sibling(capacity: Int) -> Slab { Slab(capacity: capacity, pool: pool) }

    /// Copies `count` bytes of another slab, or of this one, here.
    func copy(from source: Slab, at start: Int, count: Int, to offset: Int) {
        precondition(start >= 0 && count >= 0 && start + count <= source.capacity)
        precondition(offset >= 0 && offset + count <= capacity)
        unsafe (memory + offset).update(from: source.memory + start, count: count)
    }
}

/// Keeps the memory of some standard slabs for the next ones.
@safe
final class SlabPool: @unchecked Sendable {
    /// 4 MiB: more lie idle only after a burst, and then belong to the system again.
    private static let keptMost = 64
    /// With the one that is read into.
    static let keptBytes = (keptMost + 1) * Slab.standardCapacity

    private let allocated = Atomic(0)

    /// Memory of all slabs, those that are kept for the next reads included.
    var allocatedBytes: Int { allocated.load(ordering: .relaxed) }

    private let kept = Locked(Kept())

    @safe
    private struct Kept: @unchecked Sendable {
        var blocks: [UnsafeMutablePointer<UInt8>] = unsafe []
    }

    func takeMemory(of capacity: Int) -> UnsafeMutablePointer<UInt8> {
        if capacity == Slab.standardCapacity {
            let block = unsafe kept.withLock { kept in unsafe kept.blocks.popLast() }
            if let block = unsafe block { return unsafe block }
        }
        allocated.add(capacity, ordering: .relaxed)
        return UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    }

    func giveBack(_ memory: UnsafeMutablePointer<UInt8>, of capacity: Int) {
        let isKept = kept.withLock { kept in
            guard capacity == Slab.standardCapacity, unsafe kept.blocks.count < Self.keptMost
            else { return false }
            unsafe kept.blocks.append(memory)
            return true
        }
        guard !isKept else { return }
        allocated.subtract(capacity, ordering: .relaxed)
        unsafe memory.deallocate()
    }

    deinit {
        kept.withLock { kept in
            unsafe kept.blocks.forEach { block in unsafe block.deallocate() }
        }
    }
}

/// Received bytes, where they were read. Holding it keeps them; any thread may look at them.
package struct SlabBytes: Sendable {
    private let slab: Slab
    private let range: Range<Int>

    init(slab: Slab, range: Range<Int>) {
        precondition(range.lowerBound >= 0 && range.upperBound <= slab.capacity)
        self.slab = slab
        self.range = range
    }

    package var count: Int { range.count }

    package var span: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let bytes = unsafe UnsafeBufferPointer(
                start: UnsafePointer(slab.memory + range.lowerBound), count: range.count)
            return unsafe _overrideLifetime(bytes.span, borrowing: self)
        }
    }

    /// Bytes of memory that stay alive with them.
    package var heldCount: Int { slab.capacity }

    /// The same bytes for a long wait: in memory of their own, so that they keep nothing else
    /// alive. A large message that fills its slab stays where it is.
    package var forWaiting: SlabBytes {
        guard count < slab.capacity / 8 * 7 else { return self }
        let own = slab.sibling(capacity: count)
        own.copy(from: slab, at: range.lowerBound, count: count, to: 0)
        return SlabBytes(slab: own, range: 0..<count)
    }

    /// A part of them, by offsets from their first.
    package func extracting(_ part: Range<Int>) -> SlabBytes {
        precondition(part.lowerBound >= 0 && part.upperBound <= range.count)
        let start = range.lowerBound + part.lowerBound
        return SlabBytes(slab: slab, range: start..<start + part.count)
    }
}
