/// A stream's TLS state. The stream's owner sees the same events and bytes with and without TLS.
final class TLSLayer {
    fileprivate var session: TLSSession
    fileprivate let context: TLSContext
    fileprivate(set) var isSecured = false
    /// TLS has failed: nothing can be encrypted or decrypted.
    fileprivate var isBroken = false
    /// The socket has ended; earlier bytes are possibly unread.
    fileprivate var hasSocketEnded = false
    fileprivate var isPumping = false
    /// Another turn will deliver the bytes of earlier reads.
    fileprivate var awaitsTurn = false
    /// Called when handshake bytes arrive; nil if the handshake continues by itself.
    fileprivate var onArrival: (() -> Void)?

    /// Bytes that OpenSSL has for it.
    var heldBytes: Int {
        (isSecured ? TLSSession.memoryBytes : TLSSession.handshakeMemoryBytes)
            + session.pendingCount
    }

    fileprivate init(
        _ context: TLSContext, host: String?, speaksHTTP: Bool, onArrival: (() -> Void)?
    ) throws(TLSError) {
        self.context = context
        self.onArrival = onArrival
        session = try TLSSession(context, host: host, speaksHTTP: speaksHTTP)
    }
}

extension Stream {
    /// Starts TLS. Received bytes that were not taken already belong to the handshake.
    /// `.connected` reports a successful handshake and `.failed` a failed one; `finish` then
    /// sends the peer the alert.
    ///
    /// - Parameter onArrival: called when more of the handshake has arrived, which then waits
    ///   for `continueHandshake`; nil continues it immediately.
    package func secure(
        _ context: TLSContext, host: String? = nil, onArrival: (() -> Void)? = nil
    ) throws(TLSError) {
        let layer = try TLSLayer(
            context, host: host, speaksHTTP: endpoint?.isHTTP == true, onArrival: onArrival)
        tls = layer
        if let early = received.unread {
            layer.session.feed(early.span)
            received.skip(early.count)
        }
        continueHandshake()
    }

    /// Processes received handshake bytes, and resumes reading.
    package func continueHandshake() {
        guard let tls, !tls.isPumping else { return }
        // `resumeReading` alone would process the bytes a turn later.
        tls.isPumping = true
        resumeReading()
        tls.isPumping = false
        pump()
    }

    /// Whether a server with this context accepts the peer: its authority and its names. The
    /// context can be newer than the handshake.
    package func isPeerAllowed(by context: TLSContext) -> Bool {
        guard let tls else { return true }
        if let authority = context.clientAuthority, authority != tls.context.clientAuthority,
            !tls.session.peerIsTrusted(by: context)
        {
            return false
        }
        return context.clientNames.isEmpty
            || tls.session.peerNames.map(context.clientNames.allow) ?? false
    }

    /// The protocol that client and server have agreed to speak; nil without TLS, or if the client
    /// named none.
    package var agreedProtocol: ApplicationProtocol? { tls?.session.selectedProtocol }

    // MARK: Reading

    /// Lends memory that all streams of a loop share. Each read is consumed before the next.
    func lendForCiphertext(_ layer: TLSLayer) -> UnsafeMutableRawBufferPointer {
        let memory = unsafe loop.ciphertextArena
        guard layer.onArrival != nil, memory.count > Self.handshakeReadBytes else {
            return unsafe memory
        }
        return unsafe UnsafeMutableRawBufferPointer(rebasing: memory[..<Self.handshakeReadBytes])
    }

    /// Limit of a read while a handshake waits for its owner. A flight of a handshake has a few
    /// KB.
    private static let handshakeReadBytes = 16 * 1024

    func didReadCiphertext(_ result: SocketRead, _ layer: TLSLayer) {
        switch result {
        case .bytes(0): break
        case .bytes(let count):
            unsafe layer.session.feed(
                UnsafeRawBufferPointer(rebasing: loop.ciphertextArena[..<count]))
            if let onArrival = layer.onArrival { return onArrival() }
        case .ended: layer.hasSocketEnded = true
        case .failed(let error):
            pauseReading()
            return fail(error)
        }
        pump()
    }

    /// Has bytes left from earlier reads delivered, once the owner reads again. Returns false if
    /// there are none: the socket is read at once.
    func resumeTLS() -> Bool {
        guard let tls, !isFinishing, tls.session.hasPending || tls.hasSocketEnded else {
            return false
        }
        if !tls.isPumping { requestTurn(tls) }
        return true
    }

