public import AssayModels

#if ServerSide
    public import Logging
#endif

/// Which of the App Store's two environments a client asks.
public enum StoreEnvironmentChoice: String, Sendable, CaseIterable {
    /// Production, and the sandbox for a transaction that production does not know (4040010), as
    /// Apple recommends, and for an app without a release there (401). Calls about the app as a
    /// whole ask production.
    case automatic
    /// Production alone.
    case production
    /// The sandbox alone, which TestFlight uses as well.
    case sandbox

    func environments(for call: StoreCall) -> [StoreEnvironment] {
        switch self {
        case .automatic:
            if let environment = call.automaticEnvironment {
                [environment]
            } else {
                call.findsEnvironment ? [.production, .sandbox] : [.production]
            }
        case .production: [.production]
        case .sandbox: [.sandbox]
        }
    }
}

/// The settings of a client for one app.
public struct StoreConfiguration: Sendable {
    /// The app. Evidence of another is refused.
    public var bundleId: String
    /// The app's App Store id; nil: not checked.
    public var appAppleId: Int64?
    /// The key that signs requests.
    public var key: StoreKey
    /// The environments to ask.
    public var environment = StoreEnvironmentChoice.automatic
    /// Where production is.
    public var productionURL = "https://api.storekit.apple.com"
    /// Where the sandbox is.
    public var sandboxURL = "https://api.storekit-sandbox.apple.com"
    /// The proxy, as curl has it; nil: that of the environment variables `https_proxy` and so on;
    /// empty: none.
    public var proxy: String?
    /// A file of the authorities to trust for TLS, PEM; nil: the system's.
    public var certificateAuthorities: String?
    /// The time of a call with all its pauses. That of a list counts for all its pages.
    public var timeout = Duration.seconds(30)
    /// The most pages of a list.
    public var pageLimit = StoreLimits.pages
    /// When answers are verified and entitlements decided; nil for the machine's clock. For a
    /// local App Store whose time has been moved. Tokens have the time of the machine's clock.
    public var moment: Timestamp?
    /// The most bytes of all answers that `entitlements(of:)` decides from; nil for any number.
    public var byteLimit: Int?
    #if ServerSide
        /// Receives answers at the level trace, and attempts without one at debug; nothing by
        /// default. A line names no transaction.
        public var logger = Logger(label: "assay.store") { _ in SwiftLogNoOpLogHandler() }
    #endif

    /// Creates the settings for Apple's hosts.
    public init(bundleId: String, key: StoreKey) {
        self.bundleId = bundleId
        self.key = key
    }

    /// Has the client ask one server instead of Apple's, in both environments.
    ///
    /// `http://` is a local App Store: its sandbox is below `/sandbox`, and a URL that ends so
    /// names the same store. Any other server answers for both environments at this URL.
    public mutating func ask(_ baseURL: String) {
        productionURL = Self.withoutSlash(baseURL)
        sandboxURL = productionURL
        guard baseURL.hasPrefix("http://") else { return }
        let path = "/" + StoreEnvironment.localSandboxPath
        if productionURL.hasSuffix(path) { productionURL.removeLast(path.count) }
        sandboxURL = productionURL + path
    }

    /// The base URL of an environment, without a slash at its end.
    func baseURL(of environment: StoreEnvironment) -> String {
        Self.withoutSlash(environment == .production ? productionURL : sandboxURL)
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }

    /// Checks what would otherwise fail with each request.
    func check() throws(StoreError) {
        for url in [productionURL, sandboxURL] where !Self.isBaseURL(url) {
            throw .invalidArgument(
                "\(url) is not a base URL: write https://HOST, with :PORT and /PATH if there are")
        }
        guard !bundleId.isEmpty else { throw .invalidArgument("the bundle id is empty") }
        guard pageLimit > 0 else { throw .invalidArgument("allow at least one page") }
        guard timeout > .zero else { throw .invalidArgument("the timeout is not above 0") }
    }

    private static func isBaseURL(_ url: String) -> Bool {
        guard let scheme = ["https://", "http://"].first(where: url.hasPrefix) else { return false }
        let rest = url.dropFirst(scheme.count)
        return !rest.isEmpty && rest.first != "/"
            && rest.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && !rest.contains { "?#@\\\"<>".contains($0) }
    }
}
