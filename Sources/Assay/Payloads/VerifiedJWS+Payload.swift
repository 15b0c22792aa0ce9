import AssayBytes
import AssayModels

extension VerifiedJWS {
    /// Decodes the typed payload of the caller's kind, and the claims that the policy checks.
    func decode(
        as kind: EvidenceKind, log: CheckLog? = nil
    ) throws(Refusal) -> (VerifiedEvidence, EvidenceClaims) {
        var (evidence, claims) = try decoded(as: kind, log: log)
        claims.nameStatement(by: EvidenceClaims.digest(of: payload.text))
        return (evidence, claims)
    }

    /// Extracts the claims first, so that the payload is moved and not copied.
    private func decoded(
        as kind: EvidenceKind, log: CheckLog?
    ) throws(Refusal) -> (VerifiedEvidence, EvidenceClaims) {
        if kind.knownStore != .apple { return try decode(ofStore: kind, log: log) }
        log?.begin(.kind, found: PayloadKind.detect(payload)?.name, expected: kind.name)
        try payload.withRootMembers { members throws(Refusal) in
            try PayloadKind.check(&members, is: kind)
        }
        log?.begin(.decoding)
        switch kind {
        case .transaction:
            let fields: JWSTransactionDecodedPayload = try decode()
            let claims = EvidenceClaims(fields)
            return (.transaction(VerifiedPayload(fields, json: payload.text)), claims)
        case .renewalInfo:
            let fields: JWSRenewalInfoDecodedPayload = try decode()
            let claims = EvidenceClaims(fields)
            return (.renewalInfo(VerifiedPayload(fields, json: payload.text)), claims)
        case .appTransaction:
            let fields: AppTransaction = try decode()
            let claims = EvidenceClaims(fields)
            return (.appTransaction(VerifiedPayload(fields, json: payload.text)), claims)
        case .realtimeRequest:
            let fields: DecodedRealtimeRequestBody = try decode()
            let claims = EvidenceClaims(fields)
            return (.realtimeRequest(VerifiedPayload(fields, json: payload.text)), claims)
        case .notification:
            let fields: ResponseBodyV2DecodedPayload = try decode()
            guard !fields.unknownContainersDisagree else {
                let names = fields.unknownContainers.map { quoted($0.name) }
                throw Refusal(
                    .malformed,
                    "the notification's members \(names.joined(separator: ", ")) disagree about "
                        + "its app or environment")
            }
            let claims = EvidenceClaims(fields)
            let notification = VerifiedNotification(
                notification: VerifiedPayload(fields, json: payload.text), transaction: nil,
                renewalInfo: nil, appTransaction: nil, warnings: fields.warnings)
            return (.notification(notification), claims)
        default: throw Refusal(.wrongKind, "a JWS is not a \(kind.name)")
        }
    }

    /// Decodes the payload. Rejects the whole payload if a member's JSON type differs from
    /// Apple's documentation: a silently dropped date could be the one that says "refunded".
    private func decode<Payload: PayloadObject>() throws(Refusal) -> Payload {
        do throws(JSONError) {
            return try payload.decode(Payload.self)
        } catch {
            throw Refusal(.malformed, "the payload does not decode: " + error.description)
        }
    }
}
