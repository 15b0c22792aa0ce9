package import AssayIO
import AssayService
import AssayTelemetry

/// The TLS handshakes in progress. Belongs to the loop's thread.
///
/// A peer that sends nothing costs only its socket; TLS starts with its first byte. From then on
/// a handshake costs as much as about twenty requests. So all handshakes together get a part of
/// the thread's time. When it is used up, new handshakes are queued unread, and established
/// connections are served. Clients take turns with their queued handshakes.
package final class Handshakes {
    package enum Outcome {
        case secured(Stream)
        /// The first bytes are not TLS: the error response is sent in the clear.
        case plain(Stream)
        case failed(TLSError)
    }

    /// The TLS context of new handshakes.
    var context: TLSContext
    private var most: Int
    private let onOutcome: (Outcome) -> Void
    /// Called when a handshake takes the memory of TLS, and when it ends.
    var onMemory: (Stream, _ isHeld: Bool) -> Void = { _, _ in }
    private var pending: [ObjectIdentifier: Pending] = [:]
    /// Queued handshakes: their bytes have arrived. Those of a client are in the order of arrival.
    private var waiting = RoundRobinQueue<Stream>(leastQuantum: 1)
    private var clients: [PeerKey: Client] = [:]
    /// Microseconds of processor time.
    private var timeLeft: TokenBucket
    private var lastNumber: UInt64 = 0

    /// The handshakes of one client.
    private final class Client {
        let key: PeerKey
        let queue = RoundRobinQueue<Stream>.Peer()
        /// Number of all of them.
        var count = 0

        init(_ key: PeerKey) { self.key = key }
    }

    private struct Pending {
        let stream: Stream
        let client: Client
        /// Holds it while it is queued.
        let line: RoundRobinQueue<Stream>.Line
        let number: UInt64
        let began: UInt64
        var hasBegun = false
        /// When the handshake was queued; nil while its peer has to send more.
        var waitsSince: UInt64?
        /// The handshake has failed, and the alert is being sent.
        var isFinishing = false
    }

    /// The content type of TLS handshake records (RFC 8446, 5.1).
    private static let handshakeRecord: UInt8 = 22

    /// Creates an empty set of handshakes.
    ///
    /// - Parameter most: the limit of handshakes that wait for their peer, beyond which the
    ///   oldest is closed; and the limit of queued handshakes.
    /// - Parameter percent: the part of the thread's time that handshakes get.
    package init(
        _ context: TLSContext, most: Int, percent: Int, onOutcome: @escaping (Outcome) -> Void
    ) {
        self.context = context
        self.most = most
        self.onOutcome = onOutcome
        timeLeft = Self.time(percent)
    }

    private static func time(_ percent: Int) -> TokenBucket {
        TokenBucket(perSecond: percent * 10_000)
    }

    /// Changes the limits.
    func change(most: Int, percent: Int) {
        self.most = most
        timeLeft = Self.time(percent)
    }

    package var count: Int { pending.count }
    var waitingCount: Int { waiting.count }

    /// The queue is full.
    var isFull: Bool { waiting.count >= most }
    /// The queue has drained to half, so that accepting can resume.
    var hasDrained: Bool { waiting.count <= most / 2 }

    package func begin(_ stream: Stream) {
        if pending.count - waiting.count >= most, let oldest = surplus {
            if !oldest.isFinishing { onOutcome(.failed(.tooManyHandshakes)) }
            remove(oldest.stream)
            oldest.stream.close()
        }
        lastNumber += 1
        let client = clients[stream.peer] ?? Client(stream.peer)
        clients[client.key] = client
        client.count += 1
        pending[ObjectIdentifier(stream)] = Pending(
            stream: stream, client: client, line: RoundRobinQueue.Line(of: client.queue),
            number: lastNumber, began: stream.loop.now)
        stream.setHandler { [unowned self, unowned stream] event in handle(event, stream) }
        stream.resumeReading()
    }

    /// The silent handshake to close for another one: the oldest of the client with the most.
    private var surplus: Pending? {
        pending.values.lazy.filter { $0.waitsSince == nil }.min {
            ($1.client.count, $0.number) < ($0.client.count, $1.number)
        }
    }

    /// Closes handshakes past their deadline. Queued handshakes get the longer limit.
    func sweep(now: UInt64, silent: UInt64, waiting: UInt64) {
        for entry in pending.values {
            let isWaiting = entry.waitsSince != nil
            guard now - entry.began > (isWaiting ? waiting : silent) else { continue }
            remove(entry.stream)
            entry.stream.close()
            if !entry.isFinishing { onOutcome(.failed(isWaiting ? .tooManyHandshakes : .timedOut)) }
        }
    }

    func closeAll() {
        for entry in pending.values {
            remove(entry.stream)
            entry.stream.close()
        }
    }

    private func remove(_ stream: Stream) {
        forget(stream)
        // Ignores later events.
        stream.setHandler { _ in }
    }

    private func forget(_ stream: Stream) {
        guard let entry = pending.removeValue(forKey: ObjectIdentifier(stream)) else { return }
        _ = waiting.removeAll(of: entry.line)
        entry.client.count -= 1
        if entry.client.count == 0 { clients[entry.client.key] = nil }
        if entry.hasBegun { onMemory(stream, false) }
    }

    private func handle(_ event: Stream.Event, _ stream: Stream) {
        switch event {
        case .received:
            guard let unread = stream.received.unread else { return }
            guard unread.span[0] == Self.handshakeRecord else {
                remove(stream)
                return onOutcome(.plain(stream))
            }
            wait(stream)
        case .connected:
            remove(stream)
            onOutcome(.secured(stream))
        case .ended: fail(stream, .peerClosed)
        case .failed(.tls(let error)): fail(stream, error)
        case .failed:
            remove(stream)
            stream.close()
            onOutcome(.failed(.peerClosed))
        case .written: break
        case .closed: forget(stream)
        }
    }

    /// Sends an alert. The stream stays until the peer closes or the time limit passes.
    private func fail(_ stream: Stream, _ error: TLSError) {
        pending[ObjectIdentifier(stream)]?.isFinishing = true
        stream.finish()
        onOutcome(.failed(error))
    }

    // MARK: Turns

    /// Queues the handshake for its turn. Bytes that arrive until then stay in the socket.
    private func wait(_ stream: Stream) {
        let key = ObjectIdentifier(stream)
        guard let entry = pending[key] else { return }
        stream.pauseReading()
        pending[key]?.waitsSince = stream.loop.now
        waiting.append(stream, cost: 1, to: entry.line)
    }

    /// Continues queued handshakes within one turn's quota of time.
    ///
    /// - Parameter isHurried: whether to ignore the limit of `percent`.
    /// - Returns: whether work is left for the next turn.
    package func work(now: UInt64, isHurried: Bool) -> Bool {
        var spent: UInt64 = 0
        while !waiting.isEmpty {
            guard spent < ServerLimits.handshakeNanosecondsPerTurn else { return true }
            guard isHurried || timeLeft.wait(for: 1, at: now) == 0 else { return false }
            guard let stream = waiting.take() else { return false }
            let began = ProcessorTime.ofThread
            goOn(stream, now: now)
            let cost = ProcessorTime.ofThread - began
            timeLeft.spend(Int(cost / 1000), at: now)
            spent += cost
        }
        return false
    }

    private func goOn(_ stream: Stream, now: UInt64) {
        let key = ObjectIdentifier(stream)
        guard let entry = pending[key], let since = entry.waitsSince else { return }
        pending[key]?.waitsSince = nil
        // Skips peers that disconnected while queued, to save a signature. A handshake that was
        // queued only briefly proceeds: the failure reason in its bytes is more useful than the
        // disconnect.
        if now - since >= ServerLimits.handshakePatienceMilliseconds, stream.hasPeerLeft {
            remove(stream)
            stream.close()
            return onOutcome(.failed(.peerClosed))
        }
        if entry.hasBegun { return stream.continueHandshake() }
        pending[key]?.hasBegun = true
        onMemory(stream, true)
        do throws(TLSError) {
            try stream.secure(context) { [unowned self, unowned stream] in wait(stream) }
        } catch {
            fail(stream, error)
        }
    }
}
