import CLibuv

/// Memory that the process has freed and the C library still holds.
package enum FreeMemory {
    /// What a thread's heap keeps at its end. A 4 MB receipt fits, so one after the other takes no
    /// new memory.
    package static let keptByHeap = 8 << 20
    /// A larger allocation is a mapping of its own, which ends with it.
    private static let largestInHeap = 4 << 20

    /// Lets each thread's heap keep at most `keptByHeap` at its end.
    ///
    /// Otherwise the C library raises this bound with each large allocation that is freed, to 64 MB,
    /// and `release` does not reach the end of a heap: after a flood of large bodies, each thread
    /// kept as much.
    package static func limitHeaps() {
        _ = mallopt(M_MMAP_THRESHOLD, Int32(largestInHeap))
        _ = mallopt(M_TRIM_THRESHOLD, Int32(keptByHeap))
    }

    /// Returns the memory to the system. Takes about 0.1 ms per returned megabyte, during which
    /// allocations on other threads can block.
    package static func release() { _ = malloc_trim(0) }
}
