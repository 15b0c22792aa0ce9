/// What has been refused, dropped and put aside since the start, for metrics and tests.
package struct ServerCounters: Equatable, Sendable {
    /// Refused with RESOURCE_EXHAUSTED: as many bytes are held as may be.
    package var refusedForMemory = 0
    /// The same: the queue is longer than the request's time, or the longest delay.
    package var refusedForDelay = 0
    /// The same: too many unseen chains wait.
    package var refusedUnseen = 0
    /// Told DEADLINE_EXCEEDED, unworked.
    package var expired = 0
    /// Of connections that have gone: dropped, unworked.
    package var abandoned = 0
    /// Requests that were put aside for an unseen chain, and those that were verified for it.
    package var putAside = 0
    package var verifiedUnseen = 0
    /// How often accepting connections was paused, at a limit.
    package var acceptPauses = 0
    /// How often a thread took longer than it may.
    package var stalls = 0

    package init() {}
}
