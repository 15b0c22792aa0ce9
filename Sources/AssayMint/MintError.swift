import Assay
import AssayKeys
package import AssayModels

/// The reason why nothing was minted.
public struct MintError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// OpenSSL could not generate a key of this type.
        public static let keyGenerationFailed = Reason("keyGenerationFailed")
        /// OpenSSL returned no random bytes.
        public static let noRandomness = Reason("noRandomness")
        /// OpenSSL could not sign with the key.
        public static let signingFailed = Reason("signingFailed")
        /// `file` is missing.
        public static let missingFile = Reason("missingFile")
        /// `file` is not a PEM certificate or unencrypted private key.
        public static let malformedFile = Reason("malformedFile")
        /// The private key in `file` does not match its certificate.
        public static let keyMismatch = Reason("keyMismatch")
        /// The certificate in `file` does not come from `DevelopmentCA`.
        public static let foreignCertificate = Reason("foreignCertificate")
        /// The private key of the issuing certificate is missing: `file`.
        public static let missingIssuerKey = Reason("missingIssuerKey")
        /// Evidence of this kind is not a JWS.
        public static let notAToken = Reason("notAToken")
        /// A scenario file is not JSON.
        public static let malformedScenario = Reason("malformedScenario")
        /// A scenario file has at `location` a member, or a name, that is unknown.
        public static let unknownMember = Reason("unknownMember")
        /// A scenario file has at `location` a member of the wrong type or value.
        public static let invalidMember = Reason("invalidMember")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String
    /// The name of the file that the reason is about; nil for other reasons.
    public let file: String?
    /// The location in a scenario file, such as `steps[2].expect`; nil for other reasons.
    public let location: String?

    private init(
        _ reason: Reason, _ message: String, of file: String? = nil, at location: String? = nil
    ) {
        self.reason = reason
        self.message = message
        self.file = file
        self.location = location
    }
}

extension MintError: CustomStringConvertible {
    public var description: String { message }
}

extension MintError {
    package static let keyGenerationFailed = Self(
        .keyGenerationFailed, "OpenSSL failed to generate a key")
    package static let noRandomness = Self(.noRandomness, "OpenSSL has no random bytes")
    package static let signingFailed = Self(.signingFailed, "OpenSSL failed to sign")

    package static func missingFile(_ name: String) -> Self {
        Self(.missingFile, "\(name) is missing", of: name)
    }

    package static func malformedFile(_ name: String) -> Self {
        Self(
            .malformedFile,
            "\(name) is not the PEM of a certificate or of an unencrypted private key", of: name)
    }

    package static func keyMismatch(_ name: String) -> Self {
        Self(.keyMismatch, "\(name) is not the key of its certificate", of: name)
    }

    package static func foreignCertificate(_ name: String) -> Self {
        Self(
            .foreignCertificate,
            "\(name) was not made by 'assay mint ca': Apple's evidence can't be minted", of: name)
    }

    package static func missingIssuerKey(_ name: String) -> Self {
        Self(.missingIssuerKey, "\(name) is missing: it must sign", of: name)
    }

    package static func notAToken(_ kind: EvidenceKind) -> Self {
        Self(.notAToken, "a \(kind.name) is not a JWS")
    }

    package static func malformedScenario(_ why: String) -> Self {
        Self(.malformedScenario, "it is not a scenario: \(why)")
    }

    package static func unknownMember(
        _ name: String, at location: String, known: [String]
    ) -> Self {
        Self(
            .unknownMember,
            "\(location): unknown \"\(name)\": " + Suggestion.remedy(for: name, among: known),
            at: location)
    }

    package static func invalidMember(at location: String, reason: String) -> Self {
        Self(.invalidMember, "\(location) \(reason)", at: location)
    }

    init(_ error: SigningKeyError) {
        switch error {
        case .generationFailed: self = .keyGenerationFailed
        case .notAKey, .signingFailed: self = .signingFailed
        }
    }
}

/// Runs `body` and converts its errors to `MintError`.
func minting<Result>(
    _ body: () throws(SigningKeyError) -> Result
) throws(MintError) -> Result {
    do { return try body() } catch { throw MintError(error) }
}
