import AssayBytes
import AssayModels

/// JSON of a game engine or a purchase library around evidence.
package enum EvidenceWrapper: String, CaseIterable, Sendable {
    case unity = "Unity"
    /// expo-iap and react-native-iap.
    case reactNative = "React Native"
    case cordova = "Cordova"
    case flutter = "Flutter"
    /// The Purchase object of Google's Billing Library.
    case billingLibrary = "Billing Library"
    /// The PurchaseData of Huawei's IAP Kit, and the answers of its server API.
    case iapKit = "IAP Kit"

    /// The name, for messages.
    var phrase: String {
        switch self {
        case .unity: "Unity's wrapper"
        case .reactNative: "a purchase object of expo-iap or react-native-iap"
        case .cordova: "a purchase object of cordova-plugin-purchase"
        case .flutter: "verification data of Flutter's in_app_purchase"
        case .billingLibrary: "a Purchase of Google's Billing Library"
        case .iapKit: "a PurchaseData of Huawei's IAP Kit"
        }
    }

    /// Members that have evidence. Each can have a JWS or a receipt, by the version of the library.
    private static let names = [
        "jwsRepresentation", "jwsRepresentationIOS", "jwsRepresentationIos",
        "verificationResultIOS", "purchaseToken", "serverVerificationData", "transactionReceipt",
        "appStoreReceipt",
    ]
    /// Those of Huawei's IAP Kit.
    private static let iapKitNames = [
        "jwsPurchaseOrder", "jwsSubscriptionStatus", "jwsSubGroupStatus",
    ]
    /// Members that have an object with such members.
    private static let objects = ["transaction", "verificationData"]

    /// Evidence that was inside a wrapper. It is not JSON, so it is opened once.
    struct Opened: Sendable {
        let wrapper: EvidenceWrapper
        let evidence: [UInt8]
    }

    /// Opens a wrapper that has one item of evidence; several items have to be equal. A JWS takes
    /// precedence over a receipt. Nil for everything else.
    static func open(_ text: Span<UInt8>) -> Opened? {
        guard let (wrapper, items) = items(text) else { return nil }
        let tokens = items.filter { EvidenceShape.detect($0.span) == .jws }
        let evidence = tokens.isEmpty ? items : tokens
        guard let first = evidence.first, evidence.allSatisfy({ $0 == first }) else { return nil }
        return Opened(wrapper: wrapper, evidence: first)
    }

    /// Whether an object with these members can be a wrapper.
    static func isLikely(_ members: TopMembers) -> Bool {
        (names + iapKitNames + objects + ["Store", "purchaseData", "purchaseDataList"]).contains(
            where: members.has)
    }

    /// Whether this is a wrapper with different items, none of which takes precedence.
    static func hasSeveral(_ text: Span<UInt8>) -> Bool {
        (items(text)?.items.count ?? 0) > 1 && open(text) == nil
    }

    private static func items(
        _ text: Span<UInt8>
    ) -> (wrapper: EvidenceWrapper, items: [[UInt8]])? {
        guard text.count > 0, text[0] == UInt8(ascii: "{"),
            let document = try? JSONDocument.parse(text, limit: Limits.receiptWrapperBytes),
            let root = document.root.members, root["signedPayload"] == nil
        else { return nil }
        if root["Store"] != nil, let payload = root["Payload"] {
            return (.unity, items(ofPayload: payload))
        }
        let ofIAPKit =
            iapKitTokens(root) + (root["purchaseData"].map(iapKitTokens) ?? [])
            + (root["purchaseDataList"]?.elements?.prefix(ownedPurchases).flatMap(iapKitTokens)
                ?? [])
        guard ofIAPKit.isEmpty else { return (.iapKit, ofIAPKit) }
        var items = Self.items(of: root)
        var isNested = false
        for name in objects {
            guard let members = root[name]?.members else { continue }
            isNested = isNested || name == "transaction"
            items += Self.items(of: members)
        }
        let isFlutter =
            root["serverVerificationData"] != nil || root["verificationData"] != nil
        let isCordova = root["appStoreReceipt"] != nil || isNested
        return (isFlutter ? .flutter : isCordova ? .cordova : .reactNative, items)
    }

    /// The wrapper with these members, of which the values are not looked at.
    init(_ members: TopMembers) {
        if members.has("Store"), members.has("Payload") {
            self = .unity
        } else if members.has(any: "serverVerificationData", "verificationData") {
            self = .flutter
        } else if members.has(any: "appStoreReceipt", "transaction") {
            self = .cordova
        } else {
            self = .reactNative
        }
    }

    /// Unity's Payload: evidence as text, or an object, or the JSON of one as text.
    private static func items(ofPayload payload: JSONValue) -> [[UInt8]] {
        if let members = payload.members { return items(of: members) }
        guard let text = evidence(payload) else {
            guard let text = payload.string,
                let inside = try? JSONDocument.parse(
                    Array(text.utf8), limit: Limits.receiptWrapperBytes),
                let members = inside.root.members
            else { return [] }
            return items(of: members)
        }
        return [text]
    }

    /// The tokens of a PurchaseData, in the result of a purchase or of a query of owned ones: its
    /// text, or an object made of that.
    static func iapKitTokens(_ purchaseData: JSONValue) -> [[UInt8]] {
        if let members = purchaseData.members { return iapKitTokens(members) }
        guard let text = purchaseData.bytes, text.first == UInt8(ascii: "{"),
            let inside = try? JSONDocument.parse(text, limit: Limits.receiptWrapperBytes)
        else { return [] }
        return inside.root.members.map(iapKitTokens) ?? []
    }

    private static func iapKitTokens(_ members: JSONObject) -> [[UInt8]] {
        iapKitNames.compactMap { members[$0].flatMap(evidence) }
    }

    /// Purchases of one list that are looked at. Evidence of more than one is refused.
    private static let ownedPurchases = 8

    private static func items(of members: JSONObject) -> [[UInt8]] {
        names.compactMap { members[$0].flatMap(evidence) }
    }

    /// A string that is evidence by its first characters.
    private static func evidence(_ value: JSONValue) -> [UInt8]? {
        guard value.kind == .string, let text = value.string else { return nil }
        let bytes = Array(text.utf8)
        switch EvidenceShape.detect(bytes.span) {
        case .jws, .appReceipt, .transactionReceipt: return bytes
        case .json, nil: return nil
        }
    }
}

extension Verifier {
    /// Opens a wrapper around evidence whose first byte can't be evidence of this kind.
    static func opened(
        _ evidence: Span<UInt8>, as kind: EvidenceKind
    ) -> EvidenceWrapper.Opened? {
        guard evidence.count > 0, evidence[0] == UInt8(ascii: "{") else { return nil }
        switch kind.format {
        case .jws: return EvidenceWrapper.open(evidence)
        case .transactionReceipt:
            guard EvidenceShape.detect(evidence) == .json else { return nil }
            return EvidenceWrapper.open(evidence)
        // A stream opens an app receipt's wrapper; the others are JSON themselves.
        case .appReceipt, .serverAnswer, .notificationV1, .signedText, .signedBody, .push:
            return nil
        }
    }
}
