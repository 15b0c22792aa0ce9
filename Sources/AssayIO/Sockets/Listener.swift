import CLibuv
import Glibc

/// Accepts connections on one endpoint.
@safe
package final class Listener: SocketHandle, StreamListener {
    /// The endpoint it listens on. Port 0 is replaced by the port that the system chose.
    package private(set) var endpoint: Endpoint
    private var onConnection: (Stream) -> Void
    package private(set) var isPaused = false
    /// A connection arrived while paused, and waits to be accepted.
    private var isHolding = false

    /// The file of a Unix socket that this listener created.
    private var file: SocketFile?
    /// The socket belongs to the service manager, which keeps it after this listener has closed.
    private let isInherited: Bool

    /// Default length of the accept queue, as in nginx and Redis. The system caps it at its own
    /// limit.
    package static let usualBacklog: Int32 = 511

    /// Binds and listens. `backlog` is the length of the system's accept queue. `onConnection`
    /// gets each connection; it has to set a handler and start reading.
    ///
    /// Replaces a stale socket file. Throws `addressInUse` if the socket file has a listener,
    /// `notASocket` if the path is another kind of file.
    package convenience init(
        on loop: EventLoop, at endpoint: Endpoint, access: SocketFileAccess = SocketFileAccess(),
        backlog: Int32 = usualBacklog, onConnection: @escaping (Stream) -> Void
    ) throws(LoopError) {
        guard let path = endpoint.unixPath else {
            try self.init(on: loop, endpoint, isUnix: false, onConnection: onConnection)
            try begin(backlog) { () throws(LoopError) in try bindTCP() }
            return
        }
        try self.init(on: loop, endpoint, isUnix: true, onConnection: onConnection)
        try begin(backlog) { () throws(LoopError) in
            let bound = try UnixSocket.listen(path, access, backlog: backlog)
            file = bound.file
            try adopt(bound.descriptor)
        }
    }

    /// Listens on a socket that the service manager passed to the process.
    package convenience init(
        on loop: EventLoop, inheriting socket: InheritedSocket, tls: Bool = false,
        backlog: Int32 = usualBacklog, onConnection: @escaping (Stream) -> Void
    ) throws(LoopError) {
        try self.init(
            on: loop, .inherited(name: socket.name, tls: tls), isUnix: socket.isUnix,
            isInherited: true, onConnection: onConnection)
        try begin(backlog) { () throws(LoopError) in try adopt(socket.descriptor) }
    }

    private init(
        on loop: EventLoop, _ endpoint: Endpoint, isUnix: Bool, isInherited: Bool = false,
        onConnection: @escaping (Stream) -> Void
    ) throws(LoopError) {
        self.endpoint = endpoint
        self.isInherited = isInherited
        self.onConnection = onConnection
        try super.init(on: loop, isUnix: isUnix)
    }

    private func begin(
        _ backlog: Int32, bind: () throws(LoopError) -> Void
    ) throws(LoopError) {
        do throws(LoopError) {
            try bind()
            try listen(backlog: backlog)
        } catch {
            close()
            throw error
        }
    }

    private func bindTCP() throws(LoopError) {
        guard let (host, port) = endpoint.hostAndPort else { return }
        let tcp = unsafe pointer(as: uv_tcp_t.self)
        let code = try unsafe NameResolution.withAddress(host: host, port: port, on: loop) {
            address in
            unsafe uv_tcp_bind(tcp, address, 0)
        }
        try LoopError.check(code)
    }

    private func listen(backlog: Int32) throws(LoopError) {
        try LoopError.check(
            unsafe uv_listen(uvStream, backlog) { handle, code in
                let listener = unsafe Handle.object(Listener.self, of: handle)
                listener.didConnect(code)
            })
        if endpoint.hostAndPort != nil {
            endpoint = endpoint.with(port: try boundPort())
        }
    }

    /// Stops accepting. Further connections wait in the system's queue.
    package func pause() { isPaused = true }

    package func resume() {
        isPaused = false
        guard isHolding else { return }
        isHolding = false
        didConnect(0)
    }

    private func didConnect(_ code: Int32) {
        loop.didPoll()
        guard !isPaused else {
            // libuv waits until this connection is accepted, and polls for no other.
            isHolding = code == 0
            return
        }
        // The connection was aborted, or a resource is short: the next one can succeed.
        guard code == 0, !isClosing, let socket = try? SystemSocket.accept(from: self) else {
            return
        }
        onConnection(Stream(socket, on: loop))
    }

    /// Closes the listener. Accepts queued connections first, so that they are not reset.
    package func finish() {
        guard !isClosing else { return }
        // Connections queued in an inherited socket stay there for the next process.
        guard !isInherited else { return close() }
        refuseNewHandshakes()
        resume()
        // Without a free descriptor the queue stays as it is, and nothing more can be accepted.
        while !isClosing, acceptNext() || handshakeEnds() && acceptNext() {}
        close()
    }

    /// Accepts the next connection of the system's queue. Returns false if that is impossible.
    private func acceptNext() -> Bool {
        guard let descriptor = acceptWaiting() else { return false }
        let socket = try? SystemSocket.open(descriptor, isUnix: isUnix, on: loop)
        if let socket { onConnection(Stream(socket, on: loop)) }
        return true
    }

    /// How long `finish` waits for the end of a TCP handshake: several round trips of a data
    /// center. A client's side of the connection can be open before the server's is.
    private static let handshakeMilliseconds: Int32 = 5

    /// Waits for the end of a handshake that has begun. New ones are refused, so that this ends.
    private func handshakeEnds() -> Bool {
        guard !isUnix else { return false }
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&waiting, 1, Self.handshakeMilliseconds) > 0
    }

    /// The next connection of the system's queue; nil if there is none or on an error.
    private func acceptWaiting() -> Int32? {
        while true {
            let accepted = accept(descriptor, nil, nil)
            if accepted >= 0 {
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                return accepted
            }
            // A connection aborted while queued does not end the loop over the queue.
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }

    /// Lets no more connections into the queue, so that closing resets none. The first packet of a
    /// TCP handshake is dropped, and its client tries again, as with a machine that has just lost
    /// its server. Unix sockets refuse.
    package func refuseNewHandshakes() {
        guard !isUnix else {
            _ = shutdown(descriptor, Int32(SHUT_RD))
            return
        }
        // Classic BPF: the filter sees a packet from its TCP header on (RFC 9293, section 3.1).
        func code(_ code: Int32) -> UInt16 { UInt16(code) }
        let (flags, syn) = (UInt32(13), UInt32(TH_SYN))
        let filter = [
            sock_filter(code: code(BPF_LD | BPF_B | BPF_ABS), jt: 0, jf: 0, k: flags),
            sock_filter(code: code(BPF_JMP | BPF_JSET | BPF_K), jt: 0, jf: 1, k: syn),
            sock_filter(code: code(BPF_RET | BPF_K), jt: 0, jf: 0, k: 0),
            sock_filter(code: code(BPF_RET | BPF_K), jt: 0, jf: 0, k: .max),
        ]
        Self.attach(filter, to: descriptor)
    }

    /// Lets a socket receive what the filter does not drop.
    static func attach(_ filter: [sock_filter], to descriptor: Int32) {
        var filter = filter
        unsafe filter.withUnsafeMutableBufferPointer { filter in
            var program = unsafe sock_fprog(
                len: UInt16(filter.count), filter: filter.baseAddress)
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                socklen_t(MemoryLayout<sock_fprog>.size))
        }
    }

    override func willClose() {
        file?.remove()
        file = nil
    }

    override func didClose() { onConnection = { _ in } }
}
