import CLibuv

/// Memory that the process has freed and the C library still holds.
package enum FreeMemory {
    /// Returns it to the system. Takes about 0.1 ms per megabyte that is returned, in which other
    /// threads may wait for memory.
    package static func release() { _ = malloc_trim(0) }
}
