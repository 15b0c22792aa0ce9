import ArgumentParser
import Assay
import AssayCommandLine
import AssayIO
import AssayLoad

/// The addresses of a load run, and what is spoken there.
struct LoadTargetOptions: ParsableArguments {
    @Option(
        name: .customLong("protocol"),
        help: ArgumentHelp(
            "What to speak: \(LoadProtocol.names). Several, separated by commas, run one after the "
                + "other and are compared. (default: frames, or http at an address of HTTP)",
            valueName: "protocol"),
        completion: .list(LoadProtocol.allCases.map(\.rawValue)),
        transform: ProtocolList.init(text:))
    var protocols: ProtocolList?

    @Argument(
        help: ArgumentHelp(
            "tcp://HOST:PORT, tls://HOST:PORT or unix:PATH for frames; http://HOST:PORT, "
                + "https://HOST:PORT or unix-http:PATH for the others.",
            valueName: "address"),
        transform: endpointArgument)
    var servers: [Endpoint]

    func validate() throws { _ = try targets() }

    /// The protocols in order, each with its address.
    func targets() throws -> [(server: Endpoint, loadProtocol: LoadProtocol)] {
        if let inherited = servers.first(where: { $0.inheritedName != nil }) {
            throw ValidationError("\(inherited) is an address for servers: write tcp://HOST:PORT")
        }
        guard let protocols else {
            return servers.map { ($0, LoadProtocol.usual(of: $0)) }
        }
        let targets = try protocols.all.map { name in
            guard let server = servers.first(where: { name.fits($0) }) else {
                throw ValidationError(
                    "--protocol \(name.rawValue) needs an address such as "
                        + (name == .frames ? "tcp://HOST:PORT" : "http://HOST:PORT"))
            }
            return (server, name)
        }
        if let unused = servers.first(where: { server in !targets.contains { $0.0 == server } }) {
            throw ValidationError(
                "\(unused) is not used: --protocol names "
                    + (unused.isHTTP ? "no protocol of HTTP" : "no frames, or needs one address"))
        }
        return targets
    }
}

/// Protocols, separated by commas.
struct ProtocolList: Sendable {
    let all: [LoadProtocol]

    @Sendable init(text: String) throws {
        var all: [LoadProtocol] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let name = LoadProtocol(rawValue: String(part)) else {
                throw ValidationError(
                    Suggestion.remedy(
                        for: String(part), among: LoadProtocol.allCases.map(\.rawValue)))
            }
            guard !all.contains(name) else {
                throw ValidationError("\(name.rawValue) occurs twice")
            }
            all.append(name)
        }
        self.all = all
    }
}

extension LoadProtocol {
    fileprivate static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}
