/// How far a connection's life has come.
struct ConnectionLife {
    enum State {
        /// Takes requests and answers them.
        case open
        /// Takes no more requests; answers the accepted ones, then finishes.
        case ending
        /// FIN sent; waiting for the peer's.
        case finishing
        case closed
    }

    var state = State.open
    /// The peer has sent its last byte. It possibly still reads.
    var hasPeerEnded = false
    /// The client was notified that the server is draining.
    var hasAnnouncedDrain = false

    var canWrite: Bool {
        switch state {
        case .open, .ending: true
        case .finishing, .closed: false
        }
    }
}
