import Assay
import AssayIO
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
        // Nothing is kept for what is only declared: what arrives has to fit, slice by slice.
        let isStreamed = isStreamed(kind, bodyBytes)
        let bytes = isStreamed ? ReceiptTurns.sliceBytes : bodyBytes
        guard isStreamed ? budget.admits(receipt: bytes) : budget.admits(.whole(bytes, call))
        else { return .memoryExhausted(head.id, mayFit: bytes <= limits.evidenceBytes) }
        if head.mayWait { return refusal(ofPatient: head, bytes) }
        if connection.isFull { return .tooManyInFlight(head.id, limit: limits.requestsInFlight) }
        return overload(head, on: connection, began: began)
    }

    /// What may wait is not refused for the queue's sake, and leaves half of the memory to others.
    private func refusal(ofPatient head: RequestHead, _ bytes: Int) -> ResponseHead? {
        let fits = budget.held + bytes <= max(limits.evidenceBytes / 2, bytes)
        return fits ? nil : .memoryExhausted(head.id)
    }

    /// A request whose time would be over before its turn, or that would wait longer than anybody
    /// should, is refused while that costs little.
    private func overload(
        _ head: RequestHead, on connection: Connection, began: UInt64?
    ) -> ResponseHead? {
        guard
            let delay = excessiveDelay(
                after: connection.age, before: deadline(of: head, began: began))
        else { return nil }
        return .overloaded(head.id, retryAfter: UInt32(clamping: delay))
    }

    /// The same where too many wait for anybody's patience, before the head is decoded: who is
    /// turned away costs what those who are served have less of.
    ///
    /// - Returns: whether it was refused.
    func refusesAtAGlance(_ head: SlabBytes, of connection: Connection) -> Bool {
        guard !isDraining else { return false }
        let delay = excessiveDelay(after: connection.age, before: .max)
        guard delay != nil || connection.isFull,
            // Nil of what may wait: its field comes after the call.
            let id = MessageCodec.idOfVerify(head.span), !connection.isInFlight(id)
        else { return false }
        let reason: PreparedRefusals.Reason =
            if let delay {
                .overloaded(retryAfter: UInt32(clamping: delay))
            } else {
                .tooManyInFlight(limit: limits.requestsInFlight)
            }
        let refusal = refusals.refusal(reason, by: codec)
        metrics.didAnswerAtOnce(.verify, refusal.head)
        connection.answer(id, as: refusal.answer)
        return true
    }

    /// The same, rounded up, so that one prepared answer serves many.
    private func excessiveDelay(
        after age: UInt64, before deadline: @autoclosure () -> UInt64
    ) -> UInt64? {
        let step = UInt64(ResponseHead.retryMilliseconds)
        guard let delay = exactExcessiveDelay(after: age, before: deadline()) else { return nil }
        return (delay + step - 1) / step * step
    }

    /// The milliseconds that a request would wait now; nil: it may. A worker with nothing to do is
    /// given work, whatever was measured before.
    ///
    /// - Parameter age: milliseconds that it has waited already, where nobody could read it.
    private func exactExcessiveDelay(
        after age: UInt64, before deadline: @autoclosure () -> UInt64
    ) -> UInt64? {
        guard !batch.startsAtOnce else { return nil }
        let delay = queuedMilliseconds
        guard age + delay > limits.queueDelayMilliseconds || now + delay > deadline() else {
            return nil
        }
        return delay
    }

    /// Whether the next frame, for which the connection has no room, rather waits than be refused.
    func mayWait(_ head: SlabBytes) -> Bool {
        // Most can't, and are told at a glance.
        guard MessageCodec.idOfVerify(head.span) == nil else { return false }
        return (try? codec.decodeRequest(head.span))?.mayWait ?? false
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
            case .info where !budget.admits(answer: Self.infoBytes): .memoryExhausted(head.id)
            case .info: ResponseHead(id: head.id, result: .info(information))
            case .ping: ResponseHead(id: head.id, result: .pong)
            case .verify, .unknown: .unknownCall(head.id)
            }
        metrics.didAnswerAtOnce(CallLabel(head.call), answer)
        return answer
    }

    /// An answer to Info: the protocol's text, and a few hundred roots.
    private static let infoBytes = protoText.utf8.count + (16 << 10)

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
