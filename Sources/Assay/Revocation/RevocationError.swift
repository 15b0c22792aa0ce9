/// The reason that an OCSP response or a CRL is not used.
public struct RevocationError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// Neither DER of an OCSP response nor DER or PEM of a CRL.
        public static let malformed = Reason("malformed")
        /// More bytes than the limit.
        public static let tooLarge = Reason("tooLarge")
        /// More documents or bytes of documents than the limit.
        public static let tooManyDocuments = Reason("tooManyDocuments")
        /// The responder answers with an error and no status (RFC 6960, section 4.2.1).
        public static let refusedByResponder = Reason("refusedByResponder")
        /// A critical extension that changes the meaning in a way that is not supported.
        public static let criticalExtension = Reason("criticalExtension")
        /// An indirect or partial CRL, or an answer of another type than a basic response.
        public static let unsupported = Reason("unsupported")
        /// Made in the future: a clock is wrong.
        public static let fromTheFuture = Reason("fromTheFuture")
        /// Newer information should exist.
        public static let stale = Reason("stale")
        /// A newer statement of this kind about this certificate is known.
        public static let older = Reason("older")
        /// About other certificates.
        public static let anotherCertificate = Reason("anotherCertificate")
        /// Neither the issuer nor one of its delegates signed it.
        public static let unknownSigner = Reason("unknownSigner")
        /// The signer's certificate lacks a property of a delegate.
        public static let invalidDelegate = Reason("invalidDelegate")
        /// The signature does not verify with the signer's key.
        public static let invalidSignature = Reason("invalidSignature")
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

extension RevocationError: CustomStringConvertible {
    public var description: String { message }
}

extension RevocationError {
    package static func malformed(_ why: String) -> Self {
        Self(.malformed, "it is not a valid OCSP response or CRL: \(why)")
    }

    package static func tooLarge(bytes: Int, limit: Int) -> Self {
        Self(.tooLarge, "it has \(bytes) bytes; the limit is \(limit)")
    }

    package static func tooManyDocuments(limit: Int) -> Self {
        Self(.tooManyDocuments, "there are more than \(limit) responses and CRLs")
    }

    /// - Parameter status: The responseStatus.
    package static func refusedByResponder(_ status: Int) -> Self {
        Self(
            .refusedByResponder,
            "the responder answered \(name(ofStatus: status)) instead of a status")
    }

    package static func criticalExtension(_ oid: String) -> Self {
        Self(.criticalExtension, "it has the unsupported critical extension \(oid)")
    }

    package static func unsupported(_ what: String) -> Self {
        Self(.unsupported, "it is \(what), which is not supported")
    }

    package static let fromTheFuture = Self(
        .fromTheFuture, "it is from the future; check the clock")
    package static let stale = Self(.stale, "it is stale: its nextUpdate has passed")
    package static let older = Self(.older, "it is older than the one that is known")
    package static let anotherCertificate = Self(
        .anotherCertificate, "it is about another certificate")
    package static let unknownSigner = Self(
        .unknownSigner, "neither the issuer nor a delegate in it signed it")

    package static func invalidDelegate(_ why: String) -> Self {
        Self(.invalidDelegate, "its signer is no delegate of the issuer: \(why)")
    }

    package static let invalidSignature = Self(
        .invalidSignature, "its signature does not verify with the signer's key")

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
