import AssayIO

/// What is between a simulated client and the server: the system's buffers of a connection.
///
/// The server's end can move from one loop to another, with all that has arrived.
final class SimulatedWire: @unchecked Sendable {
    enum End { case finished, reset }

    /// What the peer has sent, and the server has not read.
    var arrived: [UInt8] = []
    /// The peer has closed its writing side, or reset the connection.
    var peerEnd: End?
    /// What the system has taken, and the peer has not read.
    var sent: [UInt8] = []
    /// What the peer's reads end with, after the bytes.
    var end: End?
    /// Bytes that the system takes while the peer does not read.
    let sendBuffer: Int
    /// The server's end; nil while it moves.
    weak var socket: SimulatedSocket?
    /// The client.
    let peer: PeerKey

    /// What the client has sent, and the system's buffers have no space for.
    private var unsent: [UInt8] = []
    /// Bytes of `unsent` that the system has taken meanwhile.
    private var taken = 0
    /// Bytes that the system takes while the server does not read.
    private static let receiveBuffer = 256 << 10

    init(from peer: PeerKey = .user(1_000), sendBuffer: Int = 64 << 10) {
        self.peer = peer
        self.sendBuffer = sendBuffer
    }

    /// Whether the client still sends.
    var isSending: Bool { taken < unsent.count }

    /// Sends bytes; what the system does not take waits.
    func send(_ bytes: [UInt8]) {
        unsent += bytes
        refill()
    }

    /// Has the system take what its buffers have space for.
    func refill() {
        guard isSending else { return }
        let count = min(max(Self.receiveBuffer - arrived.count, 0), unsent.count - taken)
        arrived += unsent[taken..<taken + count]
        taken += count
        if !isSending { (unsent, taken) = ([], 0) }
    }

    /// The peer has closed both directions.
    private(set) var isClosedByPeer = false

    func closeByPeer() {
        isClosedByPeer = true
        if peerEnd == nil { peerEnd = .finished }
    }

    /// Drops what the system has not taken.
    func stopSending() { (unsent, taken) = ([], 0) }

    /// Whether the server's end is closed, and its stream has been informed.
    var isOver = false
}

/// The server's end of a simulated connection. Its other end is a `SimulatedPeer`.
///
/// Reads bring any part of what has arrived. Writes go to the peer while the system's buffer has
/// space, and wait while the peer does not read.
final class SimulatedSocket: StreamSocket {
    var stream: AssayIO.Stream?
    private let wire: SimulatedWire
    private let driver: SimulatedDriver
    private let world: SimulatedWorld
    /// Whether the peer's end was reported.
    private var hasEnded = false
    /// What was written and the system has not taken.
    private var unwritten: [UInt8] = []
    /// A write that waited has ended, which is not reported yet.
    private var hasWritten = false
    private var endsWriting = false
    /// The writing side has closed, which is not reported yet.
    private var hasShutDown = false

    private var isReading = false
    private var isClosing = false
    /// Whether it is closed, and its stream has been informed.
    private(set) var isOver = false
    private var isDetached = false

    init(_ wire: SimulatedWire, _ driver: SimulatedDriver, _ world: SimulatedWorld) {
        self.wire = wire
        self.driver = driver
        self.world = world
        wire.socket = self
        driver.add(self)
    }

    var descriptor: Int32 { -1 }
    var peerUser: UInt32? { if case .user(let user) = wire.peer { user } else { nil } }
    var peer: PeerKey { wire.peer }
    var hasPeerLeft: Bool { wire.arrived.isEmpty && wire.peerEnd != nil }
    var isPeerGone: Bool {
        wire.peerEnd == .reset || wire.isClosedByPeer && peerUser != nil
    }
    var unreadCount: Int { wire.arrived.count }
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

    func detach() -> (any DetachedConnection)? {
        isDetached = true
        return SimulatedDetachedConnection(wire, world)
    }

    func close() {
        isClosing = true
        isReading = false
        unwritten = []
        // Closing with unread bytes resets the connection, as Linux does.
        if !isDetached, wire.end == nil {
            wire.end = wire.arrived.isEmpty && wire.peerEnd != .reset ? .finished : .reset
        }
        driver.afterTurn { [self] in
            isOver = true
            if !isDetached { wire.isOver = true }
            let closed = stream
            stream = nil
            closed?.didClose()
        }
    }

    private var hasPeerEnd: Bool { wire.peerEnd == .reset || wire.peerEnd != nil && !hasEnded }

    /// Whether the loop has an event of it to handle.
    var isReady: Bool {
        guard !isClosing else { return false }
        return hasWritten || hasShutDown || isReading && (!wire.arrived.isEmpty || hasPeerEnd)
            || wire.peerEnd == .reset && !unwritten.isEmpty
    }

