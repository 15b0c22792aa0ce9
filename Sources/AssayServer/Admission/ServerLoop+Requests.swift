import Assay
import AssayIO
import AssayModels
import AssayWire

/// Decides which requests are rejected, and answers those that need no verification.
extension ServerLoop {
    /// The reason to reject a request, counted as its answer; nil to accept it.
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
        // A declared size reserves no memory: a receipt has to fit slice by slice as it arrives.
        let isStreamed = isStreamed(kind, bodyBytes)
        let bytes = isStreamed ? ReceiptTurns.sliceBytes : bodyBytes
        guard isStreamed ? budget.admits(receipt: bytes) : budget.admits(.whole(bytes, call))
        else { return .memoryExhausted(head.id, mayFit: bytes <= limits.evidenceBytes) }
        if head.mayWait { return refusal(ofPatient: head, bytes) }
        if connection.isFull { return .tooManyInFlight(head.id, limit: limits.requestsInFlight) }
        return overload(head, on: connection, began: began)
    }

    /// Checks the memory for a request with `mayWait`. It is not rejected for the queue's delay,
    /// and leaves half of the memory to other requests.
    private func refusal(ofPatient head: RequestHead, _ bytes: Int) -> ResponseHead? {
        let fits = budget.held + bytes <= max(limits.evidenceBytes / 2, bytes)
        return fits ? nil : .memoryExhausted(head.id)
    }

    /// Rejects a request whose deadline would pass in the queue, or whose delay would exceed the
    /// limit, while that is still cheap.
    private func overload(
        _ head: RequestHead, on connection: Connection, began: UInt64?
    ) -> ResponseHead? {
        guard
            let delay = excessiveDelay(
                after: connection.age, before: deadline(of: head, began: began))
        else { return nil }
        return .overloaded(head.id, retryAfter: UInt32(clamping: delay))
    }

    /// Rejects a request by the same rules before its head is decoded, if the delay exceeds the
    /// limit or the connection is full. Rejections take time from accepted requests, so they have
    /// to be cheap.
    ///
    /// - Returns: whether the request was rejected.
    func refusesAtAGlance(_ head: SlabBytes, of connection: Connection) -> Bool {
        guard !isDraining else { return false }
        let delay = excessiveDelay(after: connection.age, before: .max)
        guard delay != nil || connection.isFull,
            // Nil for a request with `mayWait`: its field comes after the call.
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

    /// The excessive delay, rounded up so that one prepared answer serves many requests.
    private func excessiveDelay(
        after age: UInt64, before deadline: @autoclosure () -> UInt64
    ) -> UInt64? {
        let step = UInt64(ResponseHead.retryMilliseconds)
        guard let delay = exactExcessiveDelay(after: age, before: deadline()) else { return nil }
        return (delay + step - 1) / step * step
    }

    /// The milliseconds that a request would wait now, if too long; nil to accept it. An idle
    /// worker gets work regardless of the measurements.
    ///
    /// - Parameter age: milliseconds that the request has already waited in the socket.
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

    /// Whether the next frame sets `mayWait`, and so waits while the connection is full.
    func mayWait(_ head: SlabBytes) -> Bool {
        // Most requests do not set it, which is visible without decoding.
        guard MessageCodec.idOfVerify(head.span) == nil else { return false }
        return (try? codec.decodeRequest(head.span))?.mayWait ?? false
    }

    /// The reason to reject a call without a body. An unexpected body is tolerated up to the JWS
    /// limit.
    private func refusal(ofOther head: RequestHead, bodyBytes: Int) -> ResponseHead? {
        if case .unknown = head.call { return .unknownCall(head.id) }
        guard bodyBytes <= limits.jwsBytes else {
            return .bodyTooLarge(head.id, bodyBytes, limit: limits.jwsBytes)
        }
        return nil
    }

    /// Whether the evidence is verified as it arrives, without being kept.
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

    /// Answers the calls that need no verification.
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

    /// Bytes of an answer to Info: the protocol's text, and a few hundred roots.
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
