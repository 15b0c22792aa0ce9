import Assay
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer

/// An app entry: the bundle, the environments and the trust of accepted evidence.
struct AppSettings {
    var name: String
    /// Nil for any bundle, which is then reported and not checked. Only the entry of a server
    /// without configuration has none.
    var bundleId: String?
    var appAppleId: Int64?
    /// Nil for the environments of the request, or Production without them. Only the entry of a
    /// server without configuration has none.
    var environments: [StoreEnvironment]?
    var trust: TrustStore
    var isDefault: Bool
    /// Whether to accept the 1024-bit key of the oldest transaction receipts.
    var allowsLegacyKey = true
    var secrets = AppSecrets()
    /// The settings of Fetch; nil if it is off.
    var store: FetchSettings?
    /// The settings of signing; nil if it is off.
    var keys: SigningSettings?
    /// Accepted purchases of Google Play; by default none.
    var google = PurchasePolicy()
    /// Accepted pushes of Google Play, and the file with the keys of their tokens.
    var googlePush = PushPolicy()
    var googleJWKS: String?
    /// Accepted purchases of Huawei AppGallery; by default none.
    var huawei = PurchasePolicy()
    /// The accepted apps of HarmonyOS; the trust has the roots.
    var harmonyApplicationIds: [String] = []

    /// The entry of a server without configuration.
    static func open(trust: TrustStore) -> AppSettings {
        AppSettings(
            name: "", bundleId: nil, appAppleId: nil, environments: nil, trust: trust,
            isDefault: true)
    }
}

extension AppSettings {
    static let nameLimit = 64
    /// Bytes of an API key: 128 random bits in base64 have 22.
    static let shortestKey = 20

    /// Reads one `[[app]]`; notes problems in the table.
    init(_ table: ConfigurationTable, folder: String, trust: TrustStore) {
        name = table.string("name") ?? ""
        bundleId = table.string("bundle-id")
        appAppleId = table.int("app-apple-id", in: 1...Int.max).map { Int64($0) }
        isDefault = table.bool("default") ?? false
        allowsLegacyKey = table.bool("legacy-key") ?? true
        secrets = Self.secrets(table)
        let accepted = Self.environments(table)
        environments = accepted
        var trust = trust
        Self.extend(&trust, table, "roots", folder) { try $0.pinning(file: $1) }
        Self.extend(&trust, table, "development-roots", folder) {
            try $0.pinning(file: $1, development: true)
        }
        Self.extend(&trust, table, "intermediates", folder) { try $0.adding(file: $1) }
        if let harmony = table.table("harmony") {
            Self.extend(&trust, harmony, "roots", folder) { try $0.pinning(harmonyFile: $1) }
            harmonyApplicationIds = harmony.strings("application-ids") ?? []
            if !harmony.has("roots") {
                harmony.note(
                    "roots", "missing",
                    "name the file of Huawei CBG Root CA G2, which Huawei publishes")
            }
            if harmonyApplicationIds.isEmpty {
                harmony.note(
                    "application-ids", "missing",
                    "name the app: without it, purchases of any app of HarmonyOS would pass")
            }
            harmony.finish()
        }
        self.trust = trust
        if let store = table.table("store") {
            self.store = FetchSettings(store, folder: folder, accepted: accepted)
            secrets.fetchKeys = Self.keys(store)
            store.finish()
        }
        if let keys = table.table("keys") {
            self.keys = SigningSettings(keys, folder: folder)
            if secrets.signKeys.isEmpty {
                table.note(
                    "sign-api-keys", "missing beside keys",
                    "write a key for the backend that may have this app sign, or leave keys out")
            }
        } else if !secrets.signKeys.isEmpty {
            table.note(
                "keys", "missing beside sign-api-keys",
                "name the .p8 file of App Store Connect in a table below [app.keys]")
        }
        let google = table.table("google")
        (googlePush, googleJWKS) = PushPolicy.read(google, folder: folder)
        self.google = PurchasePolicy(
            google, keys: "licence-keys", folder: folder, needsKeys: google?.has("jwks") == false)
        huawei = PurchasePolicy(table.table("huawei"), keys: "keys", folder: folder)
        checkIdentity(table)
        checkRoots(table, accepted)
        table.finish()
    }

