import Assay
import AssayBytes
import AssayModels
import Foundation
import TestSupport
import Testing

/// Compares every receipt from Apple and Xcode with the output of an independent decoder.
@Suite struct AppReceiptFieldTests {
    static let now = Timestamp(milliseconds: 1_795_219_200_000)
    static let everything = Policy(
        bundleId: nil, environments: [.production, .sandbox, .xcode])

    /// A JSON object. An absent member is nil.
    private typealias Object = [String: Any]

    private static func json(_ name: String) throws -> Object {
        let bytes = try #require(Vectors.bytes("sk1/unified/" + name + ".json"))
        let value = try JSONSerialization.jsonObject(with: Data(bytes))
        return try #require(value as? Object)
    }

    /// The file names without their suffix.
    static let names = Vectors.files(in: "sk1/unified", suffix: ".der").map {
        String($0.dropLast(4))
    }

    /// An Xcode receipt contains the one certificate that has to be pinned for it.
    static func verifier(for name: String, _ receipt: [UInt8]) throws -> Verifier {
        guard name.hasPrefix("xcode") else { return Verifier(trust: .apple) }
        let certificate = try #require(certificates(in: receipt).first)
        return Verifier(trust: try TrustStore.apple.pinning(certificate, development: true))
    }

    /// Returns every X.509 certificate found in the bytes.
    static func certificates(in bytes: [UInt8]) -> [[UInt8]] {
        bytes.indices.dropLast(4).compactMap { start in
            guard bytes[start] == 0x30, bytes[start + 1] == 0x82 else { return nil }
            let end = start + 4 + Int(bytes[start + 2]) << 8 + Int(bytes[start + 3])
            guard end <= bytes.count else { return nil }
            let der = Array(bytes[start..<end])
            return (try? Certificate(der: der)) == nil ? nil : der
        }
    }

    static func receipt(_ answer: Verification) -> AppReceipt? {
        guard case .appReceipt(let receipt) = answer.evidence else { return nil }
        return receipt
    }

