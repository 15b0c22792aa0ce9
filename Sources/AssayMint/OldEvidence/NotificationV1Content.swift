package import Assay
import AssayBytes
package import AssayModels

/// A version 1 App Store Server Notification: a receipt, which is signed, among members that are
/// not.
package struct NotificationV1Content: Sendable {
    package var type: NotificationV1Type
    package var environment: StoreEnvironment
    package var bundleId: String
    /// The shared secret of the app.
    package var password: String?
    package var sent: Timestamp
    package var originalTransactionId: String?
    /// The renewal of the subscription that the notification is about.
    package var renewal: JWSRenewalInfoDecodedPayload?
    package var latest: LatestReceipt

    /// The password of samples.
    package static let samplePassword = "development-secret"

    /// The JSON that the App Store posts.
    package var json: [UInt8] {
        var writer = JSONWriter(capacity: latest.receipt.count + 16_384)
        writer.object { body in
            body.member("notification_type", type.rawValue)
            body.member("password", password)
            body.member("environment", environment == .production ? "PROD" : environment.rawValue)
            if let renewal {
                body.member("auto_renew_product_id", renewal.autoRenewProductId)
                body.member(
                    "auto_renew_status", renewal.autoRenewStatus.map { String($0 == .on) })
                if type == .didChangeRenewalStatus {
                    body.dates("auto_renew_status_change_date", sent)
                }
                body.member(
                    "expiration_intent", renewal.expirationIntent.map { String($0.rawValue) })
            }
            body.member("original_transaction_id", originalTransactionId)
            body.member("bid", bundleId)
            body.member("bvrs", "1")
            body.object("unified_receipt") { receipt in
                receipt.member("status", VerifyReceiptStatus.valid.rawValue)
                receipt.member("environment", environment.rawValue)
                receipt.members(of: latest)
            }
        }
        return writer.text
    }
}