    private static func secrets(_ table: ConfigurationTable) -> AppSecrets {
        let secrets = AppSecrets(
            sharedSecret: table.string("shared-secret"),
            apiKeys: keys(table), signKeys: keys(table, "sign-api-keys"))
        if secrets.sharedSecret?.isEmpty == true {
            table.note("shared-secret", "empty", "write the secret, or leave the key out")
        }
        return secrets
    }

    /// Reads `api-keys` of an app entry or of its `store`, or `sign-api-keys`.
    private static func keys(
        _ table: ConfigurationTable, _ name: String = "api-keys"
    ) -> [String] {
        let keys = table.strings(name) ?? []
        for (index, key) in keys.enumerated() where key.utf8.count < shortestKey {
            table.note(
                name, "shorter than \(shortestKey) bytes",
                "write a random key, such as the output of: openssl rand -hex 32",
                element: index + 1)
        }
        return keys
    }

    private static func environments(_ table: ConfigurationTable) -> [StoreEnvironment] {
        guard let names = table.strings("environments") else { return [.production] }
        if names.isEmpty {
            table.note("environments", "empty", "name at least one, or leave the key out")
        }
        return names.enumerated().compactMap { index, name in
            do throws(UnknownEnvironment) {
                return try StoreEnvironment.named(name)
            } catch {
                table.note("environments", error.problem, error.remedy, element: index + 1)
                return nil
            }
        }
    }

    private func checkIdentity(_ table: ConfigurationTable) {
        if name.isEmpty {
            table.note("name", "missing", "name the entry: requests select it by name")
        } else if name.utf8.count > Self.nameLimit {
            table.note("name", "longer than \(Self.nameLimit) bytes", "choose a shorter name")
        }
        if (bundleId ?? "").isEmpty {
            table.note(
                "bundle-id", "missing",
                "name the app: without it, purchases of any app would pass")
        }
        if environments?.contains(.production) == true, appAppleId == nil,
            !table.has("app-apple-id"), !Self.isOfOtherStores(table)
        {
            table.note(
                "app-apple-id", "missing for an app that accepts Production",
                "write the number that App Store Connect shows as \"Apple ID\"")
        }
    }

    /// Whether an app is sold at other stores alone: it has their keys, and nothing of the App
    /// Store's.
    private static func isOfOtherStores(_ table: ConfigurationTable) -> Bool {
        ["google", "huawei", "harmony"].contains(where: table.has)
            && ![
                "roots", "intermediates", "legacy-key", "shared-secret", "api-keys", "store",
                "keys",
                "sign-api-keys",
            ].contains(where: table.has)
    }

    /// Notes entries that would refuse everything because their roots and environments don't
    /// match.
    private func checkRoots(_ table: ConfigurationTable, _ accepted: [StoreEnvironment]) {
        let testing = accepted.first { $0 == .xcode || $0 == .localTesting }
        if let testing, !table.has("development-roots") {
            table.note(
                "development-roots", "missing for an app that accepts \(testing)",
                "pin the certificate that signs this evidence; Apple's roots do not sign it")
        }
        let productionOnly = accepted.allSatisfy { $0 == .production || $0 == .unspecified }
        if table.has("development-roots"), !accepted.isEmpty, productionOnly {
            table.note(
                "development-roots", "not valid for the environments of this app",
                "add \"Sandbox\" to environments, or leave the roots out")
        }
    }

    /// Adds the certificates that the table lists under this key.
    private static func extend(
        _ trust: inout TrustStore, _ table: ConfigurationTable, _ key: String, _ folder: String,
        _ add: (TrustStore, String) throws -> TrustStore
    ) {
        for (index, name) in (table.strings(key) ?? []).enumerated() {
            let path = name.hasPrefix("/") || folder.isEmpty ? name : folder + name
            do {
                trust = try add(trust, path)
            } catch let failure as Failure {
                table.note(
                    key, failure.reason,
                    "name a file with one certificate; relative paths start at the folder of the "
                        + "configuration",
                    element: index + 1)
            } catch {
                table.note(key, "\(error)", "name a file with one certificate", element: index + 1)
            }
        }
    }
}
