public import AssayIO

/// An event that `nextEvent()` returns.
public enum ServerEvent: Equatable, Sendable {
    /// SIGHUP: read the configuration again, and call `reload`.
    case hangup
    /// The server was asked to stop and is no longer ready.
    case draining
    /// The last event.
    case ended(ServerEnd)
}

/// How a server ended.
public enum ServerEnd: Equatable, Sendable {
    /// Accepted requests were answered, within the drain timeout.
    case drained
    /// Stopped at once by a second signal; requests in flight are lost.
    case stopped(ProcessSignal)
}
