import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Attributes of receipts without a field of their own, in every form in which a receipt is shown.
@Suite("Unknown attributes of receipts")
struct ReceiptAttributeTests {
    private typealias Minted = MintedReceipts

    private static func text(_ tag: UInt8, _ text: String) -> [UInt8] {
        [tag, UInt8(text.utf8.count)] + Array(text.utf8)
    }

    /// The value of an attribute, and what the JSON has as its text.
    private static let values: [(value: [UInt8], text: String?)] = [
        (text(0x0C, "Example Ltd. é"), "Example Ltd. é"), (text(0x16, "4+"), "4+"),
        (text(0x13, "printable"), "printable"), (text(0x0C, ""), nil), ([], nil),
        ([0x02, 0x01, 0x05], nil), (text(0x0C, "a") + [0x00], nil), ([0x0C, 0x02, 0x61], nil),
        ([0x0C, 0x02, 0xC3, 0x28], nil), (text(0x04, "octets"), nil),
        (Array(repeating: 0xFF, count: 300), nil),
    ]

    private static func receipt(_ more: [ReceiptAttribute]) throws -> [UInt8] {
        var payload = ReceiptPayload()
        for attribute in Minted.sample().attributes + more { payload.append(attribute) }
        return try HostileReceipts.minter().sign(payload.bytes)
    }

    private static func verify(_ receipt: [UInt8]) throws -> Verification {
        try Minted.verifier().verify(
            receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
    }

    private static func payload(_ receipt: [UInt8]) throws -> JSONValue {
        let report = VerificationReport(try verify(receipt)).json
        return try #require(try JSONDocument.parse(report, limit: .max).root["payload"])
    }

    @Test("The JSON has type, version, value and text", arguments: values.indices)
    func json(index: Int) throws {
        let (value, text) = Self.values[index]
        let own = ReceiptAttribute(type: 9999, version: 7, value: value)
        let ofRecord = ReceiptAttribute(type: 1799, version: 2, value: value)
        let receipt = try Self.receipt([own, ReceiptPayload.inApp([ofRecord])])
        let inspected = try #require(Inspection(receipt.span).payload)
        for payload in [try Self.payload(receipt), inspected.root] {
            let record = payload["inApp"]?.elements.flatMap { Array($0).last }
            for (object, type, version) in [(payload, 9999, 7), (record, 1799, 2)]
                as [(JSONValue?, Int64, Int64)]
            {
                let found = object?["unknownAttributes"]?.elements.map(Array.init)?.last
                #expect(found?["type"]?.int64 == type)
                #expect(found?["version"]?.int64 == version)
                #expect(found?["value"]?.string == hexadecimal(value.span))
                #expect(found?["text"]?.string == text)
                #expect(found?.members?.pairs.count == (text == nil ? 3 : 4))
            }
        }
        // A verification that came over the wire has the same JSON: it has the same attributes.
        guard case .appReceipt(let read) = try Self.verify(receipt).evidence else {
            Issue.record("not valid")
            return
        }
        #expect(read.unknownAttributes.last == own)
        #expect(read.inApp.last?.unknownAttributes == [ofRecord])
    }

    @Test("Opaque value, hash and organization name")
    func named() throws {
        let plain = try Self.payload(try Self.receipt([]))
        let sample = Minted.sample().attributes
        for (name, type) in [("opaqueValue", 4), ("sha1Hash", 5)] as [(String, Int64)] {
            let value = try #require(sample.first { $0.type == type }?.value)
            #expect(plain[name]?.string == hexadecimal(value.span))
        }
        #expect(plain["organizationName"] == nil)
        for (value, name) in [
            (Self.text(0x0C, "Example Ltd."), "Example Ltd."), (Self.text(0x16, "E"), "E"),
            (Self.text(0x0C, ""), nil), ([0x02, 0x01, 0x05], nil),
        ] as [([UInt8], String?)] {
            let attribute = ReceiptAttribute(type: 23, version: 1, value: value)
            let payload = try Self.payload(try Self.receipt([attribute]))
            #expect(payload["organizationName"]?.string == name)
            let types = payload["unknownAttributes"]?.elements.map {
                Array($0).map { $0["type"]?.int64 }
            }
            #expect(types?.contains(23) == true)
        }
        // Records of known attributes have no list.
        let known = try Self.receipt([
            ReceiptPayload.inApp([
                ReceiptAttribute(type: 1701, version: 1, value: [0x02, 0x01, 0x01])
            ])
        ])
        let record = try Self.payload(known)["inApp"]?.elements.flatMap { Array($0).last }
        #expect(record?["quantity"]?.int64 == 1 && record?["unknownAttributes"] == nil)
    }

    @Test("An explanation has them, with their text")
    func explanation() throws {
        let value = Self.text(0x0C, "Example Ltd.")
        let receipt = try Self.receipt([
            ReceiptAttribute(type: 23, version: 1, value: value),
            ReceiptPayload.inApp([ReceiptAttribute(type: 1799, version: 1, value: value)]),
        ])
        let explanation = Explanation(
            receipt.span, as: .appReceipt, trust: try Minted.verifier().trust,
            policy: Minted.policy, at: Minted.now)
        let content = try #require(explanation.contents.first)
        let fields = content.fields?.shown ?? []
        #expect(fields.contains { $0.name == "organizationName" && $0.value == "Example Ltd." })
        #expect(fields.contains { $0.name == "sha1Hash" })
        #expect(
            fields.contains {
                $0.name.hasPrefix("unknownAttributes[") && $0.value == "Example Ltd."
            })
        let records = content.records.flatMap(\.unknownAttributes)
        #expect(records.map(\.summary) == ["attribute 1799: Example Ltd."])
    }

    @Test(
        "A receipt from a report, with attributes that nobody has documented",
        .enabled(if: Vectors.has(cases: "receipts", suffix: "unknown-attrs.der")))
    func report() throws {
        let path = Vectors.cases("receipts", suffix: "unknown-attrs.der")[0]
        let receipt = try #require(Vectors.bytes(path))
        let payload = try #require(Inspection(receipt.span).payload).root
        let own = payload["unknownAttributes"]?.elements.map(Array.init) ?? []
        let ofRecords = (payload["inApp"]?.elements.map(Array.init) ?? []).flatMap { record in
            record["unknownAttributes"]?.elements.map(Array.init) ?? []
        }
        #expect(!own.isEmpty)
        try Vectors.report("unknown attributes", own.count + ofRecords.count)
    }
}
