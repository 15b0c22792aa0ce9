import AssayIO

/// The server's end of a simulated connection. Its other end is a `SimulatedPeer`.
///
/// Reads bring any part of what has arrived. Writes go to the peer while the system's buffer has
/// space, and wait while the peer does not read.
final class SimulatedSocket: StreamSocket {
    var stream: Stream?
    private let driver: SimulatedDriver
    private let world: SimulatedWorld

    /// What the peer has sent, and the server has not read.
    fileprivate var arrived: [UInt8] = []
    /// The peer has closed its writing side, which is not reported yet.
    fileprivate var peerEnd: PeerEnd?
    fileprivate enum PeerEnd { case finished, reset }

    /// What the system has taken, and the peer has not read.
    fileprivate var sent: [UInt8] = []
    /// Bytes that the system takes while the peer does not read.
    var sendBuffer = 64 << 10
    /// What was written and the system has not taken.
    private var unwritten: [UInt8] = []
    /// A write that waited has ended, which is not reported yet.
    private var hasWritten = false
    private var endsWriting = false
    /// The writing side has closed, which is not reported yet.
    private var hasShutDown = false
    /// What the peer's reads end with, after the bytes.
    fileprivate var end: PeerEnd?

    private var isReading = false
    private var isClosing = false
    /// Whether it is closed, and its stream has been informed.
    private(set) var isOver = false

    init(_ driver: SimulatedDriver, _ world: SimulatedWorld) {
        self.driver = driver
        self.world = world
    }

    var descriptor: Int32 { -1 }
    var peerUser: UInt32? { 1_000 }
    var hasPeerLeft: Bool { arrived.isEmpty && peerEnd != nil }
    var unreadCount: Int { arrived.count }
    var unwrittenCount: Int { unwritten.count }

    func startReading() { isReading = true }
    func stopReading() { isReading = false }

    func write(_ bytes: [UInt8]) {
        unwritten += bytes
        passOn()
        // Only a write that waited reports its end.
        if unwritten.isEmpty { hasWritten = false }
    }

    func shutDown() {
        endsWriting = true
        passOn()
    }

    func close() {
        isClosing = true
        isReading = false
        // Closing with unread bytes resets the connection, as Linux does.
        if end == nil { end = arrived.isEmpty && peerEnd != .reset ? .finished : .reset }
        unwritten = []
        driver.afterTurn { [self] in
            isOver = true
            let closed = stream
            stream = nil
            closed?.didClose()
        }
    }

    /// Whether the loop has an event of it to handle.
    var isReady: Bool {
        guard !isClosing else { return false }
        return hasWritten || hasShutDown || isReading && (!arrived.isEmpty || peerEnd != nil)
            || peerEnd == .reset && !unwritten.isEmpty
    }

    /// Reports what has happened since the last turn.
    func process() {
        if peerEnd == .reset, !unwritten.isEmpty {
            unwritten = []
            stream?.didWrite(.connectionReset)
        }
        if hasWritten, !isClosing {
            hasWritten = false
            stream?.didWrite(nil)
        }
        if hasShutDown, !isClosing {
            hasShutDown = false
            stream?.didShutDown(nil)
        }
        guard isReading, !isClosing, let stream else { return }
        if !arrived.isEmpty {
            let most = world.happens(onceIn: 4) ? 1 + world.number(below: 64) : arrived.count
            let count = stream.read(from: arrived.span.extracting(first: most))
            arrived.removeFirst(min(count, arrived.count))
        } else if let end = peerEnd {
            isReading = false
            if end == .finished { peerEnd = nil }
            stream.didRead(end == .finished ? .ended : .failed(.connectionReset))
        }
    }

    /// Has the system take what its buffer has space for.
    fileprivate func passOn() {
        guard peerEnd != .reset else { return }
        let count = min(max(sendBuffer - sent.count, 0), unwritten.count)
        if count > 0 {
            sent += unwritten.prefix(count)
            unwritten.removeFirst(count)
            if unwritten.isEmpty { hasWritten = true }
        }
        if endsWriting, unwritten.isEmpty, end == nil {
            end = .finished
            hasShutDown = true
        }
    }
}

/// The client's end of a simulated connection.
final class SimulatedPeer {
    private let socket: SimulatedSocket
    private(set) var hasEnded = false
    /// Whether it has reset the connection.
    private(set) var hasReset = false

    init(_ socket: SimulatedSocket) { self.socket = socket }

    /// Whether the server's end is closed in both directions.
    var isDisconnected: Bool { socket.isOver }

    func send(_ bytes: [UInt8]) {
        guard !hasEnded, !socket.isOver else { return }
        socket.arrived += bytes
    }

    /// Closes the writing side.
    func finish() {
        guard !hasEnded, !socket.isOver else { return }
        hasEnded = true
        if socket.peerEnd == nil { socket.peerEnd = .finished }
    }

    /// Ends both directions at once; what the server has not read is lost.
    func reset() {
        guard !socket.isOver else { return }
        (hasEnded, hasReset) = (true, true)
        socket.arrived = []
        socket.sent = []
        socket.peerEnd = .reset
    }

    /// Receives up to a number of bytes; empty if none have arrived.
    func receive(upTo limit: Int = .max) -> [UInt8] {
        let bytes = Array(socket.sent.prefix(limit))
        socket.sent.removeFirst(bytes.count)
        socket.passOn()
        return bytes
    }

    /// Whether the server has ended its writing, and everything was received.
    var isAtEnd: Bool { socket.end != nil && socket.sent.isEmpty }
}