    /// Continues in another turn: not inside the owner's call.
    private func requestTurn(_ layer: TLSLayer) {
        guard !layer.awaitsTurn else { return }
        layer.awaitsTurn = true
        let stream = LoopBound(self, to: loop)
        loop.post {
            stream.value.tls?.awaitsTurn = false
            stream.value.pump()
        }
    }

    /// Delivers decrypted bytes while the owner reads, up to the connection's quota of a turn. The
    /// socket is read again once the bytes of earlier reads are used up.
    private func pump() {
        guard let tls, !tls.isPumping else { return }
        tls.isPumping = true
        var quota = RecordQuota()
        while quota.isLeft, canPump(tls), step(tls, &quota) {}
        tls.isPumping = false
        tls.session.compact()
        guard canPump(tls) else { return }
        if !quota.isLeft, tls.session.hasPending || tls.hasSocketEnded {
            stopSocket()
            requestTurn(tls)
        } else if !tls.hasSocketEnded {
            startSocket()
        }
    }

    private func canPump(_ layer: TLSLayer) -> Bool {
        isReading && !layer.isBroken && !isClosing && !isFinishing
    }

    /// Runs one step. Returns false if the peer has to send more or has ended, or if TLS failed.
    private func step(_ layer: TLSLayer, _ quota: inout RecordQuota) -> Bool {
        let result = layer.isSecured ? readPlaintext(layer) : layer.session.handshake()
        sendCiphertext(layer)
        switch result {
        case .bytes(let count):
            if layer.isSecured {
                quota.use(1 + layer.session.messagesBeforeData)
                received.receive(count, into: &loop.arena)
                handle(.received)
                received.compact(&loop.arena)
            } else {
                layer.isSecured = true
                layer.onArrival = nil
                handle(.connected)
            }
            return true
        case .needMore where layer.hasSocketEnded && !layer.isSecured:
            failTLS(layer, .peerClosed)
        case .needMore where layer.hasSocketEnded, .ended:
            // An end without `close_notify` counts too: frames carry their own length.
            endReading()
        case .needMore: break
        case .failed(let error): failTLS(layer, error)
        }
        return false
    }

    private func readPlaintext(_ layer: TLSLayer) -> TLSSession.Step {
        let space = received.lend(from: &loop.arena)
        let memory = unsafe UnsafeMutableRawPointer(space.slab.memory + space.start)
        let result = unsafe layer.session.read(into: memory, capacity: space.count)
        if case .bytes = result { return result }
        received.receive(0, into: &loop.arena)
        received.compact(&loop.arena)
        return result
    }

    private func failTLS(_ layer: TLSLayer, _ error: TLSError) {
        layer.isBroken = true
        pauseReading()
        handle(.failed(.tls(error)))
    }

    // MARK: Writing

    /// Returns the ciphertext of `bytes`; nil if TLS is not established or has failed.
    func encrypt(_ bytes: [UInt8], _ layer: TLSLayer) -> [UInt8]? {
        guard layer.isSecured, !layer.isBroken else { return nil }
        if case .failed(let error) = layer.session.write(bytes.span) {
            failTLS(layer, error)
            return nil
        }
        return layer.session.takeCiphertext()
    }

    /// Returns the ciphertext of `close_notify`, if it can still be sent, and any pending
    /// ciphertext.
    func encryptEnd(_ layer: TLSLayer) -> [UInt8] {
        if layer.isSecured, !layer.isBroken { layer.session.close() }
        return layer.session.takeCiphertext()
    }

    private func sendCiphertext(_ layer: TLSLayer) {
        let ciphertext = layer.session.takeCiphertext()
        if !ciphertext.isEmpty { send(ciphertext) }
    }
}

/// The quota of records that a connection reads in a turn of the loop.
///
/// A record costs a decryption and an event, however few bytes it has, and a handshake message in
/// front of it a derivation of keys. A read of 64 KB brings 4 records of the usual size, or 2,900
/// of one byte: the loop's other connections must not wait for those.
struct RecordQuota {
    /// About 0.1 ms.
    static let limit = 32

    private var used = 0

    var isLeft: Bool { used < Self.limit }

    mutating func use(_ records: Int) { used += records }
}
