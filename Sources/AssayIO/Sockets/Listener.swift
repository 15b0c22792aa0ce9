import CLibuv
import Glibc

/// Waits for connections on one endpoint.
@safe
package final class Listener: SocketHandle {
    /// Where it listens, with the port that the system chose where 0 was asked for.
    package private(set) var endpoint: Endpoint
    private var onConnection: (Stream) -> Void
    package private(set) var isPaused = false
    /// A connection came while it was paused.
    private var isHolding = false

    /// The file of a Unix socket of its own.
    private var file: SocketFile?
    /// The socket is somebody else's, who goes on with it when this listener has closed.
    private let isInherited: Bool

    /// Connections that wait to be accepted: as many as nginx and Redis ask for. The system cuts it
    /// to its own limit.
    package static let usualBacklog: Int32 = 511

    /// Binds and listens. `backlog` is how many connections the system keeps until they are
    /// accepted. `onConnection` gets each one; it has to set a handler and start reading.
    ///
    /// A socket file that a server left behind is replaced, but one on which somebody listens, or
    /// any other file, is `addressInUse` or `notASocket`.
    package convenience init(
        on loop: EventLoop, at endpoint: Endpoint, access: SocketFileAccess = SocketFileAccess(),
        backlog: Int32 = usualBacklog, onConnection: @escaping (Stream) -> Void
    ) throws(LoopError) {
        guard case .unix(let path) = endpoint else {
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

    /// Listens on a socket that the process was started with.
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
        let code = try unsafe Resolution.withAddress(host: host, port: port, on: loop) { address in
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
        let socket = descriptor
        switch endpoint {
        case .tcp(let host, _):
            endpoint = .tcp(host: host, port: try ListeningSocket.port(of: socket))
        case .tls(let host, _):
            endpoint = .tls(host: host, port: try ListeningSocket.port(of: socket))
        case .unix, .inherited: break
        }
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

    /// Closes. Who has connected by then is accepted first, and not reset.
    package func finish() {
        guard !isClosing else { return }
        // Who waits in an inherited socket waits for whoever goes on with it.
        guard !isInherited else { return close() }
        refuseArrivals()
        resume()
        while !isClosing, let descriptor = acceptWaiting() {
            guard let stream = try? Stream.open(descriptor, from: self) else { continue }
            onConnection(stream)
        }
        close()
    }

    /// The next of those that wait in the system's queue.
    private func acceptWaiting() -> Int32? {
        while true {
            let accepted = accept(descriptor, nil, nil)
            if accepted >= 0 {
                _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
                return accepted
            }
            // Whoever gave up while waiting is no reason to leave out the next.
            guard errno == EINTR || errno == ECONNABORTED else { return nil }
        }
    }

    /// From here on nobody joins the queue, or its last one would be reset after all: further
    /// packets are dropped before they make a connection, and their senders try again, as with a
    /// machine that has just lost its server; of a Unix socket they are refused.
    private func refuseArrivals() {
        if isUnix {
            _ = shutdown(descriptor, Int32(SHUT_RD))
        } else {
            var drop = sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: 0)
            unsafe withUnsafeMutablePointer(to: &drop) { instruction in
                var program = unsafe sock_fprog(len: 1, filter: instruction)
                _ = unsafe setsockopt(
                    descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program,
                    socklen_t(MemoryLayout<sock_fprog>.size))
            }
        }
    }

    override func willClose() {
        file?.remove()
        file = nil
    }

    override func didClose() { onConnection = { _ in } }
}
