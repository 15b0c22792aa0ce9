import AssayBytes
import AssayModels

extension StoreFormat {
    /// Google Play: purchases signed with the licence key of the app.
    static let google = StoreFormat(
        appWord: "package", appOption: "package-names", apps: \.google.packageNames,
        keys: \.google.keys,
        missingKeyText: "no licence key of Google Play is configured: add licence-keys in "
            + "[app.google], or --google-key",
        scheme: { _ in .pkcs1(.sha1) }, schemeNames: "SHA1withRSA",
        payloads: [
            StorePayload(
                .googlePurchase,
                isLikely: { members in
                    members["packageName"] != nil
                        && ["purchaseToken", "purchaseTime", "orderId"].contains {
                            members[$0] != nil
                        }
                },
                read: { GooglePurchase(from: &$0) }, claims: { EvidenceClaims($0, digest: $1) },
                state: { $0.state }, evidence: { .googlePurchase($0) })
        ])
}
