import CLibuv
import Glibc

/// Who may connect to the file of a Unix socket.
public struct SocketFileAccess: Hashable, Sendable {
    /// Permission bits: owner and group alone.
    public var mode: UInt32 = 0o660
    /// Nil: as the process's own.
    public var owner: UInt32?
    public var group: UInt32?

    public init() {}
}

/// Unix sockets by their paths; one that begins with `@` is a name without a file (abstract).
enum UnixSocket {
    static func isAbstract(_ path: String) -> Bool { path.utf8.first == UInt8(ascii: "@") }

    /// A socket that listens at the path. Replaces a socket file that nobody listens on.
    ///
    /// Two servers that start at once would each find the other's socket bound and not yet
    /// listening, and take it for one that was left behind. So all of it happens under a lock.
    ///
    /// - Throws: `addressInUse` where another server listens, `notASocket` where another file
    ///   stands there.
    static func listen(
        _ path: String, _ access: SocketFileAccess, backlog: Int32
    ) throws(LoopError) -> (descriptor: Int32, file: SocketFile?) {
        guard path.utf8.count <= Endpoint.pathLimit else { throw .pathTooLong }
        let isFile = !isAbstract(path)
        let lock = isFile ? try FileLock(path + ".lock") : nil
        defer { lock?.release() }
        if isFile { try SocketFile.removeStale(path) }
        let descriptor = try make()
        var file: SocketFile?
        do throws(LoopError) {
            // The file is never open to more users than its access says (Linux creates it with
            // the socket's mode).
            if isFile, fchmod(descriptor, access.mode) != 0 { throw LoopError(code: -errno) }
            let code = unsafe withAddress(path) { unsafe Glibc.bind(descriptor, $0, $1) }
            guard code == 0 else { throw LoopError(code: -errno) }
            if isFile { file = try SocketFile(path, access) }
            // Nobody can connect before this.
            guard Glibc.listen(descriptor, backlog) == 0 else { throw LoopError(code: -errno) }
        } catch {
            file?.remove()
            _ = Glibc.close(descriptor)
            throw error
        }
        return (descriptor, file)
    }

    /// A socket that is connected to the path. Never waits: a full queue is `EAGAIN`.
    static func connect(_ path: String) throws(LoopError) -> Int32 {
        let descriptor = try make()
        let code = unsafe withAddress(path) { unsafe Glibc.connect(descriptor, $0, $1) }
        guard code == 0 else {
            let error = errno
            _ = Glibc.close(descriptor)
            throw LoopError(code: -error)
        }
        return descriptor
    }

    private static func make() throws(LoopError) -> Int32 {
        let type = SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue
        let descriptor = socket(AF_UNIX, Int32(type), 0)
        guard descriptor >= 0 else { throw LoopError(code: -errno) }
        return descriptor
    }

    static func withAddress<R>(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) -> R {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8.prefix(Endpoint.pathLimit))
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: name)
            if isAbstract(path) { unsafe field[0] = 0 }
        }
        // An abstract name has no end but its length; a path has its NUL.
        let length = MemoryLayout<sa_family_t>.size + name.count + (isAbstract(path) ? 0 : 1)
        return unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe body(
                bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!, socklen_t(length))
        }
    }
}

/// The file of a Unix socket, which outlives the socket.
struct SocketFile {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Sets the access of the file that was just bound. Never follows a link that somebody has put
    /// there since.
    init(_ path: String, _ access: SocketFileAccess) throws(LoopError) {
        self.path = path
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw LoopError(code: -errno) }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket }
        device = status.st_dev
        inode = status.st_ino
        if access.owner != nil || access.group != nil {
            // All bits set: unchanged.
            let code = unsafe lchown(path, access.owner ?? .max, access.group ?? .max)
            guard code == 0 else { throw LoopError(code: -errno) }
        }
        // Where the umask took nothing away, the mode is right already.
        guard status.st_mode & Self.permissions != access.mode else { return }
        guard unsafe fchmodat(AT_FDCWD, path, access.mode, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw LoopError(code: -errno)
        }
    }

    /// The permission bits of a file's mode.
    private static let permissions: mode_t = 0o7777

    /// Removes it, unless another server's stands there by now.
    func remove() {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode
        else { return }
        _ = unsafe unlink(path)
    }

    /// Removes a socket file on which nobody listens; everything else stays, and is an error.
    static func removeStale(_ path: String) throws(LoopError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket }
        do throws(LoopError) {
            _ = Glibc.close(try UnixSocket.connect(path))
            throw .addressInUse
        } catch .connectionRefused {
            // Nobody listens.
        } catch {
            // One that would have to wait has a listener.
            throw error == .permissionDenied ? error : .addressInUse
        }
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw LoopError(code: -errno) }
    }
}

/// Users and groups of this machine.
package enum SystemAccount {
    /// Of a name, or of a number as text.
    package static func userId(_ text: String) -> UInt32? {
        if let number = UInt32(text) { return number }
        var record = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        return unsafe withBuffer { buffer in
            guard unsafe getpwnam_r(text, &record, buffer.baseAddress!, buffer.count, &found) == 0,
                unsafe found != nil
            else { return nil }
            return unsafe record.pw_uid
        }
    }

    package static func groupId(_ text: String) -> UInt32? {
        if let number = UInt32(text) { return number }
        var record = unsafe group()
        var found: UnsafeMutablePointer<group>?
        return unsafe withBuffer { buffer in
            guard unsafe getgrnam_r(text, &record, buffer.baseAddress!, buffer.count, &found) == 0,
                unsafe found != nil
            else { return nil }
            return unsafe record.gr_gid
        }
    }

    /// Room for the texts of a record.
    private static func withBuffer<R>(
        _ body: (UnsafeMutableBufferPointer<CChar>) -> R
    ) -> R {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 * 1024) {
            unsafe body($0)
        }
    }
}
