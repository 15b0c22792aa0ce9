import CLibuv
import Glibc

/// Blocking access to files, folders, standard input and output, for tools. Not for a loop's
/// thread, except for short reads of `/proc`.
package enum SystemFile {
    /// Size of one read; an item of evidence or a certificate fits.
    private static let readSize = 64 * 1024

    /// Returns the whole content of a file; nil if it is longer than `limit` bytes.
    package static func read(_ path: String, limit: Int) throws(LoopError) -> [UInt8]? {
        let file = try open(path)
        defer { close(file) }
        return try readAll(file, limit: limit)
    }

    /// Returns all of standard input; nil if it is longer than `limit` bytes.
    package static func readStandardInput(limit: Int) throws(LoopError) -> [UInt8]? {
        try readAll(0, limit: limit)
    }

    /// Creates a file with this content and mode. Never replaces a file, and removes a file that
    /// it could not write completely.
    package static func create(
        _ path: String, _ content: [UInt8], mode: Int32
    ) throws(LoopError) {
        let flags = UV_FS_O_WRONLY | UV_FS_O_CREAT | UV_FS_O_EXCL
        let file = try unsafe call { request in
            unsafe uv_fs_open(nil, request, path, flags, mode, nil)
        }
        defer { close(file) }
        do throws(LoopError) {
            try write(content, to: file)
        } catch {
            try? remove(path)
            throw error
        }
    }

    package static func remove(_ path: String) throws(LoopError) {
        _ = try unsafe call { request in unsafe uv_fs_unlink(nil, request, path, nil) }
    }

    /// Removes an empty folder.
    package static func removeFolder(_ path: String) throws(LoopError) {
        _ = try unsafe call { request in unsafe uv_fs_rmdir(nil, request, path, nil) }
    }

    /// Creates a folder, unless the path exists.
    ///
    /// - Returns: whether the folder was created.
    @discardableResult
    package static func createFolder(_ path: String, mode: Int32) throws(LoopError) -> Bool {
        do throws(LoopError) {
            _ = try unsafe call { request in unsafe uv_fs_mkdir(nil, request, path, mode, nil) }
            return true
        } catch .other("EEXIST") {
            return false
        }
    }

    /// Returns the names of the regular files in a folder, in byte order; nil if the path is not
    /// a folder.
    package static func files(in path: String) throws(LoopError) -> [String]? {
        var request = unsafe uv_fs_t()
        let result = unsafe uv_fs_scandir(nil, &request, path, 0, nil)
        defer { unsafe uv_fs_req_cleanup(&request) }
        do throws(LoopError) {
            try LoopError.check(result)
        } catch .other("ENOTDIR") {
            return nil
        }
        var names: [String] = []
        var entry = unsafe uv_dirent_t()
        while unsafe uv_fs_scandir_next(&request, &entry) == 0 {
            guard unsafe isFile(entry), let name = unsafe entry.name else { continue }
            names.append(unsafe String(cString: name))
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Links count as files; reading one shows its target.
    private static func isFile(_ entry: uv_dirent_t) -> Bool {
        unsafe entry.type == UV_DIRENT_FILE || entry.type == UV_DIRENT_LINK
    }

    package static func writeStandardOutput(_ bytes: [UInt8]) throws(LoopError) {
        try write(bytes, to: 1)
    }

    package static var isStandardOutputTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    // MARK: Descriptors

    /// Opens a file for reading.
    static func open(_ path: String) throws(LoopError) -> Int32 {
        try unsafe call { request in
            unsafe uv_fs_open(nil, request, path, UV_FS_O_RDONLY, 0, nil)
        }
    }

    /// Opens a file for writing at its end, whatever its length then is.
    static func openAppending(_ path: String, mode: Int32) throws(LoopError) -> Int32 {
        let flags = UV_FS_O_WRONLY | UV_FS_O_CREAT | UV_FS_O_APPEND
        return try unsafe call { request in
            unsafe uv_fs_open(nil, request, path, flags, mode, nil)
        }
    }

    static func truncate(_ file: Int32, to count: Int) throws(LoopError) {
        _ = try unsafe call { request in
            unsafe uv_fs_ftruncate(nil, request, file, Int64(count), nil)
        }
    }

    /// Reads once, at the file's current position. Returns 0 at the end of the file.
    static func read(_ file: Int32, into chunk: inout [UInt8]) throws(LoopError) -> Int {
        try unsafe chunk.withUnsafeMutableBufferPointer {
            (bytes) throws(LoopError) -> Int in
            try unsafe transfer(file, UnsafeMutableRawBufferPointer(bytes), uv_fs_read)
        }
    }

    private static func readAll(_ file: Int32, limit: Int) throws(LoopError) -> [UInt8]? {
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: readSize)
        while true {
            let count = try read(file, into: &chunk)
            guard count > 0 else { return content }
            guard content.count + count <= limit else { return nil }
            content += chunk[..<count]
        }
    }

    static func write(_ content: [UInt8], to file: Int32) throws(LoopError) {
        var rest = content
        while !rest.isEmpty {
            let count = try unsafe rest.withUnsafeMutableBufferPointer {
                (bytes) throws(LoopError) -> Int in
                try unsafe transfer(file, UnsafeMutableRawBufferPointer(bytes), uv_fs_write)
            }
            rest.removeFirst(count)
        }
    }

    private typealias Transfer = (
        UnsafeMutablePointer<uv_loop_t>?, UnsafeMutablePointer<uv_fs_t>?, uv_file,
        UnsafePointer<uv_buf_t>?, UInt32, Int64, uv_fs_cb?
    ) -> Int32

    /// Reads or writes at the file's current position. Returns the number of bytes.
    private static func transfer(
        _ file: Int32, _ bytes: UnsafeMutableRawBufferPointer, _ operation: Transfer
    ) throws(LoopError) -> Int {
        var buffer = unsafe uv_buf_init(
            bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt32(bytes.count))
        while true {
            do throws(LoopError) {
                return Int(
                    try unsafe call { request in
                        unsafe operation(nil, request, file, &buffer, 1, -1, nil)
                    })
            } catch .other("EINTR") {
                continue
            }
        }
    }

    static func close(_ file: Int32) {
        _ = try? unsafe call { request in unsafe uv_fs_close(nil, request, file, nil) }
    }

    /// Makes one synchronous libuv call, without a loop, and returns its result.
    private static func call(
        _ body: (UnsafeMutablePointer<uv_fs_t>) -> Int32
    ) throws(LoopError) -> Int32 {
        var request = unsafe uv_fs_t()
        let result = unsafe withUnsafeMutablePointer(to: &request) { unsafe body($0) }
        unsafe uv_fs_req_cleanup(&request)
        try LoopError.check(result)
        return result
    }
}
