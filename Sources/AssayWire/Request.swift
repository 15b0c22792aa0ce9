public import AssayModels

/// The head of a request frame (`assay.v1.RequestHead`). The evidence is the frame's body.
public struct RequestHead: Equatable, Sendable {
    /// Chosen by the client and echoed in the response. Unique among the requests in flight on a
    /// connection, and not 0, which the server uses (`ResponseHead.connectionId`).
    public var id: UInt64
    /// The time limit of the request in milliseconds, from the frame's first byte on; 0 selects
    /// the server's default.
    public var timeoutMilliseconds: UInt32
    /// W3C trace context, or empty.
    public var traceparent: String
    /// Name of the server's app entry; empty selects the default entry.
    public var app: String
    public var call: Call
    /// For Verify: wait instead of being rejected because of the queue, and be served after
    /// requests without this flag.
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
        /// No call, or a call of a newer client. The server answers UNIMPLEMENTED.
        case unknown
    }
}

/// The kind of the evidence, the expectations, and the parts of the result to return.
public struct VerifyCall: Equatable, Sendable {
    /// Nil for a kind of a newer client. The server answers UNIMPLEMENTED.
    public var kind: EvidenceKind?
    public var expectations: Expectations
    /// Return the payload as typed protobuf fields.
    public var returnsTypedPayload: Bool
    /// Return the signed JSON in the body: `{"payload": …}`. A notification adds `"transaction"`,
    /// `"renewalInfo"` and `"appTransaction"` if it contains them.
    public var returnsPayloadJSON: Bool
    /// The in-app records of an app receipt to return.
    public var inApp: InAppSelection
    /// For a receipt: return verifyReceipt's JSON in the body instead of the payload's.
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
