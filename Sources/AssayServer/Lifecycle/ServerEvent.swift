public import AssayIO

/// What a server tells whoever waits for it.
public enum ServerEvent: Equatable, Sendable {
    /// SIGHUP: read the configuration anew, and `reload`.
    case hangup
    /// It was asked to end, and is not ready any more.
    case draining
    /// Nothing comes after this.
    case ended(ServerEnd)
}

/// How a server has ended.
public enum ServerEnd: Equatable, Sendable {
    /// What was accepted is answered, as far as the drain's time allowed.
    case drained
    /// At once, by a second signal; what was in flight is lost.
    case stopped(ProcessSignal)
}
