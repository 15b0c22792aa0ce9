import AssayIO
import AssayKeepers
import AssaySessions
import AssayTelemetry

/// The followers of a server's events.
final class EventFollowers: Sendable {
    private let state = Locked(State())

    private struct State: Sendable {
        var followers: [AsyncStream<ServerEvent>.Continuation] = []
        /// Callers that wait only for the end.
        var waiting: [CheckedContinuation<ServerEnd, Never>] = []
        var end: ServerEnd?
    }

    /// Events that a follower has not taken: signals, mostly.
    private static let limit = 64

    /// The events from now on; after the end, the end alone.
    func follow() -> AsyncStream<ServerEvent> {
        let (stream, follower) = AsyncStream.makeStream(
            of: ServerEvent.self, bufferingPolicy: .bufferingNewest(Self.limit))
        let end = state.withLock { state in
            if state.end == nil { state.followers.append(follower) }
            return state.end
        }
        if let end {
            follower.yield(.ended(end))
            follower.finish()
        }
        return stream
    }

    /// Waits for the end, also in a task that is cancelled.
    func waitForEnd() async -> ServerEnd {
        await withCheckedContinuation { waiter in
            let end = state.withLock { state in
                if state.end == nil { state.waiting.append(waiter) }
                return state.end
            }
            if let end { waiter.resume(returning: end) }
        }
    }

    func put(_ event: ServerEvent) {
        guard case .ended(let end) = event else {
            for follower in state.withLock({ $0.followers }) { follower.yield(event) }
            return
        }
        let (followers, waiting) = state.withLock { state in
            defer { state = State(end: end) }
            return (state.followers, state.waiting)
        }
        for follower in followers {
            follower.yield(event)
            follower.finish()
        }
        for waiter in waiting { waiter.resume(returning: end) }
    }
}
