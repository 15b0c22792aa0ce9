import CLibuv
import Glibc

/// Permissions and owner of a Unix socket's file.
public struct SocketFileAccess: Hashable, Sendable {
    /// Permission bits; by default read and write for owner and group only.
    public var mode: UInt32 = 0o660
    /// User id of the owner; nil keeps the process's own.
    public var owner: UInt32?
    /// Group id; nil keeps the process's own.
    public var group: UInt32?

    /// Creates the default access: mode 0660, owned by the process.
    public init() {}
}

/// Opens Unix sockets. A path that begins with `@` is an abstract name, which has no file.
enum UnixSocket {
    static func isAbstract(_ path: String) -> Bool { path.utf8.first == UInt8(ascii: "@") }

    /// Creates a socket that listens at the path. Replaces a socket file that has no listener.
    ///
    /// Two servers that start at the same time could each find the other's socket bound but not
    /// yet listening, and remove it as stale. A lock file prevents that.
    ///
    /// - Throws: `addressInUse` if another server listens, `notASocket` if the path is another
    ///   kind of file.
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
            // Linux creates the file with the socket's mode, so it never grants more than
            // `access`.
            if isFile, fchmod(descriptor, access.mode) != 0 { throw LoopError(code: -errno) }
            let code = unsafe withAddress(path) { unsafe Glibc.bind(descriptor, $0, $1) }
            guard code == 0 else { throw LoopError(code: -errno) }
            if isFile { file = try SocketFile(path, access) }
            // Connections are refused until this call.
            guard Glibc.listen(descriptor, backlog) == 0 else { throw LoopError(code: -errno) }
        } catch {
            file?.remove()
            _ = Glibc.close(descriptor)
            throw error
        }
        return (descriptor, file)
    }

    /// Returns a socket connected to the path. Never blocks: a full queue throws `EAGAIN`.
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
        // An abstract name ends by its length, a path by its NUL.
        let length = MemoryLayout<sa_family_t>.size + name.count + (isAbstract(path) ? 0 : 1)
        return unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe body(
                bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!, socklen_t(length))
        }
    }
}

/// The file of a Unix socket. It outlives the socket.
struct SocketFile {
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Sets the owner and mode of the file that was just bound. Never follows a symbolic link, in
    /// case the file was replaced.
    init(_ path: String, _ access: SocketFileAccess) throws(LoopError) {
        self.path = path
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { throw LoopError(code: -errno) }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket }
        device = status.st_dev
        inode = status.st_ino
        if access.owner != nil || access.group != nil {
            // An id with all bits set leaves the owner or group unchanged.
            let code = unsafe lchown(path, access.owner ?? .max, access.group ?? .max)
            guard code == 0 else { throw LoopError(code: -errno) }
        }
        // The mode is already right if the umask removed no bits.
        guard status.st_mode & Self.permissions != access.mode else { return }
        guard unsafe fchmodat(AT_FDCWD, path, access.mode, AT_SYMLINK_NOFOLLOW) == 0 else {
            throw LoopError(code: -errno)
        }
    }

    /// The permission bits of a file's mode.
    private static let permissions: mode_t = 0o7777

    /// Removes the file, unless another server has replaced it.
    func remove() {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_dev == device, status.st_ino == inode
        else { return }
        _ = unsafe unlink(path)
    }

    /// Removes a socket file that has no listener. Leaves any other file, and throws.
    static func removeStale(_ path: String) throws(LoopError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket }
        do throws(LoopError) {
            _ = Glibc.close(try UnixSocket.connect(path))
            throw .addressInUse
        } catch .connectionRefused {
            // The file is stale: no listener.
        } catch {
            // A full queue (`EAGAIN`) has a listener too.
            throw error == .permissionDenied ? error : .addressInUse
        }
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw LoopError(code: -errno) }
    }
}

/// Looks up users and groups of this machine.
package enum SystemAccount {
    /// Returns the user id for a name or a decimal number; nil for an unknown name.
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

    /// Lends a buffer for the strings of a passwd or group record.
    private static func withBuffer<R>(
        _ body: (UnsafeMutableBufferPointer<CChar>) -> R
    ) -> R {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 * 1024) {
            unsafe body($0)
        }
    }
}
