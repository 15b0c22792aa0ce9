import AssayMint
import AssayModels
import Testing

@testable import Assay

/// Reads a record with a known layout by another path. The result must be the same.
@Suite struct InAppLayoutTests {
    /// Reads a record's attribute and returns the result in a comparable form.
    private static func read(_ layouts: inout InAppLayouts, _ attribute: [UInt8]) -> String {
        if let slot = layouts.slot(of: attribute.span),
            let (fields, content) = layouts.readKnown(attribute.span, slot)
        {
            return text(fields, Array(attribute[content]), layouts)
        }
        do throws(DERError) {
            let content = try content(of: attribute)
            let fields = try layouts.read(attribute.span, content)
            return text(fields, Array(attribute[content]), layouts)
        } catch {
            return error.description
        }
    }

    private static func text(
        _ fields: InAppPurchases.Compact, _ record: [UInt8], _ layouts: InAppLayouts
    ) -> String {
        let texts = fields.texts.indices.map { field in
            String(decoding: record[fields.texts[field].range], as: UTF8.self)
        }
        let values = fields.values.indices.map { fields.values[$0] }
        return "\(fields.present) \(values) \(texts) \(layouts.unknown)"
    }

    /// The range of the record in its attribute.
    private static func content(of attribute: [UInt8]) throws(DERError) -> Range<Int> {
        var reader = DERReader(attribute.span)
        var fields = try reader.readInside(.sequence)
        try reader.atEnd()
        _ = try fields.readInteger()
        _ = try fields.readInteger()
        let value = try fields.read(.octetString)
        try fields.atEnd()
        return value.content
    }

    private static func records(_ count: Int) throws -> [[UInt8]] {
        var purchases = SamplePurchases(
            bundleId: "com.example.game", until: MintedReceipts.now, seed: 7)
        return try (0..<count).map { _ in
            var payload = ReceiptPayload()
            payload.append(purchases.next())
            let bytes = payload.bytes
            var outer = DERReader(bytes.span)
            var set = try outer.readInside(.set)
            return Array(bytes[try set.read(.sequence).whole])
        }
    }

    @Test func recordsInARow() throws {
        var layouts = InAppLayouts()
        for record in try Self.records(500) {
            var fresh = InAppLayouts()
            #expect(Self.read(&layouts, record) == Self.read(&fresh, record))
        }
    }

    /// Changes each byte of a record whose layout is known.
    @Test func changedRecords() throws {
        var random = SplitMix64(state: 4711)
        for record in try Self.records(12) {
            var known = InAppLayouts()
            let right = Self.read(&known, record)
            #expect(Self.read(&known, record) == right)
            #expect(known.slot(of: record.span) != nil)
            #expect(known.slot(of: (record + record).span) != nil)
            for count in record.indices {
                #expect(known.slot(of: record.span.extracting(first: count)) == nil)
            }
            for index in record.indices {
                var changed = record
                changed[index] ^= UInt8(truncatingIfNeeded: random.next() >> 8) | 1
                var (layouts, fresh) = (known, InAppLayouts())
                #expect(Self.read(&layouts, changed) == Self.read(&fresh, changed), "\(index)")
                // A layout learned from the changed record must not affect the next one.
                #expect(Self.read(&layouts, record) == right, "\(index)")
            }
        }
    }

    /// Text that is not ASCII, and no valid UTF-8, in a layout that is known from ASCII text.
    @Test(arguments: [[0xC3, 0xA4], [0xC3, 0x28], [0x80, 0x61], [0x61, 0xFF]] as [[UInt8]])
    func textBeyondASCII(_ octets: [UInt8]) throws {
        func record(_ product: [UInt8]) -> [UInt8] {
            ReceiptPayload.encode(
                ReceiptPayload.inApp([
                    ReceiptAttribute(
                        type: 1702, version: 1,
                        value: DERWriter.build { $0.element(tag: 0x0C, content: product) }),
                    ReceiptAttribute(
                        type: 1703, version: 1,
                        value: DERWriter.build { $0.utf8String("2000000000000001") }),
                ]))
        }
        let ascii = record(Array("coins".utf8))
        let other = record([0x61, 0x62, 0x63] + octets)
        var layouts = InAppLayouts()
        _ = Self.read(&layouts, ascii)
        #expect(layouts.slot(of: ascii.span) != nil)
        #expect(layouts.slot(of: other.span) == nil)
        var fresh = InAppLayouts()
        #expect(Self.read(&layouts, other) == Self.read(&fresh, other))
        // It would match no record: its slot is left to another.
        #expect(layouts.slot(of: other.span) == nil && fresh.slots == 0)
    }