    /// Reports what has happened since the last turn.
    func process() {
        if wire.peerEnd == .reset, !unwritten.isEmpty {
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
        if wire.arrived.isEmpty { readEnd() } else { read() }
    }

    /// Reads part of what has arrived, or like libuv several times while reads are full.
    private func read() {
        for _ in 0..<Self.readsPerTurn where isReading && !isClosing && !wire.arrived.isEmpty {
            let arrived = wire.arrived
            let isPart = world.happens(onceIn: 4)
            let most = isPart ? min(1 + world.number(below: 64), arrived.count) : arrived.count
            guard let stream else { return }
            let count = stream.read(from: arrived.span.extracting(first: most))
            wire.arrived.removeFirst(min(count, wire.arrived.count))
            wire.refill()
            if isPart { return }
        }
    }

    private static let readsPerTurn = 32

    private func readEnd() {
        guard isReading, !isClosing, let end = wire.peerEnd else { return }
        isReading = false
        hasEnded = true
        stream?.didRead(end == .finished ? .ended : .failed(.connectionReset))
    }

    /// Has the system take what its buffer has space for.
    func passOn() {
        // What arrives at a closed end is answered with a reset.
        if wire.isClosedByPeer, !unwritten.isEmpty { wire.peerEnd = .reset }
        guard wire.peerEnd != .reset else { return }
        let count = min(max(wire.sendBuffer - wire.sent.count, 0), unwritten.count)
        if count > 0 {
            wire.sent += unwritten.prefix(count)
            unwritten.removeFirst(count)
            if unwritten.isEmpty { hasWritten = true }
        }
        if endsWriting, unwritten.isEmpty, wire.end == nil {
            wire.end = .finished
            hasShutDown = true
        }
    }
}

/// The server's end of a connection while it belongs to no loop.
final class SimulatedDetachedConnection: DetachedConnection, @unchecked Sendable {
    private let wire: SimulatedWire
    private let world: SimulatedWorld
    private var isOpened = false

    init(_ wire: SimulatedWire, _ world: SimulatedWorld) {
        self.wire = wire
        self.world = world
    }

    func open(on loop: EventLoop) throws(LoopError) -> AssayIO.Stream {
        guard let driver = loop.driver as? SimulatedDriver else { throw .cancelled }
        isOpened = true
        return AssayIO.Stream(SimulatedSocket(wire, driver, world), on: loop)
    }

    deinit {
        if !isOpened { (wire.end, wire.isOver) = (.reset, true) }
    }
}

/// The client's end of a simulated connection.
final class SimulatedPeer {
    private let wire: SimulatedWire
    private(set) var hasEnded = false
    /// Whether it has reset the connection.
    private(set) var hasReset = false

    init(_ wire: SimulatedWire) { self.wire = wire }

    func send(_ bytes: [UInt8]) {
        guard canSend else { return }
        wire.send(bytes)
    }

    /// Whether the connection takes bytes.
    var canSend: Bool { !hasEnded && !wire.isOver }

    /// Closes the writing side.
    func finish() {
        guard !hasEnded, !wire.isOver else { return }
        hasEnded = true
        if wire.peerEnd == nil { wire.peerEnd = .finished }
    }

    /// Ends both directions at once; what the server has not read is lost.
    func reset() {
        guard !wire.isOver else { return }
        (hasEnded, hasReset) = (true, true)
        wire.stopSending()
        wire.arrived = []
        wire.sent = []
        wire.peerEnd = .reset
    }

    /// Closes both directions, as a program does that ends: what was sent arrives. The system
    /// answers with a reset if something was not received, or comes later.
    func close() {
        guard !wire.isOver, !hasReset else { return }
        if !wire.sent.isEmpty { return abort() }
        hasEnded = true
        wire.closeByPeer()
    }

    /// Resets the connection, after what was sent.
    func abort() {
        guard !wire.isOver else { return }
        (hasEnded, hasReset) = (true, true)
        wire.stopSending()
        wire.sent = []
        wire.peerEnd = .reset
    }

    /// Whether the system has not taken all that was sent.
    var isSending: Bool { wire.isSending && !wire.isOver }

    /// Whether there are bytes to receive.
    var hasReceived: Bool { !wire.sent.isEmpty }

    /// Whether the server's end has reset the connection.
    var isReset: Bool { wire.end == .reset }

    /// Receives up to a number of bytes; empty if none have arrived.
    func receive(upTo limit: Int = .max) -> [UInt8] {
        let bytes = Array(wire.sent.prefix(limit))
        wire.sent.removeFirst(bytes.count)
        wire.socket?.passOn()
        return bytes
    }

    /// Whether the server has ended its writing, and everything was received.
    var isAtEnd: Bool { wire.end != nil && wire.sent.isEmpty }
}
