import CLibuv
import Glibc

/// What changes when a file is written: enough to notice it without reading.
package struct FileStamp: Hashable, Sendable {
    package var size: UInt64
    package var inode: UInt64
    /// The time of the last change, in nanoseconds since 1970.
    package var changed: Int64

    package init(size: UInt64, inode: UInt64, changed: Int64) {
        self.size = size
        self.inode = inode
        self.changed = changed
    }

    fileprivate init(_ status: stat) {
        size = UInt64(status.st_size)
        inode = UInt64(status.st_ino)
        changed =
            Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }
}

extension SystemFile {
    /// The stamp of a regular file; follows links.
    package static func stamp(_ path: String) throws(LoopError) -> FileStamp {
        var status = stat()
        guard unsafe fstatat(AT_FDCWD, path, &status, 0) == 0 else {
            throw LoopError(code: -errno)
        }
        // Reading a pipe would wait.
        guard status.st_mode & S_IFMT == S_IFREG else { throw .other("it is not a file") }
        return FileStamp(status)
    }

    /// The stamp of an open file.
    static func stamp(of file: Int32) -> FileStamp? {
        var status = stat()
        return unsafe fstat(file, &status) == 0 ? FileStamp(status) : nil
    }

    /// Writes a file, or replaces it in one step: a reader finds the old content or the new.
    package static func replace(
        _ path: String, _ content: [UInt8], mode: Int32
    ) throws(LoopError) {
        let temporary = path + ".new"
        // Left by a process that was killed.
        try? remove(temporary)
        try create(temporary, content, mode: mode)
        do throws(LoopError) {
            try rename(temporary, to: path)
        } catch {
            try? remove(temporary)
            throw error
        }
    }

    private static func rename(_ path: String, to new: String) throws(LoopError) {
        guard unsafe Glibc.rename(path, new) == 0 else { throw LoopError(code: -errno) }
    }
}