    /// Reads more layouts than the table holds, and records without a usable layout.
    @Test func manyLayouts() throws {
        var layouts = InAppLayouts()
        func attribute(_ type: Int64, _ value: [UInt8]) -> ReceiptAttribute {
            ReceiptAttribute(type: type, version: 1, value: value)
        }
        for round in 0..<400 {
            let product = [UInt8](repeating: 0x61, count: round * 7 % 140)
            let date = Array("2022-01-0\(round % 10)T00:00:0\(round % 7)Z".utf8)
            var attributes = [
                attribute(1702, DERWriter.build { $0.element(tag: 0x0C, content: product) }),
                attribute(1704, DERWriter.build { $0.element(tag: 0x16, content: date) }),
                attribute(1711, DERWriter.build { $0.integer(Int64(round % 5) << (round % 60)) }),
            ]
            if round % 9 == 0 { attributes.append(attribute(1800 + Int64(round), [1, 2])) }
            if round % 11 == 0 { attributes.append(attribute(1714, [UInt8(round % 256)])) }
            let record = ReceiptPayload.encode(ReceiptPayload.inApp(attributes))
            var fresh = InAppLayouts()
            #expect(Self.read(&layouts, record) == Self.read(&fresh, record), "\(round)")
            #expect(Self.read(&layouts, record) == Self.read(&fresh, record), "\(round)")
        }
    }

    /// Keeps the layouts of valid receipts for the next one. They change no answer and contain no
    /// customer data. Other receipts add nothing.
    @Test func layoutsOfOtherReceipts() throws {
        let minter = ReceiptMinter(try MintedReceipts.ca.get().chain)
        func payload(_ bundle: String, _ seed: UInt64) -> [UInt8] {
            var sample = ReceiptSample(bundleId: bundle, creationDate: MintedReceipts.now)
            (sample.records, sample.seed) = (.count(30), seed)
            return sample.payload
        }
        let own = MintedReceipts.bundleId
        var receipts = [try minter.sign(payload(own, 1)), try minter.sign(payload(own, 2))]
        // Signed, with one octet of the records changed: most are broken or differ.
        var random = SplitMix64(state: 12)
        for _ in 0..<150 {
            var changed = payload(own, 1)
            let slot = changed.count / 2 + Int(random.next() % UInt64(changed.count / 2))
            changed[slot] ^= UInt8(truncatingIfNeeded: random.next()) | 1
            receipts.append(try minter.sign(changed))
        }
        let cold = try receipts.map { Self.answer($0, try MintedReceipts.verifier()) }
        #expect(cold.contains { $0.verdict == .malformed })
        let warm = try MintedReceipts.verifier()
        #expect(Self.answer(try minter.sign(payload("com.other", 3)), warm).verdict == .wrongBundle)
        var unsigned = receipts[0]
        unsigned[unsigned.count - 1] ^= 1
        #expect(Self.answer(unsigned, warm).verdict == .invalidSignature)
        #expect(warm.layouts.current.slots == 0)
        for _ in 0..<2 {
            for (receipt, answer) in zip(receipts, cold) {
                #expect(Self.answer(receipt, warm) == answer)
            }
        }
        #expect(warm.layouts.current.slots > 0 && !warm.layouts.current.hasGrown)
        guard case .appReceipt(let receipt) = cold[0].evidence else { return }
        for purchase in receipt.inApp {
            let id = Array(try #require(purchase.transactionId).utf8)
            #expect(!warm.layouts.current.contains(id))
        }
    }

    private static func answer(_ receipt: [UInt8], _ verifier: Verifier) -> Verification {
        verifier.verify(
            receipt.span, as: .appReceipt, policy: MintedReceipts.policy, at: MintedReceipts.now)
    }
}

extension InAppLayouts {
    /// Whether the remembered layouts contain these octets.
    fileprivate func contains(_ octets: [UInt8]) -> Bool {
        remembered.indices.contains { remembered[$0...].starts(with: octets) }
    }
}
