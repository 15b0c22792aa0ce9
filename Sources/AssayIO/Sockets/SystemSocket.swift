import CLibuv
import Glibc

/// A connected socket of the system, by libuv.
@safe
final class SystemSocket: SocketHandle, StreamSocket {
    var stream: Stream?

    /// Accepts the listener's next connection.
    static func accept(from listener: Listener) throws(LoopError) -> SystemSocket {
        let socket = try SystemSocket(on: listener.loop, isUnix: listener.isUnix)
        let code = unsafe uv_accept(listener.uvStream, socket.uvStream)
        guard code == 0 else {
            socket.close()
            throw LoopError(code: code)
        }
        socket.tune()
        return socket
    }

    /// Takes ownership of the descriptor of a connection, which closes on an error.
    static func open(
        _ descriptor: Int32, isUnix: Bool, on loop: EventLoop
    ) throws(LoopError) -> SystemSocket {
        let socket: SystemSocket
        do throws(LoopError) {
            socket = try SystemSocket(on: loop, isUnix: isUnix)
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
        do throws(LoopError) {
            try socket.adopt(descriptor)
        } catch {
            socket.close()
            throw error
        }
        socket.tune()
        return socket
    }

    func detach() -> (any DetachedConnection)? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        return copy >= 0 ? DetachedSocket(copy, isUnix: isUnix) : nil
    }

    // MARK: The peer

    var peerUser: UInt32? {
        var peer = assay_peer()
        var length = socklen_t(MemoryLayout<assay_peer>.size)
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length)
        // The call succeeds for TCP sockets too, with an unknown user.
        return isUnix && code == 0 ? peer.user : nil
    }

    var peer: PeerKey {
        if let user = peerUser { return .user(user) }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            let address = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!
            return unsafe getpeername(descriptor, address, &length)
        }
        guard code == 0 else { return .unknown }
        return unsafe withUnsafeBytes(of: storage) { bytes in
            unsafe PeerKey(family: Int32(storage.ss_family), address: bytes.bytes)
        }
    }

    var hasPeerLeft: Bool {
        var byte: UInt8 = 0
        let flags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
        let count = unsafe recv(descriptor, &byte, 1, flags)
        return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
    }

    var isPeerGone: Bool {
        var socket = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&socket, 1, 0) > 0 && socket.revents & Int16(POLLHUP | POLLERR) != 0
    }

    var unreadCount: Int {
        var count: Int32 = 0
        return unsafe ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    // MARK: Reading

    func startReading() throws(LoopError) {
        let code = unsafe uv_read_start(
            uvStream,
            { handle, _, buffer in
                let socket = unsafe Handle.object(SystemSocket.self, of: handle)
                // Only an open socket is read, and it has its stream.
                let memory = unsafe socket.stream!.lend()
                unsafe buffer!.pointee.base = memory.assumingMemoryBound(to: CChar.self).baseAddress
                unsafe buffer!.pointee.len = memory.count
            },
            { handle, count, _ in
                let socket = unsafe Handle.object(SystemSocket.self, of: handle)
                socket.stream?.didRead(socket.outcome(of: count))
            })
        try LoopError.check(code)
    }

    func stopReading() { _ = unsafe uv_read_stop(uvStream) }

    private func outcome(of result: Int) -> SocketRead {
        if result >= 0 { return .bytes(result) }
        guard result == Int(UV_EOF.rawValue) else {
            return .failed(LoopError(code: Int32(result)))
        }
        return error.map { .failed($0) } ?? .ended
    }

    /// The socket's error, which libuv's end of the stream can hide.
    ///
    /// After a read that emptied the socket, libuv reports a reset as the end, because the system
    /// says only that the connection is over in both directions. A peer that ended its writing can
    /// still read answers; one that reset the connection cannot.
    private var error: LoopError? {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
        // libuv's codes of system errors are the negative error numbers.
        return code == 0 && error != 0 ? LoopError(code: -error) : nil
    }

    // MARK: Writing

    var unwrittenCount: Int { unsafe uv_stream_get_write_queue_size(uvStream) }

    func write(_ bytes: [UInt8]) throws(LoopError) {
        let written = unsafe bytes.withUnsafeBufferPointer { bytes in
            var buffer = unsafe Self.buffer(bytes)
            return Int(unsafe uv_try_write(uvStream, &buffer, 1))
        }
        // The write that follows reports any error in its callback.
        let done = max(written, 0)
        if done < bytes.count { try Write.start(bytes, from: done, to: self) }
    }

    static func buffer(_ bytes: UnsafeBufferPointer<UInt8>) -> uv_buf_t {
        let base = unsafe UnsafeMutableRawPointer(mutating: UnsafeRawPointer(bytes.baseAddress))
        return unsafe uv_buf_init(
            base?.assumingMemoryBound(to: CChar.self), UInt32(bytes.count))
    }

    func shutDown() throws(LoopError) { try ShutDown.start(self) }

    // MARK: Options

    /// Disables Nagle's algorithm, so that answers leave when they are written, and enables
    /// keep-alive, which detects a dead machine.
    func tune() {
        guard !isUnix else { return }
        _ = unsafe uv_tcp_nodelay(pointer(as: uv_tcp_t.self), 1)
        _ = unsafe uv_tcp_keepalive(pointer(as: uv_tcp_t.self), 1, 60)
    }

    /// Bytes of a client that the system takes before it can send them, 128 KiB. Without the bound
    /// they are megabytes while a server does not read, and a request waits where no deadline
    /// counts. Bytes in transit are not among them.
    private static let unsentLimit: Int32 = 128 * 1024

    func boundUnsent() {
        guard !isUnix else { return }
        var limit = Self.unsentLimit
        let size = socklen_t(MemoryLayout<Int32>.size)
        // Optional: without it, requests wait longer in an overload.
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &limit, size)
    }

    override func willClose() { stream?.willClose() }

    override func didClose() {
        let closed = stream
        stream = nil
        closed?.didClose()
    }
}

/// The descriptor of a connection that belongs to no loop.
final class DetachedSocket: DetachedConnection {
    private let descriptor: Locked<Int32?>
    private let isUnix: Bool

    init(_ descriptor: Int32, isUnix: Bool) {
        self.descriptor = Locked(descriptor)
        self.isUnix = isUnix
    }

    func open(on loop: EventLoop) throws(LoopError) -> Stream {
        let taken = descriptor.withLock { $0.take() }
        guard let taken else { preconditionFailure("a connection is opened once") }
        return Stream(try SystemSocket.open(taken, isUnix: isUnix, on: loop), on: loop)
    }

    deinit {
        if let left = descriptor.withLock({ $0.take() }) { _ = Glibc.close(left) }
    }
}

extension LoopError? {
    /// The error of a callback's code; nil for success.
    static func of(_ code: Int32) -> LoopError? { code < 0 ? LoopError(code: code) : nil }
}
