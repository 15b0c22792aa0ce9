import AssayBytes
import AssayModels

/// The POST body of a version 1 notification: parsed but unverified. The only signed member is
/// `unified_receipt.latest_receipt`, the base64 of an app receipt.
struct NotificationV1Body: Sendable {
    private static let path = "unified_receipt.latest_receipt"

    /// A string that begins like base64 of a receipt.
    private let receipt: JSONValue
    private let unsigned: UnsignedNotificationV1

    /// Parses a body. Throws MALFORMED for text without a receipt in the right place.
    init(_ text: Span<UInt8>) throws(Refusal) {
        guard text.count <= Limits.notificationV1Bytes else {
            throw Refusal(
                .malformed,
                "the notification has \(text.count) bytes; the limit is "
                    + "\(Limits.notificationV1Bytes)")
        }
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument.parse(text, limit: Limits.notificationV1Bytes)
        } catch {
            throw Refusal(.malformed, "the notification is not valid JSON: \(error)")
        }
        guard let root = document.root.members else {
            throw Refusal(.malformed, "the notification is not a JSON object")
        }
        guard root["signedPayload"] == nil else {
            throw Refusal(
                .wrongKind, "this is a notification of version 2: use the kind notification")
        }
        guard let receipt = root["unified_receipt"]?["latest_receipt"], receipt.kind == .string
        else {
            throw Refusal(
                .malformed,
                "the notification has no string \(Self.path); nothing else in it is signed")
        }
        // Base64 of the receipt's first octet. The wrapper of a game engine has no place here.
        guard receipt.withUTF8({ $0.count > 0 && $0[0] == UInt8(ascii: "M") }) == true else {
            throw Refusal(.malformed, "\(Self.path) is not base64 of an app receipt")
        }
        self.receipt = receipt
        unsigned = UnsignedNotificationV1(root)
    }

    /// Whether evidence of an unnamed kind looks like a version 1 notification.
    static func isLikely(_ text: Span<UInt8>) -> Bool {
        guard text.count <= Limits.notificationV1Bytes,
            let document = try? JSONDocument.parse(text, limit: Limits.notificationV1Bytes)
        else { return false }
        return document.root["unified_receipt"]?["latest_receipt"] != nil
    }

    /// Verifies the receipt as one that arrived alone. Its answer is that of the notification.
    func prepared(
        _ request: VerificationRequest, _ verifier: Verifier, inApp: InAppSelection
    ) -> PreparedVerification {
        var stream = AppReceiptStream(
            verifier, policy: request.policy, expecting: request.expectations, inApp: inApp,
            log: request.log?.inside(Self.path, .appReceipt))
        _ = receipt.withUTF8 { stream.receive($0) }
        let prepared = stream.prepare(at: request.now, unknownChains: request.unknownChains)
        guard case .decided(let decision) = prepared.state else {
            return PreparedVerification(request: request, state: prepared.state)
        }
        var verification = decision.verification
        verification.kind = request.kind
        if case .appReceipt(let receipt) = verification.evidence {
            verification.evidence = .notificationV1(
                VerifiedNotificationV1(
                    receipt: receipt, unsigned: unsigned, warnings: unsigned.warnings(receipt)))
        } else {
            verification.detail = Self.path + ": " + verification.detail
        }
        return PreparedVerification(request: request, state: .answered(verification))
    }
}

extension UnsignedNotificationV1 {
    /// Reads the members that are scalars. Apple's documentation and its notifications differ in
    /// their types, and nothing depends on them.
    fileprivate init(_ root: JSONObject) {
        self.init()
        notificationType = Self.text(root["notification_type"])
        environment = Self.text(root["environment"])
        bundleId = Self.text(root["bid"])
        bundleVersion = Self.text(root["bvrs"])
        autoRenewProductId = Self.text(root["auto_renew_product_id"])
        autoRenewStatus = Self.text(root["auto_renew_status"])
    }

    private static func text(_ value: JSONValue?) -> String? {
        switch value?.kind {
        case .string: value?.string
        case .number, .true, .false: value.map { String(decoding: $0.raw, as: UTF8.self) }
        case .object, .array, .null, nil: nil
        }
    }

    /// Differences to the signed receipt, which decides.
    fileprivate func warnings(_ receipt: AppReceipt) -> [EvidenceWarning] {
        var warnings: [EvidenceWarning] = []
        func add(_ member: String, _ signed: String) {
            warnings.append(
                EvidenceWarning(
                    code: .unsignedDisagrees,
                    message: "the unsigned \(member) disagrees with the signed receipt: \(signed)",
                    member: member))
        }
        if let bundleId, let signed = receipt.bundleId, !signed.equalsByBytes(bundleId) {
            add("bid", quoted(signed))
        }
        if let named = namedEnvironment, named != receipt.environment {
            add("environment", receipt.environment.rawValue)
        }
        return warnings
    }

    private var namedEnvironment: StoreEnvironment? {
        switch environment?.lowercased() {
        case "prod", "production": .production
        case "sandbox": .sandbox
        default: nil
        }
    }
}
