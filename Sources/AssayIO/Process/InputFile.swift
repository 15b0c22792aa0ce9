import CLibuv
import Glibc

/// A file or standard input that a tool reads in chunks. Blocks, so it is not for a loop's thread.
package struct InputFile: ~Copyable, Sendable {
    private let descriptor: Int32
    private let isOwned: Bool
    /// The size in bytes; nil for a pipe, a terminal and other files without a size.
    package let size: Int?

    /// Opens a file, or standard input for `-`. Fails with `EISDIR` for a folder.
    package init(_ path: String) throws(LoopError) {
        let isOwned = path != "-"
        let descriptor = isOwned ? try SystemFile.open(path) : STDIN_FILENO
        var status = stat()
        let type = unsafe fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        guard type != S_IFDIR else {
            if isOwned { SystemFile.close(descriptor) }
            throw .other("EISDIR")
        }
        self.isOwned = isOwned
        self.descriptor = descriptor
        size = type == S_IFREG ? Int(status.st_size) : nil
    }

    deinit {
        if isOwned { SystemFile.close(descriptor) }
    }

    /// Reads up to `bytes.count` bytes into the beginning of `bytes`, as soon as there are any.
    ///
    /// - Returns: the number of bytes; 0 at the end of the file.
    package func read(into bytes: inout [UInt8]) throws(LoopError) -> Int {
        try SystemFile.read(descriptor, into: &bytes)
    }
}
