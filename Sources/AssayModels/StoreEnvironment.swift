/// Apple's `environment` (in an app transaction `receiptType`), kept as Apple spells it.
///
/// Values that Apple adds later are kept, and match no policy until it names them.
public struct StoreEnvironment: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let production = Self(rawValue: "Production")
    public static let sandbox = Self(rawValue: "Sandbox")
    /// StoreKit Testing in Xcode: self-signed, good only with a pinned development certificate.
    public static let xcode = Self(rawValue: "Xcode")
    /// SKTestSession and Apple's own library tests: as `xcode`.
    public static let localTesting = Self(rawValue: "LocalTesting")
    /// A payload that names no environment, as genuine transactions of 2021. Allowed by name only.
    public static let unspecified = Self(rawValue: "Unspecified")

    /// The environments that a policy can name.
    public static let known: [Self] = [.production, .sandbox, .xcode, .localTesting, .unspecified]

    public var description: String { rawValue }
}
