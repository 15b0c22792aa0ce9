/// The result of one verification, in-process and over the wire alike.
public struct Verification: Equatable, Sendable {
    /// The verdict. Trust the evidence only if it is `valid`.
    public var verdict: Verdict
    /// One sentence that names the deciding check and the value found. Never contains a secret or
    /// a whole item of evidence.
    public var detail: String
    /// The kind that the caller named, or the kind detected where the caller named none.
    public var kind: EvidenceKind?
    /// The environment of the signed payload; nil until its signature verifies.
    public var environment: StoreEnvironment?
    /// The state of a purchase of another store than Apple's: VALID evidence can be of a purchase
    /// that is not paid. Nil for Apple's evidence, and until the signature verifies.
    public var state: PurchaseState?
    /// Names the purchase: grant it once by this key. It is the same for every evidence of one
    /// purchase, also for a refund; that of a notification is the key of its transaction. An ECDSA
    /// signature has a second valid form, so the text of a token is not a deduplication key.
    ///
    /// Nil until the signature verifies, and for evidence of no single purchase: an app receipt, an
    /// answer of the App Store Server API, renewal information. In these, each record and each
    /// transaction has a key.
    public var dedupKey: String?
    /// Names this statement: its kind, what it is about, and when Apple signed it. Store evidence
    /// under this key, so that a refund never loses to the purchase. Apple's retries of a
    /// notification have one. Nil until the signature verifies.
    public var evidenceKey: String?
    /// The certificate that signed the evidence; nil until the signature verifies.
    public var certificate: SigningCertificate?
    /// The payload; present exactly when the verdict is VALID.
    public var evidence: VerifiedEvidence?
    /// The wrapper that the evidence was in, if the verifier opened one: `Unity`, `React Native`,
    /// `Cordova`, `Flutter`, `Billing Library` or `IAP Kit`.
    public var unwrapped: String?

    /// Creates a verification.
    // Inlinable: a call would copy all members.
    @inlinable
    public init(
        verdict: Verdict, detail: String, kind: EvidenceKind? = nil,
        environment: StoreEnvironment? = nil, dedupKey: String? = nil, evidenceKey: String? = nil,
        certificate: SigningCertificate? = nil, evidence: VerifiedEvidence? = nil,
        unwrapped: String? = nil, state: PurchaseState? = nil
    ) {
        self.verdict = verdict
        self.detail = detail
        self.kind = kind
        self.environment = environment
        self.dedupKey = dedupKey
        self.evidenceKey = evidenceKey
        self.certificate = certificate
        self.evidence = evidence
        self.unwrapped = unwrapped
        self.state = state
    }
}

/// A summary of the certificate whose key signed the evidence.
public struct SigningCertificate: Hashable, Sendable {
    /// The serial number in lower-case hexadecimal without leading zeros.
    public var serial: String
    /// The last second of the certificate's validity.
    public var notAfter: Timestamp
    /// Whether the certificate has expired since the evidence was signed. The evidence stays
    /// valid: the certificate was valid at the effective date.
    public var expired: Bool

    /// Creates a summary.
    public init(serial: String, notAfter: Timestamp, expired: Bool) {
        self.serial = serial
        self.notAfter = notAfter
        self.expired = expired
    }
}

/// A payload whose signature, chain and policy checks passed.
///
/// A reference to shared content: a payload has up to 900 bytes and dozens of strings, and is
/// passed on many times.
public struct VerifiedPayload<Payload: Equatable & Sendable>: Equatable, Sendable {
    /// The typed fields. Reading one field does not copy the others.
    @inlinable public var payload: Payload { _read { yield content.payload } }
    /// The payload's JSON, byte for byte as signed, including members without a typed field.
    public var json: [UInt8] { content.json }

    // Inlinable: code for any payload would copy it by run-time metadata.
    @usableFromInline let content: Content

    @usableFromInline final class Content: Sendable {
        @usableFromInline let payload: Payload
        @usableFromInline let json: [UInt8]

