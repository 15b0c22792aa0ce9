import AssayIO
import AssayWire

/// What a connection uses of its server. All connections share one.
final class ConnectionContext {
    /// What the service shares.
    let server: ServiceContext
    /// The settings of connections. A reload replaces them.
    var settings: ConnectionSettings
    let table: ConnectionTable
    let turns: Turns
    let service: Service
    let codec: MessageCodec

    init(
        _ server: ServiceContext, _ settings: ConnectionSettings, _ table: ConnectionTable, _ turns: Turns,
        _ service: Service, _ codec: MessageCodec
    ) {
        self.server = server
        self.settings = settings
        self.table = table
        self.turns = turns
        self.service = service
        self.codec = codec
    }

    /// The protocol of a connection, by the endpoint of its listener.
    func makeSession(on stream: Stream) -> any Session {
        if let endpoint = stream.endpoint, endpoint.isHTTP {
            return HTTPSession(endpoint, stream.makeCollectedBytes())
        }
        return FrameSession(settings.decoder)
    }

    /// Makes a connection for a client.
    ///
    /// - Parameter finalAnswer: an error response that ends the connection; nil to serve it.
    func serve(_ stream: Stream, finalAnswer: ResponseHead?) {
        let connection = Connection(stream, self)
        table.add(connection)
        connection.start()
        server.telemetry.metrics.connectionsAccepted += 1
        if let finalAnswer {
            refuse(connection, finalAnswer)
        } else if server.phase.isDraining {
            // Not ended: requests that it has already sent are answered one by one.
            connection.announceDrain()
        } else if let refusal = settings.refusal(of: stream) {
            server.telemetry.logFault("a peer without permission")
            refuse(connection, refusal)
        }
    }

    private func refuse(_ connection: Connection, _ reason: ResponseHead) {
        server.telemetry.metrics.connectionsRefused += 1
        connection.end(reason)
    }
}
