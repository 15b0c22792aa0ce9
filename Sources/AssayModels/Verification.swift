/// The answer to one verification, in-process and over the wire alike.
public struct Verification: Equatable, Sendable {
    public var verdict: Verdict
    /// One plain sentence that names the check that decided and what was seen. Never a secret,
    /// never a whole piece of evidence.
    public var detail: String
    /// The kind that was asked for, or found where the caller left it open.
    public var kind: EvidenceKind?
    /// The environment of the signed payload; nil before its signature holds.
    public var environment: StoreEnvironment?
    /// The same for the same purchase, however its evidence is encoded: environment, bundle and
    /// transaction id. An ECDSA signature has a second valid form, so the text of a token is no
    /// key to deduplicate by. Nil before the signature holds.
    public var dedupKey: String?
    /// The certificate that signed; nil before the signature holds.
    public var certificate: SigningCertificate?
    /// The payload; present exactly when the verdict is VALID.
    public var evidence: VerifiedEvidence?

    public init(
        verdict: Verdict, detail: String, kind: EvidenceKind? = nil,
        environment: StoreEnvironment? = nil, dedupKey: String? = nil,
        certificate: SigningCertificate? = nil, evidence: VerifiedEvidence? = nil
    ) {
        self.verdict = verdict
        self.detail = detail
        self.kind = kind
        self.environment = environment
        self.dedupKey = dedupKey
        self.certificate = certificate
        self.evidence = evidence
    }
}

/// What is worth knowing of the certificate whose key signed the evidence.
public struct SigningCertificate: Hashable, Sendable {
    /// Serial number, lower-case hexadecimal without leading zeros.
    public var serial: String
    /// The last second of its validity.
    public var notAfter: Timestamp
    /// Whether it has expired since the evidence was signed. That does not make the evidence
    /// invalid: it was valid at the effective date.
    public var expired: Bool

    public init(serial: String, notAfter: Timestamp, expired: Bool) {
        self.serial = serial
        self.notAfter = notAfter
        self.expired = expired
    }
}

/// A payload whose signature, chain and policy hold.
///
/// It has up to 900 bytes and dozens of strings, and is handed on many times, as one reference.
public struct VerifiedPayload<Payload: Equatable & Sendable>: Equatable, Sendable {
    /// The typed fields; one of them is read without a copy of all.
    public var payload: Payload { _read { yield content.payload } }
    /// The payload's JSON, byte for byte as it was signed; it keeps members unknown here.
    public var json: [UInt8] { content.json }

    private let content: Content

    private final class Content: Sendable {
        let payload: Payload
        let json: [UInt8]

        init(_ payload: consuming Payload, _ json: [UInt8]) {
            self.payload = payload
            self.json = json
        }
    }

    package init(_ payload: consuming Payload, json: [UInt8]) {
        content = Content(payload, json)
    }

    /// All of the typed fields without a copy.
    package func withPayload<Result>(_ body: (borrowing Payload) -> Result) -> Result {
        body(content.payload)
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.payload == right.payload && left.json == right.json
    }
}

/// A notification with its nested evidence, every piece of it verified.
public struct VerifiedNotification: Equatable, Sendable {
    public let notification: VerifiedPayload<ResponseBodyV2DecodedPayload>
    /// `data.signedTransactionInfo`.
    public let transaction: VerifiedPayload<JWSTransactionDecodedPayload>?
    /// `data.signedRenewalInfo`.
    public let renewalInfo: VerifiedPayload<JWSRenewalInfoDecodedPayload>?
    /// `appData.signedAppTransactionInfo`.
    public let appTransaction: VerifiedPayload<AppTransaction>?

    package init(
        notification: VerifiedPayload<ResponseBodyV2DecodedPayload>,
        transaction: VerifiedPayload<JWSTransactionDecodedPayload>?,
        renewalInfo: VerifiedPayload<JWSRenewalInfoDecodedPayload>?,
        appTransaction: VerifiedPayload<AppTransaction>?
    ) {
        self.notification = notification
        self.transaction = transaction
        self.renewalInfo = renewalInfo
        self.appTransaction = appTransaction
    }
}

/// The verified payload, by kind.
public enum VerifiedEvidence: Equatable, Sendable {
    case transaction(VerifiedPayload<JWSTransactionDecodedPayload>)
    case renewalInfo(VerifiedPayload<JWSRenewalInfoDecodedPayload>)
    case appTransaction(VerifiedPayload<AppTransaction>)
    case notification(VerifiedNotification)
    case realtimeRequest(VerifiedPayload<DecodedRealtimeRequestBody>)
    indirect case appReceipt(AppReceipt)
    indirect case transactionReceipt(TransactionReceipt)
}
