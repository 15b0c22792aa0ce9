/// Connections of a server whose TLS handshake has not ended. Belongs to the loop's thread.
///
/// A peer that sends nothing costs its socket; TLS begins with its first byte.
package final class Handshakes {
    package enum Outcome {
        case secured(Stream)
        /// What came is no TLS: it can be told so in the clear.
        case plain(Stream)
        case failed(TLSError)
    }

    /// Of the handshakes that begin from now on.
    package var context: TLSContext
    private let most: Int
    private let onOutcome: (Outcome) -> Void
    private var pending: [ObjectIdentifier: Pending] = [:]
    private var lastNumber: UInt64 = 0

    private struct Pending {
        let stream: Stream
        let number: UInt64
        let began: UInt64
        /// It has failed, and its peer is being told.
        var isFinishing = false
    }

    /// The type of a TLS record that begins a handshake (RFC 8446, 5.1).
    private static let handshakeRecord: UInt8 = 22

    /// - Parameter most: at a time; of more the oldest go.
    package init(_ context: TLSContext, most: Int, onOutcome: @escaping (Outcome) -> Void) {
        self.context = context
        self.most = most
        self.onOutcome = onOutcome
    }

    package var count: Int { pending.count }

    package func begin(_ stream: Stream) {
        if pending.count >= most, let oldest = pending.values.min(by: { $0.number < $1.number }) {
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

    /// Closes those that have taken longer.
    package func sweep(now: UInt64, milliseconds: UInt64) {
        for entry in pending.values where now - entry.began > milliseconds {
            remove(entry.stream)
            entry.stream.close()
            if !entry.isFinishing { onOutcome(.failed(.timedOut)) }
        }
    }

    package func closeAll() {
        for entry in pending.values {
            remove(entry.stream)
            entry.stream.close()
        }
    }

    private func remove(_ stream: Stream) {
        pending[ObjectIdentifier(stream)] = nil
        // Nobody listens to what may still come.
        stream.setHandler { _ in }
    }

    private func handle(_ event: Stream.Event, _ stream: Stream) {
        switch event {
        case .received:
            guard let unread = stream.received.unread else { return }
            guard unread.span[0] == Self.handshakeRecord else {
                remove(stream)
                return onOutcome(.plain(stream))
            }
            do throws(TLSError) { try stream.secure(context) } catch { fail(stream, error) }
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
        case .closed: pending[ObjectIdentifier(stream)] = nil
        }
    }

    /// The peer is told by an alert; it stays until it has seen that, or the time is over.
    private func fail(_ stream: Stream, _ error: TLSError) {
        pending[ObjectIdentifier(stream)]?.isFinishing = true
        stream.finish()
        onOutcome(.failed(error))
    }
}
