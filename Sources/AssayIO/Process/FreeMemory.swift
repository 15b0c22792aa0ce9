import CLibuv

/// Memory that the process has freed and the C library still holds.
package enum FreeMemory {
    /// Returns the memory to the system. Takes about 0.1 ms per returned megabyte, during which
    /// allocations on other threads can block.
    package static func release() { _ = malloc_trim(0) }
}
