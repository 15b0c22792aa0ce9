import Synchronization

/// A block of memory that streams read into. The loop's thread writes each byte once, before a
/// `SlabBytes` covers it. Other threads read only through `SlabBytes`, so workers read received
/// bytes while the loop's thread receives more after them.
@safe
final class Slab: @unchecked Sendable {
    /// Capacity of a standard slab: a dozen tokens of 5 KB in one read.
    static let standardCapacity = 64 * 1024

    let capacity: Int
    let memory: UnsafeMutablePointer<UInt8>
    private let pool: SlabPool

    init(capacity: Int, pool: SlabPool) {
        self.capacity = capacity
        self.pool = pool
        unsafe memory = pool.takeMemory(of: capacity)
    }

    deinit { unsafe pool.recycle(memory, of: capacity) }

    /// Makes a slab that returns its memory to the same pool.
    func sibling(capacity: Int) -> Slab { Slab(capacity: capacity, pool: pool) }

    /// Copies `count` bytes from another slab, or from this one.
    func copy(from source: Slab, at start: Int, count: Int, to offset: Int) {
        precondition(start >= 0 && count >= 0 && start + count <= source.capacity)
        precondition(offset >= 0 && offset + count <= capacity)
        unsafe (memory + offset).update(from: source.memory + start, count: count)
    }

    /// Copies bytes to the front, or to a later offset.
    func copy(_ bytes: Span<UInt8>, to offset: Int = 0) {
        precondition(offset >= 0 && offset <= capacity && bytes.count <= capacity - offset)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe (memory + offset).update(from: start, count: bytes.count)
        }
    }
}

/// Keeps the memory of freed standard slabs for reuse.
@safe
final class SlabPool: @unchecked Sendable {
    /// Limit of idle blocks: 4 MiB in total. After a burst, blocks above it return to the system.
    private static let spareLimit = 64
    /// Upper bound of the bytes in idle blocks and in the slab being read into.
    static let keptBytes = (spareLimit + 1) * Slab.standardCapacity

    private let allocated = Atomic(0)

    /// Memory of all slabs, including idle blocks.
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

    func recycle(_ memory: UnsafeMutablePointer<UInt8>, of capacity: Int) {
        let isKept = kept.withLock { kept in
            guard capacity == Slab.standardCapacity, unsafe kept.blocks.count < Self.spareLimit
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

/// Received bytes in the slab they were read into. A value keeps its slab alive; any thread can
/// read it.
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

    /// A copy, which keeps no slab alive.
    package var array: [UInt8] {
        unsafe Array(
            UnsafeBufferPointer(start: slab.memory + range.lowerBound, count: range.count))
    }

    /// Bytes of memory that this value keeps alive.
    package var heldCount: Int { slab.capacity }

    /// The same bytes for a long wait, copied into a slab of their own so that they keep no other
    /// memory alive. A large message that fills its slab is not copied.
    package var forWaiting: SlabBytes {
        guard count < slab.capacity / 8 * 7 else { return self }
        let own = slab.sibling(capacity: count)
        own.copy(from: slab, at: range.lowerBound, count: count, to: 0)
        return SlabBytes(slab: own, range: 0..<count)
    }

    /// Returns a slice; `part` counts from the first byte.
    package func extracting(_ part: Range<Int>) -> SlabBytes {
        precondition(part.lowerBound >= 0 && part.upperBound <= range.count)
        let start = range.lowerBound + part.lowerBound
        return SlabBytes(slab: slab, range: start..<start + part.count)
    }
}
