/// The reason that a JWK Set cannot be used.
public struct PushKeysError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// Not a JWK Set.
        public static let notASet = Reason("notASet")
        /// A key in it is private.
        public static let privateKey = Reason("privateKey")
        /// No key in it can verify a token.
        public static let noKey = Reason("noKey")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String

    private init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

extension PushKeysError: CustomStringConvertible {
    public var description: String { message }
}

extension PushKeysError {
    static func notASet(_ reason: String) -> Self {
        Self(
            .notASet,
            "it is not a JWK Set, as https://www.googleapis.com/oauth2/v3/certs has it: \(reason)")
    }

    static let privateKey = Self(
        .privateKey, "it has a private key, which has to stay secret")

    /// - Parameter reason: Why one key can't verify; nil without keys.
    static func noKey(_ reason: String?) -> Self {
        Self(
            .noKey, "it has no RSA key with a kid for RS256" + (reason.map { ": \($0)" } ?? ""))
    }
}
