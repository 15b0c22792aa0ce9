/// The reason that an OCSP response or a CRL is not used.
public enum RevocationError: Error, Equatable, Sendable {
    /// Neither DER of an OCSP response nor DER or PEM of a CRL, with the reason.
    case malformed(String)
    /// More bytes than the limit.
    case tooLarge(bytes: Int, limit: Int)
    /// More documents or bytes of documents than the limit.
    case tooManyDocuments(limit: Int)
    /// The responder answers with an error and no status: its responseStatus (RFC 6960, section
    /// 4.2.1).
    case refusedByResponder(Int)
    /// A critical extension that changes the meaning in a way that is not supported.
    case criticalExtension(String)
    /// An indirect or partial CRL, or an answer of another type than a basic response.
    case unsupported(String)
    /// Made in the future: a clock is wrong.
    case fromTheFuture
    /// Newer information should exist.
    case stale
    /// A newer statement of this kind about this certificate is known.
    case older
    /// About other certificates.
    case anotherCertificate
    /// Neither the issuer nor one of its delegates signed it.
    case unknownSigner
    /// The signer's certificate lacks a property of a delegate.
    case invalidDelegate(String)
    /// The signature does not verify with the signer's key.
    case invalidSignature
}

extension RevocationError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformed(let why): "it is not a valid OCSP response or CRL: \(why)"
        case .tooLarge(let bytes, let limit): "it has \(bytes) bytes; the limit is \(limit)"
        case .tooManyDocuments(let limit): "there are more than \(limit) responses and CRLs"
        case .refusedByResponder(let status):
            "the responder answered \(Self.name(ofStatus: status)) instead of a status"
        case .criticalExtension(let oid): "it has the unsupported critical extension \(oid)"
        case .unsupported(let what): "it is \(what), which is not supported"
        case .fromTheFuture: "it is from the future; check the clock"
        case .stale: "it is stale: its nextUpdate has passed"
        case .older: "it is older than the one that is known"
        case .anotherCertificate: "it is about another certificate"
        case .unknownSigner: "neither the issuer nor a delegate in it signed it"
        case .invalidDelegate(let why): "its signer is no delegate of the issuer: \(why)"
        case .invalidSignature: "its signature does not verify with the signer's key"
        }
    }

    private static func name(ofStatus status: Int) -> String {
        switch status {
        case 1: "malformedRequest"
        case 2: "internalError"
        case 3: "tryLater"
        case 5: "sigRequired"
        case 6: "unauthorized"
        default: "status \(status)"
        }
    }
}