    @Test(.enabled(if: Vectors.has("sk1/unified")))
    func fieldsMatchTheIndependentDecoder() throws {
        var records = 0
        for name in Self.names {
            let bytes = try #require(Vectors.bytes("sk1/unified/" + name + ".der"))
            let answer = try Self.verifier(for: name, bytes).verify(
                bytes.span, as: .appReceipt, policy: Self.everything, at: Self.now)
            #expect(answer.verdict == .valid, "\(name): \(answer.detail)")
            let receipt = try #require(Self.receipt(answer), "\(name)")
            let file = try Self.json(name)
            let expected = try #require(file["receipt"] as? Object)
            Self.expect(receipt, toBe: expected, name)
            let attributes = try #require(file["attributes"] as? [Object])
            Self.expectUnknown(receipt.unknownAttributes, toBe: attributes, name)
            let inApp = try #require(expected["in_app"] as? [Object])
            #expect(receipt.inApp.count == inApp.count, "\(name)")
            for (record, object) in zip(receipt.inApp, inApp) {
                Self.expect(record, toBe: try #require(object["fields"] as? Object), name)
                records += 1
            }
        }
        try Vectors.report("app receipts' fields (and \(records) records)", Self.names.count)
    }

    private static func expect(_ receipt: AppReceipt, toBe object: Object, _ name: String) {
        #expect(receipt.receiptType == text(object["receipt_type"]), "\(name)")
        #expect(receipt.adamId == number(object["adam_id"]), "\(name)")
        #expect(receipt.bundleId == text(object["bundle_id"]), "\(name)")
        #expect(hex(receipt.bundleIdOctets) == text(object["bundle_id_raw_hex"]), "\(name)")
        #expect(receipt.applicationVersion == text(object["application_version"]), "\(name)")
        #expect(hex(receipt.opaqueValue) == text(object["opaque_value_hex"]), "\(name)")
        #expect(hex(receipt.sha1Hash) == text(object["sha1_hash_hex"]), "\(name)")
        #expect(receipt.ageRating == text(object["age_rating"]), "\(name)")
        #expect(receipt.downloadId == number(object["download_id"]), "\(name)")
        #expect(
            receipt.versionExternalIdentifier == number(object["version_external_identifier?"]),
            "\(name)")
        #expect(
            receipt.originalApplicationVersion == text(object["original_application_version"]),
            "\(name)")
        #expect(receipt.receiptCreationDate == date(object["receipt_creation_date"]), "\(name)")
        #expect(receipt.originalPurchaseDate == date(object["original_purchase_date"]), "\(name)")
        #expect(receipt.expirationDate == date(object["expiration_date"]), "\(name)")
        #expect(receipt.preorderDate == nil, "\(name)")
    }

    /// Checks the attributes that have no name here: types and versions in the file's order, and
    /// values where the file has them.
    private static func expectUnknown(
        _ attributes: [ReceiptAttribute], toBe all: [Object], _ name: String
    ) {
        let named: Set<Int64> = [0, 1, 2, 3, 4, 5, 10, 12, 15, 16, 17, 18, 19, 21, 32]
        let expected = all.filter { !named.contains(number($0["type"]) ?? 0) }.sorted {
            (number($0["type"]) ?? 0) < (number($1["type"]) ?? 0)
        }
        let found = attributes.sorted { $0.type < $1.type }
        #expect(found.map(\.type) == expected.map { number($0["type"]) }, "\(name)")
        for (attribute, object) in zip(found, expected) {
            #expect(attribute.version == number(object["version"]), "\(name)")
            // The file truncates long values.
            if let octets = object["hex"] as? String {
                let prefix = octets.hasSuffix("...") ? String(octets.dropLast(3)) : octets
                #expect(hex(attribute.value).hasPrefix(prefix), "\(name) \(attribute.type)")
            } else if let value = object["value"] as? String {
                #expect(Array(attribute.value.dropFirst(2)) == Array(value.utf8), "\(name)")
            }
        }
    }

    private static func expect(
        _ record: InAppPurchaseReceipt, toBe object: Object, _ name: String
    ) {
        let label = "\(name) \(record.transactionId ?? "-")"
        #expect(record.quantity == number(object["quantity"]), "\(label)")
        #expect(record.productId == text(object["product_id"]), "\(label)")
        #expect(record.transactionId == text(object["transaction_id"]), "\(label)")
        #expect(record.originalTransactionId == text(object["original_transaction_id"]), "\(label)")
        #expect(record.purchaseDate == date(object["purchase_date"]), "\(label)")
        #expect(record.originalPurchaseDate == date(object["original_purchase_date"]), "\(label)")
        #expect(record.expiresDate == date(object["expires_date"]), "\(label)")
        #expect(record.cancellationDate == date(object["cancellation_date"]), "\(label)")
        let web = number(object["web_order_line_item_id"])
        #expect(record.webOrderLineItemId == (web == 0 ? nil : web), "\(label)")
        #expect(record.productType?.rawValue == number(object["product_type"]), "\(label)")
        #expect(record.itemId == number(object["t1710"]), "\(label)")
        #expect(record.isTrialPeriod == flag(object["is_trial_period"]), "\(label)")
        #expect(record.isInIntroOfferPeriod == flag(object["is_in_intro_offer_period"]), "\(label)")
        #expect(record.promotionalOfferId == text(object["promotional_offer_id"]), "\(label)")
        #expect(record.cancellationReason == number(object["cancellation_reason"]), "\(label)")
        #expect(record.unknownAttributes.isEmpty, "\(label)")
    }

    // MARK: Values in the JSON

    private static func text(_ value: Any?) -> String? {
        (value as? String).flatMap { $0.isEmpty ? nil : $0 }
    }
    private static func number(_ value: Any?) -> Int64? { (value as? NSNumber)?.int64Value }
    private static func flag(_ value: Any?) -> Bool? { number(value).map { $0 != 0 } }
    private static func hex(_ octets: [UInt8]) -> String { hexadecimal(octets.span) }

    /// Parses the date with another parser than the library's.
    private static func date(_ value: Any?) -> Timestamp? {
        guard let text = text(value) else { return nil }
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat =
            text.contains(".") ? "yyyy-MM-dd'T'HH:mm:ss.SSSXX" : "yyyy-MM-dd'T'HH:mm:ssXX"
        guard let date = formatter.date(from: text) else {
            Issue.record("no date: \(text)")
            return nil
        }
        return Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }

    // MARK: Xcode receipts and devices

    @Test(.enabled(if: Vectors.has("sk1/unified")))
    func xcodeNeedsItsOwnCertificatePinned() throws {
        var count = 0
        for name in Self.names where name.hasPrefix("xcode") {
            let bytes = try #require(Vectors.bytes("sk1/unified/" + name + ".der"))
            let pinned = try Self.verifier(for: name, bytes)
            func verdict(_ verifier: Verifier, _ environment: StoreEnvironment) -> Verdict {
                verifier.verify(
                    bytes.span, as: .appReceipt,
                    policy: Policy(bundleId: nil, environments: [environment]), at: Self.now
                ).verdict
            }
            #expect(verdict(pinned, .xcode) == .valid, "\(name)")
            for other in StoreEnvironment.known where other != .xcode {
                #expect(verdict(pinned, other) == .wrongEnvironment, "\(name) \(other)")
            }
            let refusals: [Verdict] = [.untrustedChain, .invalidChain]
            #expect(refusals.contains(verdict(Verifier(trust: .apple), .xcode)), "\(name)")
            count += 1
        }
        try Vectors.report("Xcode receipts", count)
    }

    @Test(.enabled(if: Vectors.has("sk1/unified")))
    func deviceTypesAreReported() throws {
        let devices = [
            "prod-mindnodemac-20170904-0iap-2": "6c4008b5945e",
            "prod-mindnodepro-20160212-0iap": "6c4008b5945e",
            "sbx-manager-20151007-6iap": "7eb61f70e56d46f1ac3a84d1b43829d3",
            "sbx-mindnodetouch-20170911-0iap": "3b76a7bd8f5b46a4bcb1cce8dbd1b3cd",
            "sbx-purchasingexperiments-20230222-2iap": "e618109862dd433fbb94675d3815d263",
        ]
        var count = 0
        for (name, device) in devices {
            let bytes = try #require(Vectors.bytes("sk1/unified/" + name + ".der"))
            let octets = P256Forge.octets(device)
            var other = octets
            other[0] ^= 1
            for (identifier, expected) in [
                (octets, Verdict.valid), (other, .mismatch), (Array(octets.dropLast()), .mismatch),
                (octets + [0], .mismatch), ([], .mismatch),
            ] {
                let answer = Verifier(trust: .apple).verify(
                    bytes.span, as: .appReceipt, policy: Self.everything,
                    expecting: Expectations(deviceIdentifier: identifier), at: Self.now)
                #expect(answer.verdict == expected, "\(name): \(identifier)")
                #expect((answer.evidence == nil) == (expected != .valid))
            }
            count += 1
        }
        try Vectors.report("device identifiers", count)
    }
}
