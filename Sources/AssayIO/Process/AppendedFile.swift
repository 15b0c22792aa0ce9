import Glibc

/// A file that grows at its end, by one process at a time.
package struct AppendedFile: ~Copyable, Sendable {
    private let file: Int32

    /// Opens or creates a file.
    package init(_ path: String, mode: Int32) throws(LoopError) {
        file = try SystemFile.openAppending(path, mode: mode)
    }

    deinit { SystemFile.close(file) }

    /// Claims the file for this process, to its end. Returns false if another one has it.
    package func claim() -> Bool { flock(file, LOCK_EX | LOCK_NB) == 0 }

    package func append(_ bytes: [UInt8]) throws(LoopError) {
        try SystemFile.write(bytes, to: file)
    }

    /// Appends bytes from `start` on, up to what the system takes at once.
    ///
    /// - Returns: their number.
    package func append(_ bytes: [UInt8], from start: Int) throws(LoopError) -> Int {
        let count = unsafe bytes.withUnsafeBytes { bytes in
            unsafe Glibc.write(file, bytes.baseAddress! + start, bytes.count - start)
        }
        if count >= 0 { return count }
        guard errno == EINTR else { throw LoopError(code: -errno) }
        return 0
    }

    /// The length and the identity of the file, whatever its path names now.
    package var stamp: FileStamp? { SystemFile.stamp(of: file) }

    /// Drops all bytes after the first ones.
    package func truncate(to count: Int) throws(LoopError) {
        try SystemFile.truncate(file, to: count)
    }
}
