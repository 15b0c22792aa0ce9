import ArgumentParser
import AssayClient
import AssayIO

/// The TLS options of commands that connect to a server.
struct TLSOptions: ParsableArguments {
    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp(
            "Of a tls:// address: the authorities to trust, PEM. (default: the system's)",
            valueName: "file"))
    var authority: String?

    @Option(
        name: .customLong("tls-cert"),
        help: ArgumentHelp("A certificate to show to the server, PEM.", valueName: "file"))
    var certificate: String?

    @Option(
        name: .customLong("tls-key"),
        help: ArgumentHelp("The certificate's key, PEM.", valueName: "file"))
    var key: String?

    @Option(
        name: .customLong("tls-name"),
        help: ArgumentHelp(
            "The name that the server's certificate has to have. (default: the address's host)",
            valueName: "name"))
    var serverName: String?

    var isEmpty: Bool {
        authority == nil && certificate == nil && key == nil && serverName == nil
    }

    /// The TLS context for an endpoint; nil for an address without TLS.
    func context(for endpoint: Endpoint) throws -> TLSContext? {
        guard endpoint.isTLS else {
            guard isEmpty else {
                throw Failure("--tls options go with a tls:// address")
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
