import AssayBytes
import AssayModels

/// A list of purchases that a customer of Huawei's owns, as its libraries return it. Each member is
/// evidence of its own: nobody signs the list.
package enum OwnedPurchases {
    /// The members of a list of several, each as evidence. Nil for everything else, also for a list
    /// of one, which is opened wherever evidence is.
    package static func items(in text: Span<UInt8>) -> [[UInt8]]? {
        guard text.count > 0, text[0] == UInt8(ascii: "{"),
            let document = try? JSONDocument.parse(text, limit: Limits.ownedPurchasesBytes),
            let root = document.root.members
        else { return nil }
        let items = signedTexts(root) ?? tokens(root)
        return items.count > 1 ? items : nil
    }

    /// The names of Android's lists of signed texts: that of its library, and of the Intent.
    static let textLists = ["inAppPurchaseDataList", "INAPP_PURCHASE_DATA_LIST"]

    /// The pairs of Android's lists, a text and its signature each.
    private static func signedTexts(_ root: JSONObject) -> [[UInt8]]? {
        guard
            let texts = list(root, textLists),
            let signatures = list(
                root,
                [
                    "inAppSignature", "inAppSignatureList", "inAppDataSignatureList",
                    "INAPP_DATA_SIGNATURE_LIST",
                ]),
            texts.count == signatures.count
        else { return nil }
        let algorithm = root["signatureAlgorithm"]?.string
        return zip(texts, signatures).map { text, signature in
            var writer = JSONWriter()
            writer.object { item in
                item.member("data", text)
                item.member("signature", signature)
                item.member("signatureAlgorithm", algorithm)
            }
            return writer.text
        }
    }

    private static func list(_ root: JSONObject, _ names: [String]) -> [String]? {
        guard let elements = names.lazy.compactMap({ root[$0]?.elements.map { Array($0) } }).first
        else { return nil }
        let texts = elements.compactMap(\.string)
        return texts.count == elements.count ? texts : nil
    }

    /// The tokens of the `purchaseDataList` of HarmonyOS.
    private static func tokens(_ root: JSONObject) -> [[UInt8]] {
        root["purchaseDataList"]?.elements?.flatMap(EvidenceWrapper.iapKitTokens) ?? []
    }
}
