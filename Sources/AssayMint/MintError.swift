import Assay
public import AssayModels

/// Why nothing was minted.
public enum MintError: Error, Equatable, Sendable {
    /// OpenSSL made no key of that kind.
    case keyGenerationFailed
    /// OpenSSL gave no random bytes.
    case noRandomness
    /// OpenSSL did not sign with that key.
    case signingFailed
    /// The named file is not in the folder.
    case missingFile(String)
    /// The named file is not PEM of a certificate, or of an unencrypted private key.
    case malformedFile(String)
    /// The named private key is not the one of its certificate.
    case keyMismatch(String)
    /// The named certificate was not made by `DevelopmentCA`.
    case foreignCertificate(String)
    /// Asked to issue under a certificate whose private key is not there.
    case missingIssuerKey(String)
    /// Evidence of this kind is no JWS.
    case notAToken(EvidenceKind)

    init(_ error: SigningKeyError) {
        switch error {
        case .generationFailed: self = .keyGenerationFailed
        case .notAKey, .signingFailed: self = .signingFailed
        }
    }
}

/// Runs what signs, and tells its failure in this module's words.
func minting<Result>(
    _ body: () throws(SigningKeyError) -> Result
) throws(MintError) -> Result {
    do { return try body() } catch { throw MintError(error) }
}
