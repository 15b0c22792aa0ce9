import ArgumentParser
import Assay
import AssayCommandLine
import AssayIO
import AssayModels
import AssayStore

/// The values of `api --environment`.
enum ApiEnvironmentChoice: String, Choice {
    case auto
    case production = "Production"
    case sandbox = "Sandbox"

    var choice: StoreEnvironmentChoice {
        switch self {
        case .auto: .automatic
        case .production: .production
        case .sandbox: .sandbox
        }
    }
}

/// What names a key, besides its file.
struct StoreKeyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The key's id. (default: $ASSAY_STORE_KEY_ID, or that in the file's name)",
            valueName: "id"))
    var keyId: String?

    @Option(
        help: ArgumentHelp(
            "The issuer id of your keys. (default: $ASSAY_STORE_ISSUER_ID)", valueName: "id"))
    var issuerId: String?

    func names(of file: String?) -> StoreKeyNames {
        StoreKeyNames(file: file, keyId: keyId, issuerId: issuerId)
    }
}

/// The options of all `api` commands: the app, the key, the host, and the output.
struct ApiOptions: ParsableArguments {
    @Option(help: "The app. Evidence of another app is refused.")
    var bundleId: String

    @Option(
        help: ArgumentHelp(
            "The app's App Store id, checked in Production evidence that carries one.",
            valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64?

    @Option(
        help: ArgumentHelp(
            "The .p8 file of your key. (default: that of $ASSAY_STORE_KEY_FILE; a new key for a "
                + "--base-url on this machine)",
            valueName: "file"),
        completion: .file(extensions: ["p8"]))
    var key: String?

    @OptionGroup var keyNames: StoreKeyOptions

    @Option(
        help: ArgumentHelp(
            "auto: production, and the sandbox for a transaction or app that production does not "
                + "know; Production; Sandbox. (default: auto)", valueName: "name"),
        completion: .choices(ApiEnvironmentChoice.self),
        transform: choiceArgument)
    var environment: ApiEnvironmentChoice = .auto

    @Option(
        name: .customLong("root"),
        help: ArgumentHelp(
            "A root to trust in addition to Apple's, PEM or DER, for a local App Store. Repeat "
                + "for more.", valueName: "file"),
        completion: .file())
    var roots: [String] = []

    @Option(
        help: ArgumentHelp(
            "Ask this server instead of Apple's, in both environments; with http:// the sandbox "
                + "below /sandbox, as a local App Store has it.", valueName: "url"))
    var baseURL: String?

    @Option(
        help: ArgumentHelp(
            "A proxy, as curl takes it. (default: that of $https_proxy)", valueName: "url"))
    var proxy: String?

    @Option(
        name: .customLong("tls-ca"),
        help: ArgumentHelp(
            "The authorities to trust for TLS, PEM. (default: the system's)", valueName: "file"),
        completion: .file())
    var authorities: String?

    @Option(
        help: ArgumentHelp(
            "The time for everything, with all pauses and pages. (default: 30; with --all 600)",
            valueName: "seconds"),
        transform: apiTimeoutArgument)
    var timeout: Duration?

    @Option(
        help: ArgumentHelp(
            "Verify and decide as of this time, \(DateArgument.help). (default: now)",
            valueName: "time"),
        transform: momentArgument)
    var at: DateArgument?

    @Flag(help: "Print JSON, one object on each line: each answer, then what it amounts to.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Write each answer, as it came, to a file in this folder.", valueName: "folder"),
        completion: .directory)
    var save: String?

    func client() throws -> AppStoreClient {
        var configuration = StoreConfiguration(bundleId: bundleId, key: try storeKey())
        configuration.appAppleId = appAppleId
        configuration.environment = environment.choice
        configuration.moment = at?.timestamp
        if let baseURL { configuration.ask(baseURL) }
        configuration.proxy = proxy
        configuration.certificateAuthorities = authorities
        var trust = TrustStore.apple
        for root in roots { trust = try trust.pinning(file: root) }
        do throws(StoreError) {
            return try AppStoreClient(configuration, verifier: Verifier(trust: trust))
        } catch {
            throw Failure(error.description)
        }
    }

    private func storeKey() throws -> StoreKey {
        if isLocal, key == nil, ProcessEnvironment.variables["ASSAY_STORE_KEY_FILE"] ?? "" == "" {
            do throws(StoreError) {
                return try StoreKey.forLocalServer()
            } catch {
                throw Failure(error.description)
            }
        }
        return try keyNames.names(of: key).read()
    }

    /// Whether the answers come from a server on this machine, which knows no key of Apple's.
    private var isLocal: Bool {
        guard let baseURL, let start = baseURL.firstRange(of: "://")?.upperBound else {
            return false
        }
        // A name before an @ is no host, whatever it looks like.
        let authority = baseURL[start...].prefix { $0 != "/" }
        guard !authority.contains("@") else { return false }
        let isBracketed = authority.hasPrefix("[")
        let host =
            isBracketed
            ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        return Endpoint.isLocal(String(host))
    }
}

/// A key file with its identifiers, from options or the environment.
struct StoreKeyNames {
    /// The values of `--key`, `--key-id` and `--issuer-id`.
    var file: String?
    var keyId: String?
    var issuerId: String?

    func read() throws -> StoreKey {
        let variables = ProcessEnvironment.variables
        func value(_ option: String?, _ name: String, _ variable: String) throws -> String {
            if let value = option ?? variables[variable], !value.isEmpty { return value }
            throw Failure("name the \(name): --\(name), or the variable \(variable)")
        }
        let file = try value(file, "key", "ASSAY_STORE_KEY_FILE")
        let named = keyId ?? variables["ASSAY_STORE_KEY_ID"] ?? Self.keyId(inName: file)
        let id = try value(named, "key-id", "ASSAY_STORE_KEY_ID")
        let issuer = try value(issuerId, "issuer-id", "ASSAY_STORE_ISSUER_ID")
        CoreDumps.forbid()
        do throws(StoreError) {
            return try StoreKey(file: file, keyId: id, issuerId: issuer)
        } catch {
            throw Failure(error.description)
        }
    }

    /// The key's id in the name that App Store Connect gives the file:
    /// `SubscriptionKey_2X9R4HXF34.p8`.
    static func keyId(inName path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        for prefix in ["SubscriptionKey_", "AuthKey_"] where name.hasPrefix(prefix) {
            let id = name.dropFirst(prefix.count).prefix { $0 != "." && $0 != " " }
            if id.utf8.count == 10 { return String(id) }
        }
        return nil
    }
}

/// The options of lists.
struct ApiListOptions: ParsableArguments {
    @Flag(help: "All pages, not only the first.")
    var all = false

    @Option(
        name: .customLong("most-pages"),
        help: ArgumentHelp("With --all: the most pages. (default: 1000)", valueName: "n"),
        transform: { text in
            guard let count = Int(text), count > 0 else {
                throw ValidationError("write a number of pages above 0")
            }
            return count
        })
    var mostPages: Int?

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp(
            "Begin after the answer with this revision or pagination token.", valueName: "token"))
    var revision: String?

    var walk: ApiWalk { ApiWalk(isAll: all, mostPages: mostPages, revision: revision) }

    func validate() throws {
        if mostPages != nil, !all { throw ValidationError("--most-pages limits --all: add --all") }
    }
}

/// Parses a time in seconds: up to a day, for lists of many pages.
func apiTimeoutArgument(_ text: String) throws -> Duration {
    guard let seconds = Double(text), (0.001...86_400).contains(seconds) else {
        throw ValidationError("write seconds above 0, at most 86400")
    }
    return .seconds(seconds)
}
