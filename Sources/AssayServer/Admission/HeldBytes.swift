/// What one connection holds apart from its requests, in bytes.
struct HeldBytes {
    /// Received, and not taken yet.
    var unread = 0
    /// Answers that the system has not taken, or the peer does not admit.
    var unwritten = 0
    /// Streams that have begun and not ended.
    var open = 0
    /// The connection itself, and what engines hold for it: TLS, and that of the protocol.
    var engine = 0
    /// The part of `unread` that is the body of a request which is read whole.
    var body = 0

    var total: Int { unread + answers + engine }
    /// Answers, and what is due on streams.
    var answers: Int { unwritten + open }
}
