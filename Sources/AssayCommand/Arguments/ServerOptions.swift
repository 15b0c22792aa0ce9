import ArgumentParser
import AssayCommandLine
import AssayIO

/// The options of commands that can ask a server instead of verifying themselves.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Send the evidence to this server (tcp://, tls:// or unix:) for verification.",
            valueName: "address"),
        transform: serverArgument)
    var server: Endpoint?

    @Option(
        help: ArgumentHelp(
            "With --server: time to wait for the answer. (default: 5)",
            valueName: "seconds"),
        transform: timeoutArgument)
    var timeout: Duration?

    var answerTimeout: Duration { timeout ?? .seconds(5) }

    @Option(
        help: ArgumentHelp(
            "With --server: the server's app entry. (default: its default entry)",
            valueName: "name"))
    var app: String?

    @OptionGroup(title: "TLS") var tls: TLSOptions

    /// Rejects keys of other stores for a server, which has its own.
    func check(_ stores: PurchaseKeyOptions) throws {
        guard server != nil, !stores.isEmpty else { return }
        throw ValidationError(
            "keys of other stores can't be used with --server: a server has those of its own "
                + "configuration")
    }

    /// Rejects options that need a server without one, and options of trust with one.
    func check(_ accepted: EvidenceOptions) throws {
        guard server != nil else {
            if app != nil {
                throw ValidationError(
                    "--app names an entry of a server's configuration: add --server")
            }
            if timeout != nil {
                throw ValidationError("--timeout limits the wait for a server: add --server")
            }
            if !tls.isEmpty { throw ValidationError("--tls options need --server tls://…") }
            return
        }
        if !accepted.intermediates.isEmpty {
            throw ValidationError(
                "--intermediate can't be used with --server: a server completes chains from its "
                    + "own configuration")
        }
        if !accepted.roots.isEmpty {
            throw ValidationError(
                "--root can't be used with --server: a server trusts only the roots that its own "
                    + "configuration pins; start it with 'assay serve --root FILE'")
        }
    }
}
