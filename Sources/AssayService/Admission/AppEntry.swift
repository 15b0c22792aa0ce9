public import Assay
import AssayBytes
public import AssayModels
import AssayTelemetry

/// An app entry: the verifier and the policy for one app's evidence. Entries with the same trust
/// share a verifier, and so its cache. A class, because every request holds a reference.
public final class AppEntry: Sendable {
    /// Verifies the app's evidence.
    public let verifier: Verifier
    /// Decides which verified evidence is accepted.
    public let policy: Policy
    /// The environments accepted for a request that names none; nil for all of the policy. The
    /// entry of a server without configuration accepts any environment that a request names, and
    /// only Production if it names none.
    public let unnamedEnvironments: [StoreEnvironment]?
    /// The expectations of a request that has none: each would make the same ones.
    private let unnamedExpectations: Expectations
    /// What clients of this entry have to know.
    public let secrets: AppSecrets
    /// Asks the App Store for the app's customers; nil: Fetch is off.
    public let fetcher: (any Fetcher)?
    /// Asks the App Store for the customer of a receipt that verifyReceipt verifies. Where the
    /// clients of Fetch need a key, those of verifyReceipt need a password: otherwise a key would
    /// be worth nothing to a client that holds a receipt.
    var receiptFetcher: (any Fetcher)? {
        secrets.fetchKeys.isEmpty || secrets.sharedSecret != nil ? fetcher : nil
    }
    /// Signs for Apple with the app's keys; nil: signing is off.
    public let signer: (any RequestSigner)?
    /// The entry's name in the configuration of its server, a label of metrics. Empty until a
    /// server has the entry.
    let name: String

    /// Creates an entry.
    public convenience init(
        verifier: Verifier, policy: Policy, unnamedEnvironments: [StoreEnvironment]? = nil,
        secrets: AppSecrets = AppSecrets(), fetcher: (any Fetcher)? = nil,
        signer: (any RequestSigner)? = nil
    ) {
        self.init(verifier, policy, unnamedEnvironments, secrets, fetcher, signer, name: "")
    }

    private init(
        _ verifier: Verifier, _ policy: Policy, _ unnamedEnvironments: [StoreEnvironment]?,
        _ secrets: AppSecrets, _ fetcher: (any Fetcher)?, _ signer: (any RequestSigner)?,
        name: String
    ) {
        self.secrets = secrets
        self.signer = signer
        self.fetcher = fetcher
        self.verifier = verifier
        self.policy = policy
        self.unnamedEnvironments = unnamedEnvironments
        unnamedExpectations = Expectations(environments: unnamedEnvironments ?? [])
        self.name = name
    }

    /// The same entry under its name in a configuration.
    func named(_ name: String) -> AppEntry {
        AppEntry(verifier, policy, unnamedEnvironments, secrets, fetcher, signer, name: name)
    }

    /// Pinned roots that are not Apple's and that can validate Production evidence of this app.
    package var foreignProductionRoots: [TrustAnchor] {
        let environments = policy.environments
        guard environments.contains(.production) || environments.contains(.unspecified) else {
            return []
        }
        return verifier.trust.anchors.filter { !$0.isApple && !$0.development }
    }

    package func narrowed(_ expectations: consuming Expectations) -> Expectations {
        if expectations.isEmpty { return unnamedExpectations }
        if let unnamedEnvironments, expectations.environments.isEmpty {
            expectations.environments = unnamedEnvironments
        }
        return expectations
    }
}

/// Secrets that an app's backends share with the server. They are compared in constant time, and
/// are in no log and no answer.
public struct AppSecrets: Sendable {
    /// The password of verifyReceipt; nil to compare none.
    public var sharedSecret: String?
    /// The keys of clients of `/v1/purchase/verify`. Without any the path is off for this app.
    public var apiKeys: [String]
    /// The keys of clients of `/v1/fetch`. Where no app has any, the path needs none.
    public var fetchKeys: [String]
    /// The keys of clients of `/v1/sign/…`. Without any, no one can have this app sign.
    public var signKeys: [String]

    /// Creates secrets.
    public init(
        sharedSecret: String? = nil, apiKeys: [String] = [], fetchKeys: [String] = [],
        signKeys: [String] = []
    ) {
        self.signKeys = signKeys
        self.sharedSecret = sharedSecret
        self.apiKeys = apiKeys
        self.fetchKeys = fetchKeys
    }

    /// Whether a key is one of these. All are compared, whichever matches.
    package func admits(apiKey: Span<UInt8>, of keys: KeyPath<AppSecrets, [String]>) -> Bool {
        var isKnown = false
        for key in self[keyPath: keys] where apiKey.equalsSecret(key.utf8.span) { isKnown = true }
        return isKnown
    }

    /// Whether the password of a request to verifyReceipt is the right one.
    package func admits(password: String?) -> Bool {
        guard let sharedSecret else { return true }
        let password = Array((password ?? "").utf8)
        let secret = Array(sharedSecret.utf8)
        return password.span.equalsSecret(secret.span)
    }
}
