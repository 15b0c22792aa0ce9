package import ArgumentParser
package import AssayIO

/// The TLS options of commands that connect to a server.
package struct TLSOptions: ParsableArguments {
    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp(
            "For a tls:// or https:// address: the authorities to trust, PEM. "
                + "(default: the system's)",
            valueName: "file"),
        completion: .file())
    package var authority: String?

    @Option(
        name: .customLong("tls-cert"),
        help: ArgumentHelp("The client certificate, PEM.", valueName: "file"),
        completion: .file())
    package var certificate: String?

    @Option(
        name: .customLong("tls-key"),
        help: ArgumentHelp("The key of the client certificate, PEM.", valueName: "file"),
        completion: .file())
    package var key: String?

    @Option(
        name: .customLong("tls-name"),
        help: ArgumentHelp(
            "The expected name in the server's certificate. (default: the address's host)",
            valueName: "name"))
    package var serverName: String?

    package init() {}

    package var isEmpty: Bool {
        authority == nil && certificate == nil && key == nil && serverName == nil
    }

    /// The TLS context for an endpoint; nil for an address without TLS.
    package func context(for endpoint: Endpoint) throws -> TLSContext? {
        guard endpoint.isTLS else {
            guard isEmpty else {
                throw Failure("--tls options need a tls:// address")
            }
            return nil
        }
        do throws(TLSError) {
            return try TLSContext(
                client: TLSClientSettings(
                    authority: authority, certificate: certificate, key: key,
                    serverName: serverName))
        } catch {
            throw Failure("\(error)")
        }
    }
}
