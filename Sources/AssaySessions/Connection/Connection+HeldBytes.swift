import AssayIO
import AssayService

extension HeldBytes {
    package init(of connection: Connection) {
        self.init()
        let session = connection.session.held
        unread = connection.inlet.count + session.collected
        unwritten = connection.unwrittenCount + session.heldBack
        open = session.open
        engine = connection.securityBytes + session.engine
        // Connections that wait for their first read are limited by their number alone: they must
        // not fill the memory that they wait for.
        if !connection.inlet.reading.awaitsMemory { engine += Connection.memory }
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
        held.isCollecting ? inlet.count + held.collected : 0
    }
}
