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

extension HeldBytes {
    init(of connection: Connection) {
        let session = connection.session.held
        unread = connection.stream.received.unreadCount + session.collected
        unwritten = connection.unwrittenCount + session.heldBack
        open = session.open
        engine = connection.stream.securityBytes + session.engine
        // Those that wait to be read are limited by their number alone: they must not fill the
        // memory for the lack of which they wait.
        if !connection.reading.awaitsMemory { engine += Connection.memory }
        body = connection.heldBody(of: session)
    }
}

extension Connection {
    /// Bytes of memory that a connection takes in this process, as measured: itself, its stream,
    /// its session and its entries in tables.
    static let memory = 2 << 10

    /// Bytes held of a body that is read whole and has not arrived yet.
    var heldBody: Int { heldBody(of: session.held) }

    fileprivate func heldBody(of held: SessionBytes) -> Int {
        held.isCollecting ? stream.received.unreadCount + held.collected : 0
    }
}
