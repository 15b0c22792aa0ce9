import AssayBytes
import AssayModels

/// JSON with a purchase of another store and its signature: unverified. Purchase libraries and
/// game engines write it under many names, and as text inside text.
struct PurchaseEnvelope: Sendable, Equatable {
    /// The text that the store signed, byte for byte.
    let data: [UInt8]
    /// The signature's base64, as it came.
    let signature: [UInt8]
    /// The name of the signature's algorithm, if the envelope has one. It is not signed.
    var algorithm: String?
    /// Nil for the stores' own names.
    var wrapper: EvidenceWrapper?
    /// Whether the purchase came as a JSON object. `data` has its bytes unchanged.
    var isObject = false

    /// What is missing in an incomplete envelope.
    enum Lack: Equatable {
        /// There is a text without a signature.
        case signature
        /// There is a signature without a text.
        case data
        /// The text is not a JSON object.
        case form
        /// The purchase's members are there, but not the text that was signed.
        case text
        /// There is more than one purchase.
        case several
    }

    enum Result: Equatable {
        case found(PurchaseEnvelope)
        case lacks(Lack)
        /// Not JSON, or JSON without any part of a purchase.
        case none
    }

    /// Finds the purchase in an object, or in objects and texts inside it.
    static func find(_ text: Span<UInt8>) -> Result {
        guard text.count > 0, text[0] == UInt8(ascii: "{"),
            let document = try? JSONDocument.parse(text, limit: Limits.purchaseEnvelopeBytes),
            let root = document.root.members
        else { return .none }
        // The documented form needs no search.
        if let data = root["data"], let signature = root["signature"], root.count == 2,
            data.kind == .string, signature.kind == .string
        {
            if let text = data.bytes, text.first == UInt8(ascii: "{") {
                return .found(PurchaseEnvelope(data: text, signature: signature.bytes ?? []))
            }
        }
        var search = PurchaseSearch()
        search.visit(root, depth: 0)
        return search.result
    }
}

/// The search for a purchase in nested objects.
private struct PurchaseSearch {
    private var found: [PurchaseEnvelope] = []
    private var texts: [[UInt8]] = []
    private var signatures: [[UInt8]] = []
    /// Purchases that came as objects instead of texts.
    private var objects: [[UInt8]] = []
    private var algorithm: String?
    private var wrapper: EvidenceWrapper?
    private var hasObject = false
    /// Whether an object has the members of a purchase itself.
    private var hasMembers = false
    /// Whether a member for the text has a string that is not a JSON object.
    private var hasOtherText = false
    private var visited = 0

    /// The deepest nesting: Unity's wrapper, its Payload, and one level around and inside them.
    private static let depth = 4
    /// The most objects of one envelope. Libraries nest three.
    private static let mostObjects = 32

    /// What a member can contain, by its name.
    private enum Role { case text, signature, algorithm, container, texts, signatures }

    /// The role of a name, in lower case and without `_`, `-` and spaces.
    private static let roles: [String: Role] = [
        "data": .text, "json": .text, "originaljson": .text, "moriginaljson": .text,
        "dataandroid": .text, "originaljsonandroid": .text, "inapppurchasedata": .text,
        "purchasedata": .text, "signeddata": .text, "receiptjson": .text, "receiptdata": .text,
        "localverificationdata": .text, "responsedata": .text, "zza": .text,
        "receipt": .text, "transactionreceipt": .text,
        "purchasetokendata": .text, "signdata": .text,
        "signature": .signature, "msignature": .signature, "signatureandroid": .signature,
        "inappdatasignature": .signature, "inappsignature": .signature,
        "datasignature": .signature, "inapppurchasedatasignature": .signature,
        "zzb": .signature,
        "inapppurchasedatalist": .texts, "inappsignaturelist": .signatures,
        "inappdatasignaturelist": .signatures,
        "signaturealgorithm": .algorithm,
        "payload": .container, "transaction": .container, "nativepurchase": .container,
        "nativetransaction": .container, "billingclientpurchase": .container,
        "purchase": .container, "verificationdata": .container, "product": .container,
    ]

    /// The wrapper that uses a name.
    private static let wrappers: [String: EvidenceWrapper] = [
        "dataandroid": .reactNative, "signatureandroid": .reactNative,
        "originaljsonandroid": .reactNative, "transaction": .cordova, "nativepurchase": .cordova,
        "billingclientpurchase": .flutter, "verificationdata": .flutter,
        "originaljson": .billingLibrary, "moriginaljson": .billingLibrary,
        "zza": .billingLibrary,
    ]

    private static func key(_ name: String) -> String {
        String(
            decoding: name.utf8.filter { $0 != 0x5F && $0 != 0x2D && $0 != 0x20 }, as: UTF8.self
        ).lowercased()
    }

