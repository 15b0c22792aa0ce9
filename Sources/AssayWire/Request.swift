public import AssayModels

/// The head of a request frame (`assay.v1.RequestHead`). The evidence is the frame's body.
public struct RequestHead: Equatable, Sendable {
    /// Chosen by the client and echoed in the response. Unique among the requests in flight on a
    /// connection, and not 0, which the server uses (`ResponseHead.connectionId`).
    public var id: UInt64
    /// The time limit of the request in milliseconds, from the frame's first byte on; 0 selects
    /// the server's default.
    public var timeoutMilliseconds: UInt32
    /// Name of the server's app entry; empty selects the default entry.
    public var app: String
    /// The call.
    public var call: Call
    /// For Verify and Resolve: wait instead of being rejected because of the queue, and be served
    /// after requests without this flag.
    public var mayWait: Bool
    /// The trace to which the request belongs; nil without one.
    public var trace: TraceContext?

    /// Creates the head of a request.
    public init(
        id: UInt64, call: Call, app: String = "", timeoutMilliseconds: UInt32 = 0,
        mayWait: Bool = false, trace: TraceContext? = nil
    ) {
        self.id = id
        self.timeoutMilliseconds = timeoutMilliseconds
        self.app = app
        self.call = call
        self.mayWait = mayWait
        self.trace = trace
    }

    /// A call, with its arguments.
    public enum Call: Equatable, Sendable {
        /// Verifies the evidence in the body.
        case verify(VerifyCall)
        /// Verifies the items of evidence in the body, and decides what the customer owns.
        indirect case resolve(ResolveCall)
        /// Asks the App Store for a customer's purchases, and decides what the customer owns.
        indirect case fetch(FetchCall)
        /// Returns whether the server accepts requests.
        case health
        /// Returns the server's version, kinds of evidence, limits and roots.
        case info
        /// Returns an empty result.
        case ping
        /// No call, or a call of a newer client. The server answers UNIMPLEMENTED.
        case unknown
    }
}

/// The kind of the evidence, the expectations, and the parts of the result to return.
public struct VerifyCall: Equatable, Sendable {
    /// Nil for a kind of a newer client. The server answers UNIMPLEMENTED.
    public var kind: EvidenceKind?
    /// The caller's expectations, which narrow the server's policy.
    public var expectations: Expectations
    /// Return the payload as typed protobuf fields.
    public var returnsTypedPayload: Bool
    /// Return the signed JSON in the body: `{"payload": …}`. A notification adds `"transaction"`,
    /// `"renewalInfo"` and `"appTransaction"` if it contains them. A Server API answer has
    /// `"transactions"` and so on, and `"unsigned"`.
    public var returnsPayloadJSON: Bool
    /// The in-app records of an app receipt to return.
    public var inApp: InAppSelection
    /// For a receipt: return verifyReceipt's JSON in the body instead of the payload's.
    public var returnsVerifyReceiptJSON: Bool

    /// Creates a call.
    public init(
        kind: EvidenceKind?, expectations: Expectations = .none, returnsTypedPayload: Bool = true,
        returnsPayloadJSON: Bool = false, inApp: InAppSelection = .all,
        returnsVerifyReceiptJSON: Bool = false
    ) {
        self.inApp = inApp
        self.returnsVerifyReceiptJSON = returnsVerifyReceiptJSON
        self.kind = kind
        self.returnsTypedPayload = returnsTypedPayload
        self.returnsPayloadJSON = returnsPayloadJSON
        self.expectations = expectations
    }
}
