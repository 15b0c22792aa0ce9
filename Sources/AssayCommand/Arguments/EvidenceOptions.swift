import ArgumentParser
import Assay
import AssayCommandLine
import AssayModels

/// The options that decide which evidence is accepted: trust, app, environment and time.
struct EvidenceOptions: ParsableArguments {
    @Option(help: "The expected app. Without it the bundle is reported, not checked.")
    var bundleId: String?

    @Option(
        help: ArgumentHelp(
            "The app's App Store id, checked in Production evidence that carries one.",
            valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64?

    @Option(
        name: .customLong("environment"),
        help: ArgumentHelp(
            "An environment to accept: \(StoreEnvironment.names). Repeat for more. "
                + "(default: Production; with --server, what the server accepts)",
            valueName: "name"),
        completion: .environments,
        transform: environmentArgument)
    var environments: [StoreEnvironment] = []

    @Option(
        name: .customLong("root"),
        help: ArgumentHelp(
            "A root to trust in addition to Apple's, PEM or DER; for evidence of HarmonyOS too. "
                + "Repeat for more.",
            valueName: "file"),
        completion: .file())
    var roots: [String] = []

    @Option(
        name: .customLong("intermediate"),
        help: ArgumentHelp(
            "An intermediate for old receipts, which contain none, PEM or DER. Repeat for "
                + "more.",
            valueName: "file"),
        completion: .file())
    var intermediates: [String] = []

    @Option(
        help: ArgumentHelp(
            "Verify as of this time, \(DateArgument.help). (default: now)", valueName: "time"),
        transform: momentArgument)
    var at: DateArgument?

    var now: Timestamp { at?.timestamp ?? .now }

    /// The environments to expect of a server's answer; empty for what the server accepts.
    var expectedEnvironments: [StoreEnvironment] { environments }

    var acceptedEnvironments: [StoreEnvironment] {
        environments.isEmpty ? [.production] : expectedEnvironments
    }

    var policy: Policy {
        Policy(
            bundleId: bundleId, appAppleId: appAppleId,
            environments: Set(acceptedEnvironments))
    }

    /// The trust store with Apple's roots and the given files.
    func store() throws -> TrustStore {
        var trust = TrustStore.apple
        for root in roots {
            trust = try trust.pinning(file: root)
        }
        trust = try trust.pinningHarmony(authorities: roots)
        for intermediate in intermediates { trust = try trust.adding(file: intermediate) }
        return trust
    }
}
