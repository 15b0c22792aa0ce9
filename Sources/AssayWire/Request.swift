public import AssayModels

/// The head of a request frame (`assay.v1.RequestHead`). The evidence is the frame's body.
public struct RequestHead: Equatable, Sendable {
    /// The client's choice, echoed in the answer; unique among the requests in flight on a
    /// connection, and not 0, which is the server's own (`ResponseHead.connectionId`).
    public var id: UInt64
    /// How long the answer is worth waiting for, from the frame's first byte on; 0 is the
    /// server's default.
    public var timeoutMilliseconds: UInt32
    /// W3C trace context, or empty.
    public var traceparent: String
    /// Name of the server's app entry; empty is its default one.
    public var app: String
    public var call: Call
    /// Of Verify: rather wait than be refused because of the queue, and be served after those that
    /// do not say so.
    public var mayWait: Bool

    public init(
        id: UInt64, call: Call, app: String = "", timeoutMilliseconds: UInt32 = 0,
        traceparent: String = "", mayWait: Bool = false
    ) {
        self.id = id
        self.timeoutMilliseconds = timeoutMilliseconds
        self.traceparent = traceparent
        self.app = app
        self.call = call
        self.mayWait = mayWait
    }

    public enum Call: Equatable, Sendable {
        case verify(VerifyCall)
        case health
        case info
        case ping
        /// No call, or one that a newer client knows: answered UNIMPLEMENTED.
        case unknown
    }
}

/// What to verify, and what to return.
public struct VerifyCall: Equatable, Sendable {
    /// Nil where a newer client names a kind unknown here: answered UNIMPLEMENTED.
    public var kind: EvidenceKind?
    public var expectations: Expectations
    /// Return the payload as typed protobuf fields.
    public var returnsTypedPayload: Bool
    /// Return the signed JSON in the body: `{"payload": …}`, and for a notification beside it
    /// `"transaction"`, `"renewalInfo"`, `"appTransaction"` where it carries them.
    public var returnsPayloadJSON: Bool
    /// The in-app records of an app receipt to return.
    public var inApp: InAppSelection
    /// Of a receipt: return verifyReceipt's JSON in the body instead of the payload's.
    public var returnsVerifyReceiptJSON: Bool

    public init(
        kind: EvidenceKind?, expectations: Expectations = .none, returnsTypedPayload: Bool = true,
        returnsPayloadJSON: Bool = false, inApp: InAppSelection = .all,
        returnsVerifyReceiptJSON: Bool = false
    ) {
        self.inApp = inApp
        self.returnsVerifyReceiptJSON = returnsVerifyReceiptJSON
        self.kind = kind
        self.expectations = expectations
        self.returnsTypedPayload = returnsTypedPayload
        self.returnsPayloadJSON = returnsPayloadJSON
    }
}
