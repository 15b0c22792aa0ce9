/// What one connection holds apart from its requests, in bytes.
package struct HeldBytes {
    /// Received, and not taken yet.
    package var unread = 0
    /// Answers that the system has not taken, or the peer does not admit.
    package var unwritten = 0
    /// Streams that have begun and not ended.
    package var open = 0
    /// The connection itself, and what engines hold for it: TLS, and that of the protocol.
    package var engine = 0
    /// The part of `unread` that is the body of a request which is read whole.
    package var body = 0

    package init() {}

    /// What an engine holds.
    package init(engine: Int) { self.engine = engine }

    package var total: Int { unread + answers + engine }
    /// Answers, and what is due on streams.
    var answers: Int { unwritten + open }
}
