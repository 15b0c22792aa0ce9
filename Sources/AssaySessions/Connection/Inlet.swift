import AssayIO
import AssayService

/// The bytes that a peer sends on a connection. A session takes bytes from here alone, and states
/// the work that they are: a connection's turn and its client pay for it. Belongs to the loop's
/// thread.
final class Inlet {
    private let stream: Stream
    private let peer: Peer
    /// What was read in this turn, and why no more is.
    var reading = ReadingTurn()
    /// The pace of the request at the front; nil between requests.
    private(set) var pace: ArrivalPace?
    /// Bytes of that request that were taken before its end: of a receipt that is read as it
    /// arrives, or of a rejected frame.
    private var taken = 0
    /// In nanoseconds of the loop's clock.
    private var arrival: ArrivalTime

    init(_ stream: Stream, of peer: Peer) {
        self.stream = stream
        self.peer = peer
        arrival = ArrivalTime(began: stream.loop.clockNanoseconds)
    }

    // MARK: Bytes

    /// The bytes that were not taken; nil without any.
    var bytes: SlabBytes? { stream.received.unread }
    var count: Int { stream.received.unreadCount }
    var isEmpty: Bool { stream.received.unreadCount == 0 }

    /// Takes bytes at the front.
    func take(_ count: Int, _ work: Work) -> SlabBytes {
        pay(for: work)
        taken += count
        return stream.received.take(count)
    }

    /// Drops bytes at the front, which were used or are not needed.
    func skip(_ count: Int, _ work: Work) {
        pay(for: work)
        taken += count
        stream.received.skip(count)
    }

    /// Drops all bytes: nothing more is read.
    func skipAll() { stream.received.skip(stream.received.unreadCount) }

    /// States the work of bytes that were taken, or of an answer.
    func pay(for work: Work) { reading.use(work.requests) }

    // MARK: What is missing

    /// What of a request has not arrived.
    enum Part {
        /// The head, without which nobody can be answered.
        case head
        /// A body, which stays here until it is whole.
        case body
    }

    /// Waits until there are this many bytes. Returns false if there is no memory for that: the
    /// request is refused.
    func needs(_ count: Int, of part: Part, _ limits: ServerLimits) -> Bool {
        switch part {
        // Many connections with the start of a head hold memory.
        case .head: guard !peer.isFull || self.count <= limits.unansweredBytes else { return false }
        case .body: guard !peer.isFull else { return false }
        }
        stream.received.expect(count)
        return true
    }

    /// The same for the body of a request of HTTP, which has a part of the memory of its own.
    func needs(httpBody count: Int) -> Bool {
        guard peer.admits(bodyOf: min(count, self.count)) else { return false }
        stream.received.expect(count)
        return true
    }

    /// Memory for bytes that are collected, which counts like received bytes.
    func makeCollectedBytes() -> CollectedBytes { stream.makeCollectedBytes() }

    /// Copies bytes into such memory.
    func hold(_ bytes: Span<UInt8>) -> SlabBytes { stream.hold(bytes) }

    /// Releases memory of bytes that were taken.
    func compact() { stream.compactReceived() }

    /// The version of HTTP that TLS has agreed; nil without one.
    var agreedProtocol: ApplicationProtocol? { stream.agreedProtocol }

    // MARK: Time

    /// Begins the pace of the next request, if any of it has arrived.
    func beginPace(began: UInt64, at now: UInt64) {
        if isEmpty { endPace() } else { beginPaceWithin(began: began, at: now) }
    }

    /// Begins the pace of a part of a request whose bytes were taken.
    func beginPaceWithin(began: UInt64, at now: UInt64) {
        pace = ArrivalPace(began: began, at: now)
        taken = 0
    }

    /// Ends the pace: the peer is idle, and not slow.
    func endPace() { pace = nil }

    /// Whether the request at the front arrives too slowly.
    func isSlow(at now: UInt64, _ limits: ServerLimits) -> Bool {
        pace?.isSlow(taken + count, at: now, limits) ?? false
    }

    /// When the last received bytes could have been read, in nanoseconds of the loop's clock.
    var lastRead: UInt64 { arrival.last }
    /// The same in milliseconds.
    func lastArrival(at now: UInt64) -> UInt64 { min(arrival.last / 1_000_000, now) }

    /// Records a read.
    ///
    /// - Parameter earliest: when its bytes arrived at the earliest, without a pause.
    func didRead(earliest: @autoclosure () -> UInt64, at now: UInt64) {
        arrival.didRead(total: stream.readTotal, earliest: earliest())
        if pace == nil { beginPaceWithin(began: lastArrival(at: now), at: now) }
        pace?.didReceive(at: now)
    }

    // MARK: Pauses

    /// Reads nothing until `resume`. The bytes in the socket age from now.
    func pause() {
        reading.isHeld = true
        stream.pauseReading()
        arrival.didPause(
            total: stream.readTotal, unread: stream.unreadBySystem,
            at: stream.loop.clockNanoseconds)
    }

    /// Goes on with the bytes that are here.
    func proceed(at now: UInt64) {
        reading.isHeld = false
        pace?.didPause(taken + count, at: now)
    }

    /// Reads on.
    func resume() { stream.resumeReading() }
}
