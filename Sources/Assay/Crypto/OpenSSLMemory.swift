import COpenSSL
import Glibc

/// OpenSSL's allocator.
package enum OpenSSLMemory {
    /// Makes OpenSSL abort the process, with a line on standard error, when memory is exhausted.
    /// OpenSSL itself would report that a signature does not verify, which is a wrong verdict.
    ///
    /// - Returns: False if OpenSSL has already allocated memory, which is too late.
    package static func endWhenExhausted() -> Bool {
        let code = unsafe CRYPTO_set_mem_functions(
            { count, _, _ in unsafe OpenSSLMemory.checked(malloc(count), count) },
            { memory, count, _, _ in unsafe OpenSSLMemory.checked(realloc(memory, count), count) },
            { memory, _, _ in unsafe free(memory) })
        return code == 1
    }

    private static func checked(
        _ memory: UnsafeMutableRawPointer?, _ count: Int
    ) -> UnsafeMutableRawPointer? {
        guard unsafe memory != nil || count == 0 else {
            let line: StaticString = "assay: out of memory\n"
            _ = unsafe write(STDERR_FILENO, line.utf8Start, line.utf8CodeUnitCount)
            abort()
        }
        return unsafe memory
    }
}
