import AssayBytes
import AssayModels

extension VerificationRequest {
    /// Verifies a notification of Huawei AppGallery: its signature, that of the order inside, then
    /// policy and expectations.
    func prepared(
        huaweiNotification evidence: Span<UInt8>
    ) throws(Refusal) -> PreparedVerification {
        try kind.checkSize(evidence.count)
        switch HuaweiNotificationBody.find(evidence) {
        case .found(let body):
            let unverified = try UnverifiedPurchase(body.envelope, as: kind, log: log)
            return PreparedVerification(request: self, state: .answered(answer(unverified)))
        case .unsigned:
            throw Refusal(
                .malformed,
                "the notification has no statusUpdateNotification with its notificationSignature: "
                    + "ask Huawei's API with its purchaseToken")
        case .none:
            throw Refusal(
                .malformed,
                "it is not the body of a notification: send it as Huawei posted it")
        }
    }

    private func answer(_ unverified: UnverifiedPurchase) -> Verification {
        do throws(Refusal) {
            let keys = kind.storeFormat.keys(policy)
            let text = try VerifiedPurchase(unverified, by: keys, kind, log: log)
            log?.begin(.kind, found: nil, expected: kind.name)
            guard text.document.root.hasMember("notificationType") else {
                throw Refusal(
                    .wrongKind,
                    "the signed text has no notificationType, which each \(kind.name) has")
            }
            var notification = text.document.withRootMembers { HuaweiNotification(from: &$0) }
            notification.latestReceiptInfo = try order(in: text, keys)
            return answer(notification, text)
        } catch {
            log?.didRefuse()
            return error.answer(kind)
        }
    }

    /// The order inside, which has a signature of its own.
    private func order(
        in text: VerifiedPurchase, _ keys: [PurchaseKey]
    ) throws(Refusal) -> HuaweiPurchase? {
        let root = text.document.root
        guard let order = root["latestReceiptInfo"], !order.isNull else { return nil }
        let inside = log?.inside("latestReceiptInfo", .huaweiPurchase)
        guard let data = order.bytes, let signature = root["latestReceiptInfoSignature"]?.bytes
        else {
            inside?.begin(.purchaseText)
            throw Refusal(
                .malformed, "latestReceiptInfo is no text with its latestReceiptInfoSignature")
        }
        let envelope = PurchaseEnvelope(
            data: data, signature: signature, algorithm: text.algorithm)
        do throws(Refusal) {
            let unverified = try UnverifiedPurchase(envelope, as: .huaweiPurchase, log: inside)
            let verified = try VerifiedPurchase(unverified, by: keys, .huaweiPurchase, log: inside)
            let decoded = try verified.decode(as: .huaweiPurchase, log: inside)
            guard case .huaweiPurchase(let purchase) = decoded.evidence else { return nil }
            return purchase.payload
        } catch {
            throw Refusal(error.verdict, "latestReceiptInfo: " + error.detail)
        }
    }

    private func answer(
        _ notification: HuaweiNotification, _ text: VerifiedPurchase
    ) -> Verification {
        let state = notification.latestReceiptInfo?.state
        var remark = state?.remark ?? ""
        if !notification.hasKnownType {
            remark += "; this version does not know its notificationType"
        }
        return answer(
            .huaweiNotification(VerifiedPayload(notification, json: text.document.text)),
            EvidenceClaims(notification, digest: text.digest), accepted: text.key.acceptance,
            state: state, remark: remark)
    }
}
