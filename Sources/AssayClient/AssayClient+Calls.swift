public import AssayModels
public import AssayWire

// Verify, Resolve and Fetch have one shape: what is asked about, the question's options, the
// expectations, the payloads to return, then app and timeout.
extension AssayClient {
    /// Verifies evidence. A refusal is an answer, not an error: check its verdict.
    ///
    /// - Parameters:
    ///   - evidence: The evidence as the app or Apple sent it; for a notification, the posted
    ///     body.
    ///   - kind: The kind of the evidence.
    ///   - inApp: The in-app records of an app receipt to return.
    ///   - expectations: The caller's expectations, which narrow the server's policy.
    ///   - payloads: The forms in which to return the payload of valid evidence.
    ///   - app: The name of the server's app entry; empty for the default entry.
    ///   - timeout: How long to wait for the answer, at most 30 s; nil for the timeout of the
    ///     options.
    ///   - mayWait: Asks a busy server to queue the call instead of refusing it, for bulk work.
    ///     The server serves such calls after all others; use a long timeout.
    public func verify(
        _ evidence: [UInt8], as kind: EvidenceKind, inApp: InAppSelection = .all,
        expecting expectations: Expectations = .none, returning payloads: ReturnedPayloads = .typed,
        app: String = "", timeout: Duration? = nil, mayWait: Bool = false
    ) async throws(ClientError) -> VerifyAnswer {
        let call = VerifyCall(
            kind: kind, expectations: expectations, returnsTypedPayload: payloads.contains(.typed),
            returnsPayloadJSON: payloads.contains(.json), inApp: inApp,
            returnsVerifyReceiptJSON: payloads.contains(.verifyReceiptJSON))
        return try await verify(evidence, call, app: app, timeout: timeout, mayWait: mayWait)
    }

    /// Verifies evidence by a call of the wire.
    package func verify(
        _ evidence: [UInt8], _ call: VerifyCall, app: String = "", timeout: Duration? = nil,
        mayWait: Bool = false
    ) async throws(ClientError) -> VerifyAnswer {
        let answer = try await perform(
            ClientRequest(
                .verify(call), body: evidence, app: app, timeout: timeout, mayWait: mayWait))
        guard case .verification(let verification) = answer.result else {
            throw .unexpectedAnswer
        }
        return VerifyAnswer(verification: verification, payloadJSON: answer.body)
    }

    /// Verifies items of evidence, and returns what the customer owns. A refused item is an answer,
    /// not an error: check its verdict. The order of the items never changes the answer.
    ///
    /// - Parameters:
    ///   - items: The evidence, at most as many items as the server's limit
    ///     (`ServerInfo.Limits.resolveItems`).
    ///   - moment: The moment of the decision; nil for the server's clock.
    ///   - policy: What the caller decides, because the evidence does not say it.
    ///   - expectations: The caller's expectations of every item.
    ///   - payloads: The forms in which to return the payload of each valid item: typed or JSON.
    ///   - app: The name of the server's app entry; empty for the default entry.
    ///   - timeout: How long to wait for the answer, at most 30 s; nil for the timeout of the
    ///     options.
    ///   - mayWait: Asks a busy server to queue the call instead of refusing it, for bulk work.
    public func resolve(
        _ items: [ResolveItem], at moment: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy(),
        expecting expectations: Expectations = .none, returning payloads: ReturnedPayloads = [],
        app: String = "", timeout: Duration? = nil, mayWait: Bool = false
    ) async throws(ClientError) -> ResolveAnswer {
        try payloads.require([.typed, .json], of: "Resolve")
        let call = ResolveCall(
            items: items.map { item in
                ResolveCall.Item(
                    item.kind.map { .named($0) } ?? .detected,
                    length: UInt32(clamping: item.evidence.count), label: item.label)
            },
            at: moment, policy: policy, expectations: expectations,
            returnsTypedPayloads: payloads.contains(.typed),
            returnsPayloadJSON: payloads.contains(.json))
        var body: [UInt8] = []
        body.reserveCapacity(items.reduce(0) { $0 + $1.evidence.count })
        for item in items { body += item.evidence }
        let answer = try await perform(
            ClientRequest(.resolve(call), body: body, app: app, timeout: timeout, mayWait: mayWait))
        guard case .resolution(let resolution) = answer.result else { throw .unexpectedAnswer }
        guard let resolved = ResolveAnswer(resolution, answer.body, itemCount: items.count) else {
            throw .protocolViolation("the answer does not fit the items")
        }
        return resolved
    }