        @inlinable init(_ payload: consuming Payload, _ json: [UInt8]) {
            self.payload = payload
            self.json = json
        }
    }

    @inlinable package init(_ payload: consuming Payload, json: [UInt8]) {
        content = Content(payload, json)
    }

    /// Calls `body` with the typed fields, without a copy.
    @inlinable package func withPayload<Result>(_ body: (borrowing Payload) -> Result) -> Result {
        body(content.payload)
    }

    /// Whether both have equal fields and equal JSON.
    public static func == (left: Self, right: Self) -> Bool {
        left.payload == right.payload && left.json == right.json
    }
}

/// A notification and its nested evidence, all verified.
public struct VerifiedNotification: Equatable, Sendable {
    /// The notification itself.
    public let notification: VerifiedPayload<ResponseBodyV2DecodedPayload>
    /// `data.signedTransactionInfo`.
    public let transaction: VerifiedPayload<JWSTransactionDecodedPayload>?
    /// `data.signedRenewalInfo`.
    public let renewalInfo: VerifiedPayload<JWSRenewalInfoDecodedPayload>?
    /// `appData.signedAppTransactionInfo`.
    public let appTransaction: VerifiedPayload<AppTransaction>?
    /// Names the purchase of the transaction: grant it once by this key. Nil without a transaction.
    public let dedupKey: String?
    /// Remarks about the notification. They never change the verdict.
    public let warnings: [EvidenceWarning]

    package init(
        notification: VerifiedPayload<ResponseBodyV2DecodedPayload>,
        transaction: VerifiedPayload<JWSTransactionDecodedPayload>?,
        renewalInfo: VerifiedPayload<JWSRenewalInfoDecodedPayload>?,
        appTransaction: VerifiedPayload<AppTransaction>?, dedupKey: String? = nil,
        warnings: [EvidenceWarning] = []
    ) {
        self.notification = notification
        self.transaction = transaction
        self.renewalInfo = renewalInfo
        self.appTransaction = appTransaction
        self.dedupKey = dedupKey
        self.warnings = warnings
    }
}

/// The verified payload, by kind.
public enum VerifiedEvidence: Equatable, Sendable {
    /// A StoreKit 2 transaction.
    case transaction(VerifiedPayload<JWSTransactionDecodedPayload>)
    /// The renewal state of a subscription.
    case renewalInfo(VerifiedPayload<JWSRenewalInfoDecodedPayload>)
    /// The purchase of the app itself.
    case appTransaction(VerifiedPayload<AppTransaction>)
    /// An App Store Server Notification V2 with its nested evidence.
    case notification(VerifiedNotification)
    /// A request of the retention messaging API.
    case realtimeRequest(VerifiedPayload<DecodedRealtimeRequestBody>)
    /// A StoreKit 1 app receipt.
    indirect case appReceipt(AppReceipt)
    /// A transaction receipt of iOS 3 to 6.
    indirect case transactionReceipt(TransactionReceipt)
    /// An answer of the App Store Server API.
    indirect case serverAnswer(ServerAnswer)
    /// A version 1 App Store Server Notification.
    indirect case notificationV1(VerifiedNotificationV1)
    /// A purchase of Google Play.
    case googlePurchase(VerifiedPayload<GooglePurchase>)
    /// A purchase of Huawei AppGallery on Android.
    case huaweiPurchase(VerifiedPayload<HuaweiPurchase>)
    /// A purchase of Huawei AppGallery on HarmonyOS.
    case harmonyPurchase(VerifiedPayload<HarmonyPurchase>)
    /// The state of a subscription of Huawei AppGallery on HarmonyOS.
    case harmonySubscription(VerifiedPayload<HarmonySubscription>)
    /// A notification of Huawei AppGallery for HarmonyOS.
    case harmonyNotification(VerifiedPayload<HarmonyNotification>)
    /// A notification of Google Play.
    case googleNotification(VerifiedPayload<GoogleNotification>)
    /// A notification of Huawei AppGallery on Android.
    case huaweiNotification(VerifiedPayload<HuaweiNotification>)
}
