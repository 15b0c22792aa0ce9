import CLibuv
import Glibc

/// A TCP or Unix socket connection. Used only on its loop's thread.
@safe
package final class Stream: SocketHandle {
    package enum Event {
        /// The connection is established (with TLS, the handshake has ended); reading has begun.
        case connected
        /// `received` has more bytes.
        case received
        /// The peer closed its writing side; it can still read.
        case ended
        /// The system has taken earlier writes: `unwrittenCount` has shrunk.
        case written
        /// The stream is unusable; close it. At most once.
        case failed(LoopError)
        /// The last event, after `close`.
        case closed
    }

    /// Received bytes that were not taken yet. Bytes that the handler of `.received` leaves stay
    /// here.
    package var received = ReceiveBuffer()
    private var handler: (Event) -> Void
    /// The endpoint of the listener that accepted it; nil for a client's stream.
    package var endpoint: Endpoint?
    /// Called once when the stream has closed, whichever handler is set by then.
    package var onClose: (() -> Void)?
    /// Bytes read from the socket so far; with TLS, ciphertext bytes.
    package private(set) var readTotal: UInt64 = 0
    /// Whether the owner takes received bytes.
    private(set) var isReading = false
    /// Whether libuv reads the socket. With TLS it rests until the bytes of earlier reads are used.
    private var readsSocket = false
    /// The TLS state; nil for plaintext.
    var tls: TLSLayer?
    /// The TLS settings of a client connection, used once it has connected.
    private var tlsToBegin: (context: TLSContext, host: String)?
    /// The peer closed its writing side, so reading can't resume.
    private var hasEnded = false
    private var hasFailed = false
    /// Set by `finish`: further bytes are read and discarded.
    package private(set) var isFinishing = false
    /// Default limit of discarded bytes, 64 MiB: two frames of the default limit. A peer that sends
    /// more is cut off.
    package static let usualDiscardLimit = 64 * 1024 * 1024
    private var discardLimit = usualDiscardLimit
    private var discardedCount = 0
    private var hasShutDown = false

    private init(
        on loop: EventLoop, isUnix: Bool, handler: @escaping (Event) -> Void
    ) throws(LoopError) {
        self.handler = handler
        try super.init(on: loop, isUnix: isUnix)
    }

    /// Accepts the listener's next connection. Reading starts with `resumeReading`.
    static func accept(from listener: Listener) throws(LoopError) -> Stream {
        let stream = try Stream(on: listener.loop, isUnix: listener.isUnix) { _ in }
        let code = unsafe uv_accept(listener.uvStream, stream.uvStream)
        guard code == 0 else {
            stream.close()
            throw LoopError(code: code)
        }
        stream.tune()
        return stream
    }

    /// Wraps a connection that was accepted from the listener's queue without libuv.
    static func open(_ descriptor: Int32, from listener: Listener) throws(LoopError) -> Stream {
        let stream: Stream
        do throws(LoopError) {
            stream = try Stream(on: listener.loop, isUnix: listener.isUnix) { _ in }
        } catch {
            _ = Glibc.close(descriptor)
            throw error
        }
        do throws(LoopError) {
            try stream.adopt(descriptor)
        } catch {
            stream.close()
            throw error
        }
        stream.tune()
        return stream
    }

    /// User id of the peer of a Unix socket; nil for TCP.
    package var peerUser: UInt32? {
        var peer = assay_peer()
        var length = socklen_t(MemoryLayout<assay_peer>.size)
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length)
        // The call succeeds for TCP sockets too, with an unknown user.
        return isUnix && code == 0 ? peer.user : nil
    }

    /// Whether the peer closed or reset the connection and nothing is left to read. For a stream
    /// that is not reading; a reading stream gets an event.
    package var hasPeerLeft: Bool {
        var byte: UInt8 = 0
        let flags = Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)
        let count = unsafe recv(descriptor, &byte, 1, flags)
        return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
    }

    /// Bytes in the system's receive buffer that were not read yet; 0 if the system does not
    /// report them.
    package var unreadBySystem: Int {
        var count: Int32 = 0
        return unsafe ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    /// Connects to the endpoint. `handler` gets `.connected` or `.failed`. Closing the stream
    /// cancels the attempt.
    /// - Parameter tls: required for TLS endpoints, ignored for others.
    package static func connect(
        to endpoint: Endpoint, on loop: EventLoop, tls: TLSContext? = nil,
        handler: @escaping (Event) -> Void
    ) throws(LoopError) -> Stream {
        switch endpoint {
        case .unix(let path):
            let stream = try Stream(on: loop, isUnix: true, handler: handler)
            if UnixSocket.isAbstract(path) {
                try stream.connect(abstract: path)
            } else {
                stream.connect(path: path)
            }
            return stream
        // Assay has no HTTP client.
        case .inherited, .http, .https, .unixHTTP: throw .addressNotAvailable
        case .tcp(let host, let port), .tls(let host, let port):
            let stream = try Stream(on: loop, isUnix: false, handler: handler)
            if case .tls = endpoint {
                guard let tls else {
                    stream.close()
                    throw .tls(.unusable("the client", "it has no settings for TLS"))
                }
                stream.tlsToBegin = (tls, host)
            }
            do throws(LoopError) {
                try Resolution.start(host: host, port: port, for: stream)
            } catch {
                stream.close()
                throw error
            }
            return stream
        }
    }

    /// Replaces the handler; it gets all further events.
    package func setHandler(_ handler: @escaping (Event) -> Void) {
        loop.preconditionCurrent()
        self.handler = handler
    }

    // MARK: Reading

    package func pauseReading() {
        guard isReading, !isFinishing else { return }
        isReading = false
        stopSocket()
    }

    package func resumeReading() {
        guard !isReading, !hasEnded, !isClosing, !hasFailed else { return }
        isReading = true
        if !resumeTLS() { startSocket() }
    }

    func stopSocket() {
        guard readsSocket else { return }
        readsSocket = false
        _ = unsafe uv_read_stop(uvStream)
    }

    func startSocket() {
        guard !readsSocket, !hasEnded, !isClosing, !hasFailed else { return }
        readsSocket = true
        let code = unsafe uv_read_start(
            uvStream,
            { handle, _, buffer in
                let stream = unsafe Handle.object(Stream.self, of: handle)
                stream.loop.didPoll()
                if let tls = stream.tls {
                    unsafe stream.lendForCiphertext(to: buffer!, tls)
                } else {
                    unsafe stream.lend(to: buffer!)
                }
            },
            { handle, count, _ in
                let stream = unsafe Handle.object(Stream.self, of: handle)
                stream.didRead(count)
            })
        if code < 0 { fail(LoopError(code: code)) }
    }

    private func lend(to buffer: UnsafeMutablePointer<uv_buf_t>) {
        let space = received.lend(from: &loop.arena)
        unsafe buffer.pointee.base = UnsafeMutableRawPointer(space.slab.memory + space.start)
            .assumingMemoryBound(to: CChar.self)
        unsafe buffer.pointee.len = space.count
    }

    private func didRead(_ result: Int) {
        // libuv has stopped to read.
        if result < 0 { readsSocket = false }
        let count = result == Int(UV_EOF.rawValue) ? resultAtEnd : result
        loop.traffic.received &+= UInt64(max(count, 0))
        readTotal &+= UInt64(max(count, 0))
        if let tls {
            return isFinishing ? discard(count) : didReadCiphertext(count, tls)
        }
        received.receive(max(count, 0), into: &loop.arena)
        if isFinishing {
            discard(count)
        } else if count > 0 {
            handler(.received)
        } else if count == Int(UV_EOF.rawValue) {
            endReading()
        } else if count < 0 {
            pauseReading()
            fail(LoopError(code: Int32(count)))
        }
        received.compact(&loop.arena)
    }

    /// What libuv's end of the stream was: the end, or the socket's error.
    ///
    /// After a read that emptied the socket, libuv reports a reset as the end, because the system
    /// says only that the connection is over in both directions. A peer that ended its writing can
    /// still read answers; one that reset the connection cannot.
    private var resultAtEnd: Int {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let code = unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length)
        // libuv's codes of system errors are the negative error numbers.
        return code == 0 && error != 0 ? Int(-error) : Int(UV_EOF.rawValue)
    }

    func endReading() {
        pauseReading()
        guard !hasEnded else { return }
        hasEnded = true
        handler(.ended)
    }

    func handle(_ event: Event) { handler(event) }

    private func discard(_ count: Int) {
        received.skip(received.unreadCount)
        discardedCount += max(count, 0)
        if count == Int(UV_EOF.rawValue), !hasShutDown {
            // The peer closed its writing side. It can still read the pending bytes.
            hasEnded = true
            stopSocket()
        } else if count < 0 || discardedCount > discardLimit {
            close()
        }
    }

    /// Copies bytes into memory that is counted like received bytes.
    package func hold(_ bytes: Span<UInt8>) -> SlabBytes {
        let slab = Slab(capacity: bytes.count, pool: loop.arena.pool)
        slab.copy(bytes)
        return SlabBytes(slab: slab, range: 0..<bytes.count)
    }

    /// Frees the memory of bytes that were taken. Call it after taking bytes outside the handler
    /// of `.received`.
    package func compactReceived() { received.compact(&loop.arena) }

    // MARK: Writing

    /// Bytes passed to `write` that the system has not taken yet.
    package var unwrittenCount: Int { unsafe uv_stream_get_write_queue_size(uvStream) }

    /// Writes the bytes after all earlier ones. The system takes what it can at once and the rest
    /// as the peer reads; `.written` reports progress. Does nothing on a stream that is closing,
    /// finishing or has failed.
    package func write(_ bytes: [UInt8]) {
        guard !isClosing, !hasFailed, !isFinishing, !bytes.isEmpty else { return }
        if let tls {
            if let ciphertext = encrypt(bytes, tls) { send(ciphertext) }
        } else {
            send(bytes)
        }
    }

    func send(_ bytes: [UInt8]) {
        loop.traffic.written &+= UInt64(bytes.count)
        let written = unsafe bytes.withUnsafeBufferPointer { bytes in
            var buffer = unsafe Self.buffer(bytes)
            return Int(unsafe uv_try_write(uvStream, &buffer, 1))
        }
        // The write that follows reports any error in its callback.
        let done = max(written, 0)
        if done < bytes.count { Write.start(bytes, from: done, to: self) }
    }

    /// Writes pending bytes, shuts down the writing side, and closes once the peer has closed its
    /// own. Closing with unread bytes would make the system reset the connection, and the peer
    /// would lose the last answers. The owner limits the wait with `close`.
    ///
    /// - Parameter limit: bytes from the peer that are discarded; more close the stream.
    package func finish(discarding limit: Int = usualDiscardLimit) {
        guard !isClosing, !hasFailed, !isFinishing else { return }
        discardLimit = limit
        if let tls, case let end = encryptEnd(tls), !end.isEmpty { send(end) }
        isFinishing = true
        received.removeAll()
        // Reading starts now: a peer that still writes might not read before it is done.
        resumeReading()
        startSocket()
        ShutDown.start(self)
    }

    static func buffer(_ bytes: UnsafeBufferPointer<UInt8>) -> uv_buf_t {
        let base = unsafe UnsafeMutableRawPointer(mutating: UnsafeRawPointer(bytes.baseAddress))
        return unsafe uv_buf_init(
            base?.assumingMemoryBound(to: CChar.self), UInt32(bytes.count))
    }

    // MARK: Callbacks

    func didWrite(_ code: Int32) {
        loop.didPoll()
        if code < 0 {
            fail(LoopError(code: code))
        } else if !isClosing {
            handler(.written)
        }
    }

    func didConnect(_ code: Int32) {
        guard code == 0 else { return fail(LoopError(code: code)) }
        tune()
        boundUnsent()
        guard let tlsToBegin else {
            handler(.connected)
            return resumeReading()
        }
        do throws(TLSError) {
            try secure(tlsToBegin.context, host: tlsToBegin.host)
        } catch {
            fail(.tls(error))
        }
    }

    func fail(_ error: LoopError) {
        guard !hasFailed, !isClosing else { return }
        hasFailed = true
        if isFinishing { close() } else { handler(.failed(error)) }
    }

    /// Disables Nagle's algorithm, so that answers leave when they are written, and enables
    /// keep-alive, which detects a dead machine.
    private func tune() {
        guard !isUnix else { return }
        _ = unsafe uv_tcp_nodelay(pointer(as: uv_tcp_t.self), 1)
        _ = unsafe uv_tcp_keepalive(pointer(as: uv_tcp_t.self), 1, 60)
    }

    /// Bytes of a client that the system takes before it can send them, 128 KiB. Without the bound
    /// they are megabytes while a server does not read, and a request waits where no deadline
    /// counts. Bytes in transit are not among them.
    private static let unsentLimit: Int32 = 128 * 1024

    private func boundUnsent() {
        guard !isUnix else { return }
        var limit = Self.unsentLimit
        let size = socklen_t(MemoryLayout<Int32>.size)
        // Optional: without it, requests wait longer in an overload.
        _ = unsafe setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &limit, size)
    }

    override func didClose() {
        let last = handler
        handler = { _ in }
        received.removeAll()
        tls = nil
        last(.closed)
        onClose?()
        onClose = nil
    }
}

extension Stream {
    /// Closes if the peer has ended too; otherwise reading continues until it does.
    func didShutDown(_ code: Int32) {
        hasShutDown = true
        if code < 0 || hasEnded { close() }
    }
}