    mutating func visit(_ object: JSONObject, depth: Int) {
        guard visited < Self.mostObjects else { return }
        visited += 1
        var (text, signature): ([UInt8]?, [UInt8]?)
        var inside: [JSONValue] = []
        var lists = (texts: [[UInt8]](), signatures: [[UInt8]]())
        if object["Store"] != nil, object["Payload"] != nil { wrapper = .unity }
        if object["packageName"] != nil, object["purchaseToken"] != nil { hasMembers = true }
        for (name, value) in object.pairs {
            let key = Self.key(name)
            if let known = Self.wrappers[key], wrapper == nil { wrapper = known }
            guard let role = Self.roles[key] else { continue }
            switch (role, value.kind) {
            case (.text, .string):
                let json = Self.json(value.bytes ?? [])
                if json == nil { hasOtherText = true }
                text = text ?? json
            case (.text, .object), (.container, .object), (.container, .string):
                inside.append(value)
                if role == .text { noteObject(value) }
            case (.signature, .string): signature = signature ?? value.bytes
            case (.algorithm, .string): algorithm = value.string
            case (.texts, .array): lists.texts = Self.strings(value)
            // Huawei's list of signatures has the name of a single one.
            case (.signatures, .array), (.signature, .array):
                lists.signatures = Self.strings(value)
            default: break
            }
        }
        add(lists)
        if let text, let signature {
            found.append(PurchaseEnvelope(data: text, signature: signature))
        } else if let signature {
            signatures.append(signature)
        }
        guard depth < Self.depth else { return }
        if let text, signature == nil {
            // The text of a wrapper, or of a purchase whose signature is elsewhere.
            let count = found.count + signatures.count + texts.count
            visit(text, depth: depth + 1)
            if found.count + signatures.count + texts.count == count { texts.append(text) }
        }
        for value in inside {
            if let members = value.members {
                visit(members, depth: depth + 1)
            } else {
                visit(value.bytes ?? [], depth: depth + 1)
            }
        }
    }

    /// Pairs the lists of a query of owned purchases.
    private mutating func add(_ lists: (texts: [[UInt8]], signatures: [[UInt8]])) {
        guard lists.texts.count == lists.signatures.count else {
            texts += lists.texts
            return
        }
        found += zip(lists.texts, lists.signatures).map {
            PurchaseEnvelope(data: $0, signature: $1)
        }
    }

    private static func strings(_ list: JSONValue) -> [[UInt8]] {
        list.elements?.compactMap { $0.kind == .string ? $0.bytes : nil } ?? []
    }

    /// Notes a purchase as an object instead of a text. Its bytes can be those that were signed.
    private mutating func noteObject(_ value: JSONValue) {
        hasObject = true
        if value.hasMember("packageName"), value.hasMember("purchaseToken") {
            objects.append(value.raw)
        }
    }

    private mutating func visit(_ text: [UInt8], depth: Int) {
        guard text.first == UInt8(ascii: "{"),
            let document = try? JSONDocument.parse(text, limit: Limits.purchaseEnvelopeBytes),
            let members = document.root.members
        else { return }
        visit(members, depth: depth)
    }

    /// The text of an object: as it is, or in base64.
    private static func json(_ text: [UInt8]) -> [UInt8]? {
        if text.first == UInt8(ascii: "{") { return text }
        guard text.starts(with: "ey".utf8) || text.starts(with: "ew".utf8),
            let decoded = try? Base64.decodeLenient(text.span)
        else { return nil }
        return decoded.first == UInt8(ascii: "{") ? decoded : nil
    }

    var result: PurchaseEnvelope.Result {
        var all = found
        if all.isEmpty, let text = texts.first, let signature = signatures.first,
            texts.allSatisfy({ $0 == text }), signatures.allSatisfy({ $0 == signature })
        {
            all = [PurchaseEnvelope(data: text, signature: signature)]
        }
        if all.isEmpty, texts.isEmpty, let object = objects.first,
            let signature = signatures.first, objects.allSatisfy({ $0 == object }),
            signatures.allSatisfy({ $0 == signature })
        {
            all = [PurchaseEnvelope(data: object, signature: signature, isObject: true)]
        }
        if var first = all.first {
            guard all.allSatisfy({ $0 == first }) else { return .lacks(.several) }
            first.wrapper = wrapper
            first.algorithm = algorithm
            return .found(first)
        }
        if !texts.isEmpty { return .lacks(.signature) }
        if signatures.isEmpty { return hasMembers ? .lacks(.signature) : .none }
        return .lacks(hasObject || hasMembers ? .text : hasOtherText ? .form : .data)
    }
}
