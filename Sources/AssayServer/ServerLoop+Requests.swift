import Assay
import AssayLoop
import AssayModels
import AssayWire

/// What a request asks for, as far as it is answered without work.
extension ServerLoop {
    /// Why a request is not carried out, which is counted as its answer; nil: it is.
    func refusal(
        of head: RequestHead, bodyBytes: Int, for connection: Connection
    ) -> ResponseHead? {
        guard let refusal = reason(against: head, bodyBytes: bodyBytes, for: connection) else {
            return nil
        }
        metrics.didAnswerAtOnce(CallLabel(head.call), refusal)
        return refusal
    }

    private func reason(
        against head: RequestHead, bodyBytes: Int, for connection: Connection
    ) -> ResponseHead? {
        guard head.id != ResponseHead.connectionId else { return .reservedId }
        guard !connection.isInFlight(head.id) else { return .duplicate(head.id) }
        guard case .verify(let call) = head.call else {
            return refusal(ofOther: head, bodyBytes: bodyBytes)
        }
        guard !isDraining else { return .unavailable(head.id) }
        guard let kind = call.kind, Exchange.kinds.contains(kind) else {
            return .unknownKind(head.id, call.kind)
        }
        guard app(named: head.app) != nil else {
            return .unknownApp(head.id, isNamed: !head.app.isEmpty)
        }
        let limit = bodyLimit(of: kind)
        guard bodyBytes <= limit else { return .bodyTooLarge(head.id, bodyBytes, limit: limit) }
        guard !isStreamed(kind, bodyBytes) else { return nil }
        guard evidenceBytes + bodyBytes <= limits.evidenceBytes, !isFull else {
            return .memoryExhausted(head.id)
        }
        return nil
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

    /// Whether all connections together hold as much as they may.
    var isFull: Bool { evidenceBytes + bufferedBytes > limits.evidenceBytes }

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
            case .health: ResponseHead(id: head.id, result: .health(serving: isReady))
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
            version: configuration.version, kinds: Exchange.kinds,
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
