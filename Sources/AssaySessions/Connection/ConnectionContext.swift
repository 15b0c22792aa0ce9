package import AssayIO
package import AssayService
import AssayTelemetry
package import AssayWire

/// What the connections of a worker use. Belongs to the loop's thread.
package final class ConnectionContext {
    /// The loop, the phase, and where to count and log.
    package let server: ServiceContext
    /// The settings of connections. A reload replaces them.
    private(set) var settings: ConnectionSettings
    /// Changes with the settings: what was decided by one number holds as long as it does.
    private(set) var settingsNumber = 0
    package let table: ConnectionTable
    package let turns: Turns
    package let service: Service
    package let codec: MessageCodec

    package init(
        _ server: ServiceContext, _ settings: ConnectionSettings, _ table: ConnectionTable,
        _ turns: Turns, _ service: Service, _ codec: MessageCodec
    ) {
        self.server = server
        self.settings = settings
        self.table = table
        self.turns = turns
        self.service = service
        self.codec = codec
    }

    /// Applies the settings of a reload.
    package func apply(_ new: ConnectionSettings) {
        settings = new
        settingsNumber += 1
    }

    /// Ends the connections of peers that are no longer allowed after a reload.
    package func endForbidden() { table.endForbidden(by: settings) }

    /// The protocol of a connection, by the endpoint of its listener.
    func makeSession(on stream: Stream) -> any Session {
        if let endpoint = stream.endpoint, endpoint.isHTTP {
            return HTTPSession(endpoint)
        }
        return FrameSession(settings.decoder)
    }

    /// Serves the connection of a client.
    ///
    /// - Parameter finalAnswer: an error response that ends the connection; nil to serve it.
    package func serve(_ stream: Stream, finalAnswer: ResponseHead?) {
        let connection = Connection(stream, self)
        table.add(connection)
        connection.start()
        server.telemetry.didAcceptConnection()
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
        server.telemetry.didRefuseConnection()
        connection.end(reason)
    }
}
