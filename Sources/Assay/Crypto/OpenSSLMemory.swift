import COpenSSL
import Glibc

/// Where OpenSSL's memory comes from.
package enum OpenSSLMemory {
    /// Ends the process with a line on standard error when there is none, from here on. OpenSSL
    /// itself would say that a signature does not verify, which is a wrong verdict.
    ///
    /// - Returns: false where OpenSSL has memory already, and it is too late.
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
