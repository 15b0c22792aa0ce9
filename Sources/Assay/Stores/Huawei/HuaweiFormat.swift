import AssayBytes
import AssayModels

extension StoreFormat {
    /// Huawei AppGallery on Android: purchases signed with the key of the app.
    static let huawei = StoreFormat(
        appWord: "package", appOption: "package-names", apps: \.huawei.packageNames,
        keys: \.huawei.keys,
        missingKeyText: "no key of Huawei's is configured: add keys in [app.huawei], or "
            + "--huawei-key",
        scheme: {
            switch $0 {
            case "", "sha256withrsa": .pkcs1(.sha256)
            case "sha256withrsa/pss": .pss
            default: nil
            }
        },
        schemeNames: "SHA256WithRSA or SHA256WithRSA/PSS",
        payloads: [
            StorePayload(
                .huaweiPurchase,
                isLikely: { members in
                    ["accountFlag", "applicationId", "payOrderId", "confirmed", "subIsvalid"]
                        .contains { members[$0] != nil }
                },
                read: { HuaweiPurchase(from: &$0) }, claims: { EvidenceClaims($0, digest: $1) },
                state: { $0.state }, evidence: { .huaweiPurchase($0) })
        ])
}
