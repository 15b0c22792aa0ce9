import Assay
import AssayBytes
public import AssayModels

/// An app receipt's payload shaped like the sandbox's: subscriptions with their renewals and a
/// few single purchases. Equal values give equal payloads, byte for byte.
public struct ReceiptSample: Sendable {
    /// The app's bundle identifier.
    public var bundleId: String
    /// The app's App Store id; 0 in the sandbox.
    public var appAppleId: Int64
    /// The environment, attribute 0.
    public var environment: StoreEnvironment
    /// The creation date, attribute 12.
    public var creationDate: Timestamp
    /// The device that attribute 5 binds the receipt to: 16 octets of identifierForVendor, or a
    /// Mac's 6.
    public var deviceIdentifier: [UInt8] = [UInt8](repeating: 0xA5, count: 16)
    /// The in-app records.
    public var records = Records.count(3)
    /// The seed of all pseudorandom values.
    public var seed: UInt64 = 1

    /// The number of in-app records.
    public enum Records: Sendable, Hashable {
        /// That many records.
        case count(Int)
        /// The number of records that fits a payload of the given size. Each takes about 415
        /// octets.
        case bytes(Int)
    }

    /// Creates a sample with three records.
    public init(
        bundleId: String, appAppleId: Int64 = 0, environment: StoreEnvironment = .sandbox,
        creationDate: Timestamp
    ) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
        self.creationDate = creationDate
    }

    /// The encoded payload.
    public var payload: [UInt8] {
        var payload = ReceiptPayload()
        for attribute in attributes { payload.append(attribute) }
        appendRecords(to: &payload)
        return payload.bytes
    }

    package func appendRecords(to payload: inout ReceiptPayload) {
        var purchases = SamplePurchases(bundleId: bundleId, until: creationDate, seed: seed)
        switch records {
        case .count(let count):
            for _ in 0..<count { payload.append(purchases.next()) }
        case .bytes(let size):
            payload.reserve(size + 1024)
            // The SET's header takes at most six octets, one more record about 450.
            while payload.attributes.count + 6 + 450 <= size { payload.append(purchases.next()) }
        }
    }

    /// Attribute 4 of the samples of a seed, which distinguishes them.
    static func opaqueValue(seed: UInt64) -> [UInt8] {
        var random = SplitMix64(state: seed)
        return random.bytes(16)
    }

    /// All attributes except the in-app records, in DER order, shortest first.
    package var attributes: [ReceiptAttribute] {
        var random = SplitMix64(state: seed)
        let opaque = random.bytes(16)
        let bundle = DERWriter.build { $0.utf8String(bundleId) }
        let hash = SHA1.digest((deviceIdentifier + opaque + bundle).span).octets.span.array
        let isProduction = environment == .production
        let date = Self.date(creationDate)
        let purchased = isProduction ? date : Array("2013-08-01T07:00:00Z".utf8)
        let type =
            isProduction ? "Production" : environment == .xcode ? "Xcode" : "ProductionSandbox"
        let list: [(Int64, [UInt8])] = [
            (0, DERWriter.build { $0.utf8String(type) }),
            (1, Self.integer(isProduction ? appAppleId : 0)),
            (2, bundle),
            (3, DERWriter.build { $0.utf8String("1") }),
            (4, opaque),
            (5, hash),
            (6, random.bytes(69)),
            (7, random.bytes(59)),
            (8, Self.ia5(isProduction ? date : [])),
            (9, Self.integer(0x5032_3334)),
            (10, Self.ia5(Array("4+".utf8))),
            (11, Self.integer(0)),
            (12, Self.ia5(date)),
            (13, Self.integer(180_302)),
            (14, Self.integer(229)),
            (15, Self.integer(isProduction ? 504_427_454_456_956_077 : 0)),
            (16, Self.integer(isProduction ? 839_123_456 : 0)),
            (18, Self.ia5(purchased)),
            (19, DERWriter.build { $0.utf8String("1.0") }),
            (20, DERWriter.build { $0.utf8String("") }),
            (25, Self.integer(3)),
        ]
        let attributes = list.map { type, value in
            ReceiptAttribute(type: type, version: type == 4 ? 2 : 1, value: value)
        }
        let encoded = attributes.map { ($0, ReceiptPayload.encode($0)) }
        return encoded.sorted { $0.1.lexicographicallyPrecedes($1.1) }.map(\.0)
    }

    private static func date(_ date: Timestamp) -> [UInt8] { Array(date.rfc3339.utf8) }

    private static func ia5(_ text: [UInt8]) -> [UInt8] {
        DERWriter.build { $0.element(tag: 0x16, content: text) }
    }

    private static func integer(_ value: Int64) -> [UInt8] {
        DERWriter.build { $0.integer(value) }
    }
}

/// A sequence of purchases: subscriptions renew up to a dozen times, as in the sandbox, with
/// single purchases between them.
package struct SamplePurchases: Sendable {
    private var random: SplitMix64
    private let productIds: [String]
    private let otherProductId: String
    /// The start of the ascending sandbox transaction ids.
    private var transactionId: Int64 = 2_000_000_000_000_000
    private var webOrderLineItemId: Int64 = 2_000_000_000_000
    private var time: Int64
    /// The subscription to renew next.
    private var current: SamplePurchase?
    private var renewals = 0

    /// Five minutes, the length of a month in the sandbox.
    private static let period: Int64 = 300_000

    package init(bundleId: String, until date: Timestamp, seed: UInt64) {
        random = SplitMix64(state: seed &+ 1)
        let bundle = bundleId.prefix(40)
        productIds = ["premium.monthly", "premium.yearly", "pro.weekly.trial"].map {
            "\(bundle).\($0)"
        }
        otherProductId = "\(bundle).coins.100"
        // Starts far enough before the receipt's creation: a million records span a hundred days.
        time = (date.seconds - 86_400 * 1000) * 1000
    }

    package mutating func next() -> SamplePurchase {
        let draw = random.next()
        transactionId += Int64(draw & 0xFFF) + 1
        webOrderLineItemId += Int64(draw >> 12 & 0xFF) + 1
        time += Int64(draw >> 20 & 0xF) * 1000
        if renewals > 0, var renewal = current {
            renewals -= 1
            renewal.transactionId = String(transactionId)
            renewal.purchaseDate = renewal.expiresDate
            renewal.expiresDate = Timestamp(
                milliseconds: renewal.purchaseDate.milliseconds + Self.period)
            renewal.webOrderLineItemId = webOrderLineItemId
            renewal.isTrialPeriod = false
            current = renewal
            return renewal
        }
        let isSubscription = draw >> 32 & 7 != 0
        let product = Int(draw >> 40 & 0xFF) % productIds.count
        let purchase = SamplePurchase(
            productId: isSubscription ? productIds[product] : otherProductId,
            transactionId: String(transactionId), originalTransactionId: String(transactionId),
            purchaseDate: Timestamp(milliseconds: time),
            originalPurchaseDate: Timestamp(milliseconds: time + 1000),
            expiresDate: Timestamp(milliseconds: time + Self.period),
            webOrderLineItemId: webOrderLineItemId, productType: isSubscription ? 3 : 1,
            isTrialPeriod: isSubscription && product == 2)
        if isSubscription {
            renewals = Int(draw >> 48 & 0xFF) % 12
            current = purchase
        }
        return purchase
    }
}

/// Sebastiano Vigna's SplitMix64: small, fast, and equal on all platforms. Not for secrets.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next() >> 32) }
    }
}
