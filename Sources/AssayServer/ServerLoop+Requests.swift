import Assay
import AssayLoop
import AssayModels
import AssayWire

/// What a request asks for, as far as it is answered without work.
extension ServerLoop {
    /// Why a request is not carried out, which is counted as its answer; nil: it is.
    func refusal(
        of head: RequestHead, bodyBytes: Int, for connection: Connection, began: UInt64?
    ) -> ResponseHead? {
        guard
            let refusal = reason(
                against: head, bodyBytes: bodyBytes, for: connection, began: began)
        else { return nil }
        metrics.didAnswerAtOnce(CallLabel(head.call), refusal)
        return refusal
    }

    private func reason(
        against head: RequestHead, bodyBytes: Int, for connection: Connection,
        began: UInt64?
    ) -> ResponseHead? {
        guard head.id != ResponseHead.connectionId else { return .reservedId }
        guard !connection.isInFlight(head.id) else { return .duplicate(head.id) }
        guard case .verify(let call) = head.call else {
            return refusal(ofOther: head, bodyBytes: bodyBytes)
        }
        guard !isDraining else { return .unavailable(head.id) }
        guard let kind = call.kind else { return .unknownKind(head.id) }
        guard app(named: head.app) != nil else {
            return .unknownApp(head.id, isNamed: !head.app.isEmpty)
        }
        let limit = bodyLimit(of: kind)
        guard bodyBytes <= limit else { return .bodyTooLarge(head.id, bodyBytes, limit: limit) }
        let isStreamed = isStreamed(kind, bodyBytes)
        let bytes = isStreamed ? reservation(call, bodyBytes) : bodyBytes
        guard isStreamed ? budget.admits(receipt: bytes) : budget.admits(bytes) else {
            return .memoryExhausted(head.id, mayFit: bytes <= limits.evidenceBytes)
        }
        return overload(head, began: began)
    }

    /// A request whose time would be over before its turn, or that would wait longer than anybody
    /// should, is refused while that costs little.
    private func overload(_ head: RequestHead, began: UInt64?) -> ResponseHead? {
        guard let delay = excessiveDelay(before: deadline(of: head, began: began)) else {
            return nil
        }
        return .overloaded(head.id, retryAfter: UInt32(clamping: delay))
    }

    /// The same where too many wait for anybody's patience, before the head is decoded: who is
    /// turned away costs what those who are served have less of.
    func refusalAtAGlance(of head: SlabBytes, for connection: Connection) -> ResponseHead? {
        guard !isDraining, let delay = excessiveDelay(before: .max),
            let id = MessageCodec.idOfVerify(head.span), !connection.isInFlight(id)
        else { return nil }
        let refusal = ResponseHead.overloaded(id, retryAfter: UInt32(clamping: delay))
        metrics.didAnswerAtOnce(.verify, refusal)
        return refusal
    }

    /// The milliseconds that a request would wait now; nil: it may.
    private func excessiveDelay(before deadline: @autoclosure () -> UInt64) -> UInt64? {
        guard let delay = queueDelay.milliseconds(waiting: batch.waitingCount),
            delay > limits.queueDelayMilliseconds || now + delay > deadline()
        else { return nil }
        return delay
    }

    /// What a receipt that is read while it comes may come to keep: the in-app records that were
    /// asked for, which can be all of it, or little more than one of them.
    func reservation(_ call: VerifyCall, _ bodyBytes: Int) -> Int {
        call.inApp == .none ? min(bodyBytes, limits.receiptStateBytes) : bodyBytes
    }

    /// Calls that have no body: one that is there all the same is not waited for when it is long.
    private func refusal(ofOther head: RequestHead, bodyBytes: Int) -> ResponseHead? {
        if case .unknown = head.call { return .unknownCall(head.id) }
        guard bodyBytes <= limits.jwsBytes else {
            return .bodyTooLarge(head.id, bodyBytes, limit: limits.jwsBytes)
        }
        return nil
    }

    /// Whether the evidence is verified as it arrives, and not kept.
    func isStreamed(_ kind: EvidenceKind, _ bodyBytes: Int) -> Bool {
        kind == .appReceipt && bodyBytes > limits.streamedReceiptBytes
    }

    private func bodyLimit(of kind: EvidenceKind) -> Int {
        switch kind {
        case .transaction, .renewalInfo, .appTransaction, .realtimeRequest, .transactionReceipt:
            limits.jwsBytes
        case .notification: limits.notificationBytes
        case .appReceipt: limits.frameBytes
        }
    }

    /// The calls that are answered at once.
    func answer(to head: RequestHead) -> ResponseHead {
        let answer: ResponseHead =
            switch head.call {
            case .health:
                ResponseHead(id: head.id, result: .health(serving: isReady && !watch.isStalled))
            case .info: ResponseHead(id: head.id, result: .info(information))
            case .ping: ResponseHead(id: head.id, result: .pong)
            case .verify, .unknown: .unknownCall(head.id)
            }
        metrics.didAnswerAtOnce(CallLabel(head.call), answer)
        return answer
    }

    private var information: ServerInfo {
        let app = app(named: "") ?? configuration.apps.values.first
        return ServerInfo(
            version: configuration.version, kinds: EvidenceKind.allCases,
            limits: ServerInfo.Limits(
                frameBytes: UInt32(limits.frameBytes), headBytes: UInt32(limits.headBytes),
                jwsBytes: UInt32(limits.jwsBytes),
                notificationBytes: UInt32(limits.notificationBytes),
                requestsInFlight: UInt32(limits.requestsInFlight)),
            trustedRoots: (app?.verifier.trust.anchors ?? []).map { anchor in
                ServerInfo.TrustedRoot(
                    name: anchor.name, fingerprint: anchor.fingerprint,
                    notAfter: anchor.notAfter, development: anchor.development)
            },
            proto: protoText)
    }
}
