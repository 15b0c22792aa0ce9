import AssayBytes
import AssayModels

extension VerificationRequest {
    /// Verifies a push of Google Play's notifications: the token of its sender, then policy and
    /// expectations. The token does not sign the message.
    func prepared(push evidence: Span<UInt8>) throws(Refusal) -> PreparedVerification {
        try kind.checkSize(evidence.count)
        guard let envelope = PushEnvelope.find(evidence) else {
            throw Refusal(
                .malformed,
                "it is not JSON with the parts of a push: send "
                    + #"{"authorization": "Bearer …", "body": "…"}"#)
        }
        log?.begin(.pushBody, found: "\(envelope.body.count) bytes")
        let message = try PushMessage(envelope.body)
        let token = try UnverifiedPushToken(envelope.token, log: log)
        return PreparedVerification(request: self, state: .answered(answer(token, message)))
    }

    private func answer(
        _ unverified: UnverifiedPushToken, _ message: PushMessage
    ) -> Verification {
        let notification: GoogleNotification
        do throws(Refusal) {
            _ = try VerifiedPushToken(unverified, policy.googlePush, at: now, log: log)
            log?.begin(.kind, found: nil, expected: kind.name)
            notification = try GoogleNotification(message)
        } catch {
            log?.didRefuse()
            return error.answer(kind)
        }
        return answer(notification, json: message.data.text)
    }

    private func answer(_ notification: GoogleNotification, json: [UInt8]) -> Verification {
        answer(
            .googleNotification(VerifiedPayload(notification, json: json)),
            EvidenceClaims(notification), accepted: Self.pushAcceptance,
            remark: notification.remark.map { "; " + $0 } ?? "")
    }

    private static let pushAcceptance =
        "pushed with a token of Google's for this audience and service account, within policy and "
        + "expectations; the token does not sign the message: ask Google's API what changed"
}
