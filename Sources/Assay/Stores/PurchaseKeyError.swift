/// The reason that a store's key cannot be used.
public struct PurchaseKeyError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// Neither base64, PEM nor DER of one SubjectPublicKeyInfo.
        public static let notAKey = Reason("notAKey")
        /// A key of another algorithm than RSA.
        public static let notRSA = Reason("notRSA")
        /// RSA of another size than 2048 to 4096 bits, or with a public exponent below 65537.
        public static let unsupportedSize = Reason("unsupportedSize")
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

extension PurchaseKeyError: CustomStringConvertible {
    public var description: String { message }
}

extension PurchaseKeyError {
    package static func notAKey(_ reason: String) -> Self {
        Self(
            .notAKey,
            "it is not the base64 of a public key, as the store's console shows it: \(reason)")
    }

    package static let notRSA = Self(.notRSA, "it is not an RSA key")

    /// - Parameter hasException: Whether a configuration can allow keys of the legacy size.
    package static func unsupportedSize(bits: Int, hasException: Bool = true) -> Self {
        let text =
            if bits == Limits.legacyRSAKeyBits, hasException {
                "it has \(bits) bits; keys of this size are accepted only where allowed by name"
            } else if bits < Limits.smallestRSAKeyBits {
                "it has \(bits) bits, at least \(Limits.smallestRSAKeyBits) are needed"
            } else {
                "it has \(bits) bits, or a public exponent below \(Limits.smallestRSAExponent)"
            }
        return Self(.unsupportedSize, text)
    }
}
