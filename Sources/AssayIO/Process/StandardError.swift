import Glibc

/// The process's standard error.
package enum StandardError {
    package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes all bytes. Stops on any error but `EINTR`.
    package static func write(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            var start = 0
            while start < bytes.count {
                let count = unsafe Glibc.write(
                    STDERR_FILENO, bytes.baseAddress! + start, bytes.count - start)
                if count > 0 {
                    start += count
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}
