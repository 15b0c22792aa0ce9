import CLibuv
import Glibc

/// Waits for connections on one endpoint.
@safe
package final class Listener: Handle {
    /// Where it listens, with the port that the system chose where 0 was asked for.
    package private(set) var endpoint: Endpoint
    let isUnix: Bool
    private var onConnection: (Stream) -> Void
    private var isPaused = false
    /// A connection came while it was paused.
    private var isHolding = false

    /// Binds and listens. `backlog` is how many connections the system keeps until they are
    /// accepted. `onConnection` gets each one; it has to set a handler and start reading.
    ///
    /// A Unix socket gets mode 0660. A socket file that a server left behind is replaced, but one
    /// on which somebody listens, or any other file, is `addressInUse` or `notASocket`.
    package init(
        on loop: EventLoop, at endpoint: Endpoint, backlog: Int32 = 511,
        onConnection: @escaping (Stream) -> Void
    ) throws(LoopError) {
        self.endpoint = endpoint
        self.onConnection = onConnection
        var isUnix = false
        if case .unix = endpoint { isUnix = true }
        self.isUnix = isUnix
        try unsafe super.init(on: loop, type: isUnix ? UV_NAMED_PIPE : UV_TCP) { handle in
            let raw = UnsafeMutableRawPointer(handle)
            return isUnix
                ? unsafe uv_pipe_init(loop.uv, raw.assumingMemoryBound(to: uv_pipe_t.self), 0)
                : unsafe uv_tcp_init(loop.uv, raw.assumingMemoryBound(to: uv_tcp_t.self))
        }
        do throws(LoopError) {
            try bind()
            try listen(backlog: backlog)
        } catch {
            close()
            throw error
        }
    }

    var stream: UnsafeMutablePointer<uv_stream_t> { unsafe pointer(as: uv_stream_t.self) }

    private func bind() throws(LoopError) {
        switch endpoint {
        case .tcp(let host, let port):
            let tcp = unsafe pointer(as: uv_tcp_t.self)
            let code = try unsafe Resolution.withAddress(host: host, port: port, on: loop) {
                address in
                unsafe uv_tcp_bind(tcp, address, 0)
            }
            try LoopError.check(code)
        case .unix(let path):
            guard path.utf8.count <= Endpoint.pathLimit else { throw .pathTooLong }
            try UnixSocketFile.removeStale(path)
            try LoopError.check(unsafe uv_pipe_bind(pointer(as: uv_pipe_t.self), path))
            // Between bind and listen nobody can connect.
            guard unsafe chmod(path, 0o660) == 0 else { throw .permissionDenied }
        }
    }

    private func listen(backlog: Int32) throws(LoopError) {
        try LoopError.check(
            unsafe uv_listen(stream, backlog) { handle, code in
                let listener = unsafe Handle.object(Listener.self, of: handle)
                listener.didConnect(code)
            })
        if case .tcp(let host, _) = endpoint {
            endpoint = .tcp(host: host, port: try boundPort())
        }
    }

    private func boundPort() throws(LoopError) -> UInt16 {
        var storage = sockaddr_storage()
        var length = Int32(MemoryLayout<sockaddr_storage>.size)
        let tcp = unsafe pointer(as: uv_tcp_t.self)
        // The port is at the same place in sockaddr_in and sockaddr_in6.
        let (code, port) = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            let address = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            let code = unsafe uv_tcp_getsockname(tcp, address, &length)
            return (code, unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
        }
        try LoopError.check(code)
        return port
    }

    /// Leaves the next ones to wait, in the system's queue.
    package func pause() { isPaused = true }

    package func resume() {
        isPaused = false
        guard isHolding else { return }
        isHolding = false
        didConnect(0)
    }

    private func didConnect(_ code: Int32) {
        guard !isPaused else {
            // libuv waits for this one to be taken, and looks for no other meanwhile.
            isHolding = code == 0
            return
        }
        // A connection that went before it was accepted, or a shortage: the next one may do.
        guard code == 0, !isClosing, let stream = try? Stream.accept(from: self) else { return }
        onConnection(stream)
    }

    override func didClose() { onConnection = { _ in } }
}

/// The file that a Unix socket leaves behind when its server was killed.
enum UnixSocketFile {
    /// Removes a socket file on which nobody listens; everything else stays, and is an error.
    static func removeStale(_ path: String) throws(LoopError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notASocket }
        guard isRefused(path) else { throw .addressInUse }
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw .permissionDenied }
    }

    /// Whether a connection is refused; one that would have to wait has a listener.
    private static func isRefused(_ path: String) -> Bool {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue),
            0)
        guard descriptor >= 0 else { return false }
        defer { _ = Glibc.close(descriptor) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            unsafe field.copyBytes(from: path.utf8.prefix(Endpoint.pathLimit))
        }
        let code = unsafe withUnsafeBytes(of: &address) { bytes in
            unsafe Glibc.connect(
                descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!,
                socklen_t(bytes.count))
        }
        return code != 0 && errno == ECONNREFUSED
    }
}