    /// Has the server ask the App Store for a customer's purchases, and returns what the customer
    /// owns. The server verifies every answer.
    ///
    /// - Parameters:
    ///   - transactionId: Any transaction identifier of the customer.
    ///   - lists: The lists to ask for; empty for all.
    ///   - moment: The moment of the decision; nil for the server's clock.
    ///   - policy: What the caller decides, because the evidence does not say it.
    ///   - payloads: The forms in which to return the payload of each answer: typed.
    ///   - app: The name of the server's app entry; empty for the default entry.
    ///   - timeout: How long to wait for the answer, at most 30 s; nil for 30 s.
    public func fetch(
        transactionId: String, lists: [FetchCall.List] = [], at moment: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy(), returning payloads: ReturnedPayloads = [],
        app: String = "", timeout: Duration? = nil
    ) async throws(ClientError) -> FetchAnswer {
        try payloads.require(.typed, of: "Fetch")
        let call = FetchCall(
            of: transactionId, lists: lists, at: moment, policy: policy,
            returnsTypedPayloads: payloads.contains(.typed))
        return try await fetch(call, app: app, timeout: timeout)
    }

    /// Has the server ask the App Store for the purchases of the customer that evidence names: by
    /// the newest transaction in a token, a notification, an answer or a receipt.
    ///
    /// The server does not verify the evidence, but every answer of the App Store.
    ///
    /// - Parameters:
    ///   - evidence: Exactly as it was received, at most 1 MiB.
    ///   - lists: The lists to ask for; empty for all.
    ///   - moment: The moment of the decision; nil for the server's clock.
    ///   - policy: What the caller decides, because the evidence does not say it.
    ///   - payloads: The forms in which to return the payload of each answer: typed.
    ///   - app: The name of the server's app entry; empty for the default entry.
    ///   - timeout: How long to wait for the answer, at most 30 s; nil for 30 s.
    public func fetch(
        _ evidence: [UInt8], lists: [FetchCall.List] = [], at moment: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy(), returning payloads: ReturnedPayloads = [],
        app: String = "", timeout: Duration? = nil
    ) async throws(ClientError) -> FetchAnswer {
        try payloads.require(.typed, of: "Fetch")
        let call = FetchCall(
            of: "", lists: lists, at: moment, policy: policy,
            returnsTypedPayloads: payloads.contains(.typed))
        return try await fetch(call, by: evidence, app: app, timeout: timeout)
    }

    private func fetch(
        _ call: FetchCall, by evidence: [UInt8] = [], app: String, timeout: Duration?
    ) async throws(ClientError) -> FetchAnswer {
        let answer = try await perform(
            ClientRequest(
                .fetch(call), body: evidence, app: app,
                timeout: timeout ?? ClientOptions.longestTimeout))
        guard case .fetched(let fetched) = answer.result else { throw .unexpectedAnswer }
        return FetchAnswer(fetched)
    }

    /// Returns whether the server is serving.
    public func health(timeout: Duration? = nil) async throws(ClientError) -> Bool {
        let answer = try await perform(ClientRequest(.health, timeout: timeout))
        guard case .health(let isServing) = answer.result else { throw .unexpectedAnswer }
        return isServing
    }

    /// Returns the server's version, kinds, limits and roots.
    public func info(timeout: Duration? = nil) async throws(ClientError) -> ServerInfo {
        let answer = try await perform(ClientRequest(.info, timeout: timeout))
        guard case .info(let info) = answer.result else { throw .unexpectedAnswer }
        return info
    }

    /// Returns when the server has answered.
    public func ping(timeout: Duration? = nil) async throws(ClientError) {
        let answer = try await perform(ClientRequest(.ping, timeout: timeout))
        guard case .pong = answer.result else { throw .unexpectedAnswer }
    }
}

extension ReturnedPayloads {
    /// Throws for a form that a call does not return.
    fileprivate func require(_ forms: Self, of call: String) throws(ClientError) {
        guard isSubset(of: forms) else {
            let names = forms.contains(.json) ? "typed fields or JSON" : "typed fields"
            throw ClientError(
                .invalidArgument, "returning: a \(call) returns payloads as \(names) only")
        }
    }
}

extension ClientError {
    fileprivate static let unexpectedAnswer = ClientError.protocolViolation(
        "an answer to another call")
}
