import CLibuv

/// Memory that the process has freed and the C library still holds.
package enum FreeMemory {
    /// What a thread's heap keeps at its end. With less, receipts of 16 MB one after the other
    /// spend a third of their time on new memory.
    package static let keptByHeap = 16 << 20
    /// The largest allocation that the C library takes from a heap. A larger one is a mapping of
    /// its own, which ends with it and costs new memory each time.
    private static let largestInHeap = 32 << 20

    /// Lets each thread's heap keep at most `keptByHeap` at its end.
    ///
    /// Otherwise the C library raises this bound with each large allocation that is freed, to
    /// 64 MB, and `release` does not reach the end of a heap: after a flood of large bodies, each
    /// thread kept as much.
    package static func limitHeaps() {
        _ = mallopt(M_MMAP_THRESHOLD, Int32(largestInHeap))
        _ = mallopt(M_TRIM_THRESHOLD, Int32(keptByHeap))
    }

    /// Returns the memory to the system. Takes about 0.1 ms per returned megabyte, during which
    /// allocations on other threads can block.
    package static func release() { _ = malloc_trim(0) }
}
