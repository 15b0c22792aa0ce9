/// Apple's `environment` (`receiptType` in an app transaction), in Apple's spelling.
///
/// Keeps values that Apple adds later. They match no policy that does not name them.
public struct StoreEnvironment: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The App Store.
    public static let production = Self(rawValue: "Production")
    /// The sandbox, which TestFlight uses as well.
    public static let sandbox = Self(rawValue: "Sandbox")
    /// StoreKit Testing in Xcode: self-signed, accepted only with a pinned development
    /// certificate.
    public static let xcode = Self(rawValue: "Xcode")
    /// SKTestSession and Apple's own library tests; treated like `xcode`.
    public static let localTesting = Self(rawValue: "LocalTesting")
    /// A payload without an environment, such as genuine transactions of 2021. Allowed only where
    /// the policy names it.
    public static let unspecified = Self(rawValue: "Unspecified")

    /// The environments that a policy can name.
    public static let known: [Self] = [.production, .sandbox, .xcode, .localTesting, .unspecified]

    /// The path below which a local App Store has its sandbox; Apple's is another host.
    package static let localSandboxPath = "sandbox"

    public var description: String { rawValue }
}
