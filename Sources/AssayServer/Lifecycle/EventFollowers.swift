import AssayIO

/// Those who follow a server's events.
final class EventFollowers: Sendable {
    private let state = Locked(State())

    private struct State: Sendable {
        var followers: [AsyncStream<ServerEvent>.Continuation] = []
        /// The last event, once it has come.
        var end: ServerEvent?
    }

    /// Events that a follower has not taken: signals, mostly.
    private static let limit = 64

    /// The events from now on. One who comes after the end gets that.
    func follow() -> AsyncStream<ServerEvent> {
        let (stream, follower) = AsyncStream.makeStream(
            of: ServerEvent.self, bufferingPolicy: .bufferingNewest(Self.limit))
        let end = state.withLock { state in
            if state.end == nil { state.followers.append(follower) }
            return state.end
        }
        if let end {
            follower.yield(end)
            follower.finish()
        }
        return stream
    }

    func put(_ event: ServerEvent) {
        var isEnd = false
        if case .ended = event { isEnd = true }
        let followers = state.withLock { state in
            if isEnd { state.end = event }
            defer { if isEnd { state.followers = [] } }
            return state.followers
        }
        for follower in followers {
            follower.yield(event)
            if isEnd { follower.finish() }
        }
    }
}
