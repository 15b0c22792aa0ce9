import AssayMint
import AssayModels
import Testing

@testable import Assay

/// Reads a record with a known layout by another path. The result must be the same.
@Suite struct InAppLayoutTests {
    /// Reads a record's attribute and returns the result in a comparable form.
    private static func read(_ layouts: inout InAppLayouts, _ attribute: [UInt8]) -> String {
        var fields = InAppPurchases.Compact()
        if let content = layouts.readAtOnce(attribute.span, into: &fields) {
            return text(fields, Array(attribute[content]), layouts)
        }
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

    /// Changes each digit of the dates of a record whose layout and days are known, to each
    /// character with the same upper half: digits, and those after them.
    @Test func changedDates() throws {
        let record = try #require(try Self.records(1).first)
        var known = InAppLayouts()
        let right = Self.read(&known, record)
        #expect(Self.read(&known, record) == right && Self.read(&known, record) == right)
        var count = 0
        for index in record.indices.dropLast() where record[index] & 0xF0 == 0x30 {
            for half in UInt8(0)..<16 {
                var changed = record
                changed[index] = 0x30 | half
                var (layouts, fresh) = (known, InAppLayouts())
                let expected = Self.read(&fresh, changed)
                #expect(Self.read(&layouts, changed) == expected, "\(index) \(half)")
                // Again, now that the day may be known, and back on the first day.
                #expect(Self.read(&layouts, changed) == expected, "\(index) \(half)")
                #expect(Self.read(&layouts, record) == right, "\(index) \(half)")
                count += 1
            }
        }
        #expect(count > 500)
    }

    /// Dates and times at their limits, and their rejected neighbours, after a record of each day.
    @Test(arguments: [
        "2024-02-29T23:59:59Z", "2024-02-29T24:00:00Z", "2024-02-29T23:60:00Z",
        "2024-02-29T23:59:60Z", "2023-02-29T00:00:00Z", "2024-02-30T00:00:00Z",
        "2024-12-31T23:59:60Z", "2016-12-31T23:59:60Z", "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "2024-00-10T00:00:00Z", "2024-13-01T00:00:00Z",
        "2024-02-2:T00:00:00Z", "2024-02-29T0:?0:00Z", "2024-02-29t00:00:00Z",
        "2024-02-29T00:00:00z", "2024-02-29T00:00:0:Z", "2024-02-29T12:34:5?Z",
    ])
    func datesAtLimits(_ date: String) throws {
        func record(_ date: String, _ type: Int64 = 1704) -> [UInt8] {
            let date = DERWriter.build { $0.element(tag: 0x16, content: Array(date.utf8)) }
            let empty = DERWriter.build { $0.element(tag: 0x16, content: []) }
            return ReceiptPayload.encode(
                ReceiptPayload.inApp(
                    [1704, 1706, 1708, 1712].map {
                        ReceiptAttribute(type: $0, version: 1, value: $0 == type ? date : empty)
                    }))
        }
        for type in [1704, 1706, 1708, 1712] as [Int64] {
            var layouts = InAppLayouts()
            for _ in 0..<3 {
                for other in ["2024-02-29T00:00:00Z", "2024-12-31T12:00:00Z", date] {
                    var fresh = InAppLayouts()
                    let expected = Self.read(&fresh, record(other, type))
                    #expect(Self.read(&layouts, record(other, type)) == expected)
                }
            }
        }
    }

    /// Numbers of each length, and with an octet more than they need.
    @Test func numbers() throws {
        func record(_ octets: [UInt8]) -> [UInt8] {
            ReceiptPayload.encode(
                ReceiptPayload.inApp([
                    ReceiptAttribute(
                        type: 1711, version: 1,
                        value: DERWriter.build { $0.element(tag: 0x02, content: octets) }),
                    ReceiptAttribute(
                        type: 1702, version: 1,
                        value: DERWriter.build { $0.utf8String("com.example.game.coins") }),
                ]))
        }
        for count in 1...9 {
            var layouts = InAppLayouts()
            for first in [0x01, 0x7F, 0x80, 0xFF, 0x00] as [UInt8] {
                for second in [0x00, 0x7F, 0x80, 0xFF] as [UInt8] {
                    let octets = Array(
                        ([first, second] + [UInt8](repeating: 9, count: 7))[..<count])
                    var fresh = InAppLayouts()
                    let expected = Self.read(&fresh, record(octets))
                    #expect(Self.read(&layouts, record(octets)) == expected, "\(octets)")
                }
            }
        }
    }

    /// An empty slot matches nothing, not even zeros.
    @Test func zeros() {
        var (layouts, fields) = (InAppLayouts(), InAppPurchases.Compact())
        _ = Self.read(&layouts, (try? Self.records(1).first) ?? [])
        let zeros = [UInt8](repeating: 0, count: 600)
        #expect(layouts.readAtOnce(zeros.span, into: &fields) == nil)
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
