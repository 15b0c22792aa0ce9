import AssayKeys
public import AssayModels

/// The errors of minting.
public enum MintError: Error, Equatable, Sendable {
    /// OpenSSL could not generate a key of this type.
    case keyGenerationFailed
    /// OpenSSL returned no random bytes.
    case noRandomness
    /// OpenSSL could not sign with the key.
    case signingFailed
    /// The named file is missing.
    case missingFile(String)
    /// The named file is not a PEM certificate or unencrypted private key.
    case malformedFile(String)
    /// The named private key does not match its certificate.
    case keyMismatch(String)
    /// The named certificate does not come from `DevelopmentCA`.
    case foreignCertificate(String)
    /// The private key of the issuing certificate is missing. Names the key's file.
    case missingIssuerKey(String)
    /// Evidence of this kind is not a JWS.
    case notAToken(EvidenceKind)
    /// A scenario file is not JSON. Says why.
    case malformedScenario(String)
    /// A scenario file has a member, or a name, that is not one of the known ones.
    case unknownMember(String, at: String, known: [String])
    /// A member of a scenario file has the wrong type or value. `at` is its location, such as
    /// `steps[2].expect`.
    case invalidMember(at: String, reason: String)

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
