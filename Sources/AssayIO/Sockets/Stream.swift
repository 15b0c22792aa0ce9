/// A TCP or Unix socket connection. Used only on its loop's thread.
@safe
package final class Stream {
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

    package let loop: EventLoop
    let socket: any StreamSocket
    package private(set) var isClosing = false
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
    /// Whether the socket is read. With TLS it rests until the bytes of earlier reads are used.
    private var readsSocket = false
    /// The TLS state; nil for plaintext.
    var tls: TLSLayer?
    /// The TLS settings of a client connection, used once it has connected.
    var tlsToBegin: (context: TLSContext, host: String)?
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

    /// Creates the stream of a socket. A connected one is read from `resumeReading` on.
    package init(
        _ socket: any StreamSocket, on loop: EventLoop,
        handler: @escaping (Event) -> Void = { _ in }
    ) {
        loop.preconditionCurrent()
        self.loop = loop
        self.socket = socket
        self.handler = handler
        socket.stream = self
    }

    /// The socket's descriptor; -1 without one. The system assigns the lowest free number, so all
    /// lower numbers were in use when it was opened.
    package var descriptor: Int32 { socket.descriptor }

    /// User id of the peer of a Unix socket; nil for TCP.
    package var peerUser: UInt32? { socket.peerUser }

    /// The client that it is from. Asked once: a socket forgets a peer that has left.
    package private(set) lazy var peer: PeerKey = socket.peer

    /// Whether the peer closed or reset the connection and nothing is left to read. For a stream
    /// that is not reading; a reading stream gets an event.
    package var hasPeerLeft: Bool { socket.hasPeerLeft }

    /// Whether the peer can receive nothing more. For a stream that is not reading, as above.
    package var isPeerGone: Bool { socket.isPeerGone }

    /// Bytes of memory that TLS has for it.
    package var securityBytes: Int { tls?.heldBytes ?? 0 }

    /// Bytes in the system's receive buffer that were not read yet; 0 if the system does not
    /// report them.
    package var unreadBySystem: Int { socket.unreadCount }

    /// Takes the connection away for another loop, before anything was read of it. Closes the
    /// stream.
    package func detach() -> (any DetachedConnection)? {
        defer { close() }
        return socket.detach()
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
        socket.stopReading()
    }

    func startSocket() {
        guard !readsSocket, !hasEnded, !isClosing, !hasFailed else { return }
        readsSocket = true
        do throws(LoopError) {
            try socket.startReading()
        } catch {
            fail(error)
        }
    }

    /// Memory for the next read of the socket, which `didRead` follows.
    func lend() -> UnsafeMutableRawBufferPointer {
        loop.didPoll()
        if let tls { return unsafe lendForCiphertext(tls) }
        let space = received.lend(from: &loop.arena)
        return unsafe UnsafeMutableRawBufferPointer(
            start: space.slab.memory + space.start, count: space.count)
    }

    /// Reads bytes of a socket that has no read of its own, up to the memory that is lent for one
    /// read.
    ///
    /// - Returns: their number.
    package func read(from bytes: Span<UInt8>) -> Int {
        let memory = unsafe lend()
        let count = min(bytes.count, memory.count)
        unsafe bytes.extracting(first: count).withUnsafeBytes { bytes in
            unsafe memory.copyMemory(from: bytes)
        }
        didRead(.bytes(count))
        return count
    }

    package func didRead(_ result: SocketRead) {
        var count = 0
        if case .bytes(let number) = result {
            count = number
        } else {
            // The socket is not read after its end, or an error.
            readsSocket = false
        }
        loop.traffic.received &+= UInt64(count)
        readTotal &+= UInt64(count)
        if let tls {
            return isFinishing ? discard(result) : didReadCiphertext(result, tls)
        }
        received.receive(count, into: &loop.arena)
        if isFinishing {
            discard(result)
        } else {
            switch result {
            case .bytes(let count): if count > 0 { handler(.received) }
            case .ended: endReading()
            case .failed(let error):
                pauseReading()
                fail(error)
            }
        }
        received.compact(&loop.arena)
    }

    func endReading() {
        pauseReading()
        guard !hasEnded else { return }
        hasEnded = true
        handler(.ended)
    }

    func handle(_ event: Event) { handler(event) }

    private func discard(_ result: SocketRead) {
        received.skip(received.unreadCount)
        switch result {
        case .bytes(let count):
            discardedCount += count
            if discardedCount > discardLimit { close() }
        case .ended where !hasShutDown:
            // The peer closed its writing side. It can still read the pending bytes.
            hasEnded = true
            stopSocket()
        case .ended, .failed: close()
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
    package var unwrittenCount: Int { socket.unwrittenCount }

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
        do throws(LoopError) {
            try socket.write(bytes)
        } catch {
            fail(error)
        }
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
        do throws(LoopError) {
            try socket.shutDown()
        } catch {
            close()
        }
    }

    // MARK: Callbacks of the socket

    /// - Parameter error: nil if the system has taken the bytes.
    package func didWrite(_ error: LoopError?) {
        loop.didPoll()
        if let error {
            fail(error)
        } else if !isClosing {
            handler(.written)
        }
    }

    package func didConnect(_ error: LoopError?) {
        if let error { return fail(error) }
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

    /// Closes if the peer has ended too; otherwise reading continues until it does.
    package func didShutDown(_ error: LoopError?) {
        hasShutDown = true
        if error != nil || hasEnded { close() }
    }

    /// Closes the socket. No callback follows but `.closed`. Closing twice does nothing.
    package func close() {
        loop.preconditionCurrent()
        guard !isClosing else { return }
        isClosing = true
        socket.close()
    }

    /// The loop closes the socket.
    func willClose() { isClosing = true }

    package func didClose() {
        let last = handler
        handler = { _ in }
        received.removeAll()
        tls = nil
        last(.closed)
        onClose?()
        onClose = nil
    }

    func fail(_ error: LoopError) {
        guard !hasFailed, !isClosing else { return }
        hasFailed = true
        if isFinishing { close() } else { handler(.failed(error)) }
    }
}
