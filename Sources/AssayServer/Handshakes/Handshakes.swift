package import AssayIO

/// Connections of a server whose TLS handshake has not ended. Belongs to the loop's thread.
///
/// A peer that sends nothing costs its socket; TLS begins with its first byte. From there on a
/// handshake costs what some twenty requests do. So all of them together have a share of the
/// thread's time, and who comes when it is used up waits, unread, while those who are connected are
/// served.
package final class Handshakes {
    package enum Outcome {
        case secured(Stream)
        /// What came is no TLS: it can be told so in the clear.
        case plain(Stream)
        case failed(TLSError)
    }

    /// Of the handshakes that begin from now on.
    var context: TLSContext
    private let most: Int
    private let onOutcome: (Outcome) -> Void
    private var pending: [ObjectIdentifier: Pending] = [:]
    /// Those that can go on, in the order in which their bytes came.
    private var waiting: [Stream] = []
    /// Microseconds of the processor.
    private var share: TokenBucket
    private var lastNumber: UInt64 = 0

    private struct Pending {
        let stream: Stream
        let number: UInt64
        let began: UInt64
        var hasBegun = false
        /// When it came to wait for its turn; nil: its peer has to send more.
        var waitsSince: UInt64?
        /// It has failed, and its peer is being told.
        var isFinishing = false
    }

    /// The type of a TLS record that begins a handshake (RFC 8446, 5.1).
    private static let handshakeRecord: UInt8 = 22

    /// - Parameter most: at a time that have to send more, of which the oldest go; and at a time
    ///   that wait for their turn.
    /// - Parameter percent: of the thread's time.
    package init(
        _ context: TLSContext, most: Int, percent: Int, onOutcome: @escaping (Outcome) -> Void
    ) {
        self.context = context
        self.most = most
        self.onOutcome = onOutcome
        share = Self.share(percent)
    }

    private static func share(_ percent: Int) -> TokenBucket {
        TokenBucket(perSecond: percent * 10_000)
    }

    func change(percent: Int) { share = Self.share(percent) }

    package var count: Int { pending.count }
    var waitingCount: Int { waiting.count }

    /// As many wait for their turn as may.
    var isFull: Bool { waiting.count >= most }
    /// So few wait again that more may come.
    var hasRoom: Bool { waiting.count <= most / 2 }

    package func begin(_ stream: Stream) {
        if pending.count - waiting.count >= most, let oldest = oldestSilent {
            if !oldest.isFinishing { onOutcome(.failed(.crowdedOut)) }
            remove(oldest.stream)
            oldest.stream.close()
        }
        lastNumber += 1
        pending[ObjectIdentifier(stream)] = Pending(
            stream: stream, number: lastNumber, began: stream.loop.now)
        stream.setHandler { [unowned self, unowned stream] event in handle(event, stream) }
        stream.resumeReading()
    }

    private var oldestSilent: Pending? {
        pending.values.lazy.filter { $0.waitsSince == nil }.min { $0.number < $1.number }
    }

    /// Closes those that have taken longer; whose turn has not come is not to blame for it.
    func sweep(now: UInt64, silent: UInt64, waiting: UInt64) {
        for entry in pending.values {
            let isWaiting = entry.waitsSince != nil
            guard now - entry.began > (isWaiting ? waiting : silent) else { continue }
            remove(entry.stream)
            entry.stream.close()
            if !entry.isFinishing { onOutcome(.failed(isWaiting ? .crowdedOut : .timedOut)) }
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
        // Nobody listens to what may still come.
        stream.setHandler { _ in }
    }

    private func forget(_ stream: Stream) {
        let entry = pending.removeValue(forKey: ObjectIdentifier(stream))
        if entry?.waitsSince != nil { waiting.removeAll { $0 === stream } }
    }

    private func handle(_ event: Stream.Event, _ stream: Stream) {
        switch event {
        case .received:
            guard let unread = stream.received.unread else { return }
            guard unread.span[0] == Self.handshakeRecord else {
                remove(stream)
                return onOutcome(.plain(stream))
            }
            // A client waits for the answer to its hello, and that has some hundred bytes.
            guard unread.count <= Stream.handshakeReadBytes else {
                return fail(stream, .protocolFault("more than a hello"))
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

    /// The peer is told by an alert; it stays until it has seen that, or the time is over.
    private func fail(_ stream: Stream, _ error: TLSError) {
        pending[ObjectIdentifier(stream)]?.isFinishing = true
        stream.finish()
        onOutcome(.failed(error))
    }

    // MARK: Turns

    /// It goes on when its turn comes. What it sends until then stays in its socket.
    private func wait(_ stream: Stream) {
        stream.pauseReading()
        pending[ObjectIdentifier(stream)]?.waitsSince = stream.loop.now
        waiting.append(stream)
    }

    /// Does what a turn of the loop has time for.
    ///
    /// - Parameter isHurried: whether there is nothing better to do with the thread's time.
    /// - Returns: whether there is more for the next turn.
    package func work(now: UInt64, isHurried: Bool) -> Bool {
        var spent: UInt64 = 0
        while let stream = waiting.first {
            guard spent < ServerLimits.handshakeNanosecondsPerTurn else { return true }
            guard isHurried || share.wait(for: 1, at: now) == 0 else { return false }
            waiting.removeFirst()
            let began = ProcessorTime.ofThread
            goOn(stream, now: now)
            let cost = ProcessorTime.ofThread - began
            share.spend(Int(cost / 1000), at: now)
            spent += cost
        }
        return false
    }

    private func goOn(_ stream: Stream, now: UInt64) {
        let key = ObjectIdentifier(stream)
        guard let entry = pending[key], let since = entry.waitsSince else { return }
        pending[key]?.waitsSince = nil
        pending[key]?.hasBegun = true
        // Who has given up meanwhile is not worth a signature. At once it can't be, and the reason
        // in its bytes is worth more than that it has gone.
        if now - since >= ServerLimits.handshakePatienceMilliseconds, stream.hasPeerLeft {
            remove(stream)
            stream.close()
            return onOutcome(.failed(.peerClosed))
        }
        if entry.hasBegun { return stream.continueHandshake() }
        do throws(TLSError) {
            try stream.secure(context) { [unowned self, unowned stream] in wait(stream) }
        } catch {
            fail(stream, error)
        }
    }
}
