import Assay
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer
import AssayStore

/// `[app.store]` of an app entry: how the server asks the App Store for its customers.
struct FetchSettings {
    var key: StoreKey
    var environment: StoreEnvironmentChoice
    /// Nil for Apple's hosts.
    var baseURL: String?
    var proxy: String?
    var certificateAuthorities: String?

    /// Reads the table; notes problems in it. Nil if there are some.
    ///
    /// - Parameter accepted: the environments of the app entry, which the table can only narrow.
    init?(_ table: ConfigurationTable, folder: String, accepted: [StoreEnvironment]) {
        baseURL = table.string("base-url")
        proxy = table.string("proxy")
        certificateAuthorities = table.string("tls-ca").map { Self.path($0, folder) }
        let environment = Self.environment(table, accepted)
        let key = StoreKey(
            table, file: "key-file", folder: folder, page: "docs/app-store-server-api.md")
        guard let environment, let key else { return nil }
        self.environment = environment
        self.key = key
    }

    static func path(_ name: String, _ folder: String) -> String {
        name.hasPrefix("/") ? name : folder + name
    }

    /// Both environments only where the app entry accepts evidence of both.
    private static func environment(
        _ table: ConfigurationTable, _ accepted: [StoreEnvironment]
    ) -> StoreEnvironmentChoice? {
        let possible: StoreEnvironmentChoice
        switch (accepted.contains(.production), accepted.contains(.sandbox)) {
        case (true, true): possible = .automatic
        case (true, false): possible = .production
        case (false, true): possible = .sandbox
        case (false, false):
            table.note(
                "environment", "the app accepts neither Production nor Sandbox",
                "add one of them to its environments: the App Store has no other")
            return nil
        }
        guard let name = table.string("environment") else { return possible }
        guard let choice = ApiEnvironmentChoice(rawValue: name)?.choice else {
            table.note(
                "environment", "\"\(name)\" is not an environment",
                Suggestion.remedy(for: name, among: ApiEnvironmentChoice.allCases.map(\.rawValue)))
            return nil
        }
        guard possible == .automatic || choice == possible else {
            table.note(
                "environment", "the app does not accept evidence of all that \"\(name)\" asks",
                "add the environment to the app's environments, or leave this key out")
            return nil
        }
        return choice
    }

    /// The client of an app entry.
    ///
    /// - Throws: a failure if libcurl is missing, or a URL is unusable.
    func fetcher(
        for app: AppSettings, _ verifier: Verifier, _ limits: ServerLimits
    ) throws(Failure) -> StoreFetcher {
        var configuration = StoreConfiguration(bundleId: app.bundleId ?? "", key: key)
        configuration.appAppleId = app.appAppleId
        configuration.environment = environment
        if let baseURL { configuration.ask(baseURL) }
        configuration.proxy = proxy
        configuration.certificateAuthorities = certificateAuthorities
        configuration.pageLimit = limits.fetchPages
        configuration.byteLimit = limits.fetchBytes
        do throws(StoreError) {
            return StoreFetcher(try AppStoreClient(configuration, verifier: verifier))
        } catch {
            throw Failure("app \"\(app.name)\": store: \(error)")
        }
    }

    /// What `serve --check` says about it.
    var summary: String {
        "asks \(baseURL ?? "Apple") with the key \(key.keyId), \(environment.rawValue)"
    }
}
