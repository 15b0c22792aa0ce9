import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Lines 56 and 58 of the catalogue of hostile input: payloads with one fault each, and content
/// that is not an app receipt.
@Suite struct HostileReceiptPayloadTests {
    private typealias Minted = MintedReceipts

    // MARK: Payload

    private static func payload(
        _ change: (inout [ReceiptAttribute]) -> Void
    ) -> [UInt8] {
        var attributes = Minted.sample().attributes
        change(&attributes)
        var payload = ReceiptPayload()
        for attribute in attributes { payload.append(attribute) }
        return payload.bytes
    }

    private static func set(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
        payload { attributes in
            attributes.removeAll { $0.type == type }
            attributes.append(ReceiptAttribute(type: type, version: 1, value: value))
        }
    }

    @Test("line 56: attributes twice, unordered, unknown")
    func attributes() throws {
        for type in [0, 1, 2, 3, 4, 5, 8, 12, 15, 16, 18, 19, 25] as [Int64] {
            let twice = Self.payload { list in
                list += list.filter { $0.type == type }
            }
            #expect(try HostileReceipts.verdict(payload: twice) == .malformed, "\(type) twice")
        }
        // Attributes of unknown types can repeat, because Apple can add new types.
        for type in [22, 24, 31, 33, 63] as [Int64] {
            let twice = Self.payload { list in
                let one = ReceiptAttribute(type: type, version: 1, value: [1])
                list += [one, one]
            }
            #expect(try HostileReceipts.verdict(payload: twice) == .valid, "\(type) twice")
        }
        #expect(try HostileReceipts.verdict(payload: Self.payload { $0.reverse() }) == .valid)
        let unknown = Self.payload {
            $0.append(ReceiptAttribute(type: 9999, version: 7, value: [1, 2, 3]))
            $0.append(ReceiptAttribute(type: 9999, version: 7, value: []))
            $0.append(ReceiptAttribute(type: -1, version: -7, value: []))
        }
        #expect(try HostileReceipts.verdict(payload: unknown) == .valid)
        #expect(try HostileReceipts.verdict(payload: Self.payload { $0[0].version = 2 }) == .valid)
        let many = Self.payload { list in
            list += (100..<5000).map { ReceiptAttribute(type: $0, version: 1, value: []) }
        }
        #expect(try HostileReceipts.verdict(payload: many) == .valid)
        let large = Self.payload {
            $0.append(
                ReceiptAttribute(type: 99, version: 1, value: .init(repeating: 0, count: 1 << 20)))
        }
        #expect(try HostileReceipts.verdict(payload: large) == .malformed)
    }

    @Test("line 56: types and versions have their signs, in every form of an attribute")
    func signs() throws {
        // A large value, and a small value in a record, have a quick path each.
        let sizes = [1, 300]
        func attributes(_ type: Int64, _ version: Int64) -> [ReceiptAttribute] {
            sizes.map {
                ReceiptAttribute(
                    type: type, version: version, value: .init(repeating: 1, count: $0))
            }
        }
        let (types, recordTypes) = ([-128, -1, 99] as [Int64], [-300, -1, 1799] as [Int64])
        for version in [-129, -128, -1, 0, 1, 127, 128, 255, 256] as [Int64] {
            let own = types.flatMap { attributes($0, version) }
            let ofRecord = recordTypes.flatMap { attributes($0, version) }
            let payload = Self.payload { $0 += own + [ReceiptPayload.inApp(ofRecord)] }
            let receipt = try HostileReceipts.minter().sign(payload)
            let answer = try Minted.verifier().verify(
                receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
            guard case .appReceipt(let found) = answer.evidence else {
                Issue.record("\(version): \(answer.detail)")
                continue
            }
            #expect(found.unknownAttributes.suffix(own.count) == own, "\(version)")
            #expect(found.inApp.last?.unknownAttributes == ofRecord, "\(version)")
        }
    }

    @Test("line 56: an attribute above its limit is refused as one above its limit")
    func largeAttributes() throws {
        // The type, the version and the headers around the value take 14 octets.
        for (size, verdict) in [(65_522, Verdict.valid), (65_523, .malformed)] {
            let payload = Self.payload {
                $0.append(
                    ReceiptAttribute(
                        type: 99, version: 1, value: .init(repeating: 0, count: size)))
            }
            let receipt = try HostileReceipts.minter().sign(payload)
            let answer = try Minted.verifier().verify(
                receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
            #expect(answer.verdict == verdict)
            guard verdict == .malformed else { continue }
            #expect(answer.detail.contains("an element of 65537 bytes, above the limit of 65536"))
        }
    }

    @Test("line 56: values of wrong types, sizes and dates")
    func values() throws {
        func text(_ tag: UInt8, _ text: String) -> [UInt8] {
            DERWriter.build { $0.element(tag: tag, content: Array(text.utf8)) }
        }
        let cases: [(Int64, [UInt8], Verdict)] = [
            (3, text(0x0C, "1"), .valid), (3, text(0x16, "1"), .valid),
            (3, text(0x04, "1"), .malformed),
            (3, [], .malformed), (3, [0x0C, 0x02, 0x41], .malformed),
            (3, text(0x0C, "1") + [0], .malformed), (3, [0x0C, 0x01, 0xFF], .malformed),
            (2, text(0x0C, ""), .wrongBundle), (2, text(0x0C, "com.example.game\0"), .wrongBundle),
            (16, [0x02, 0x01, 0xFF], .valid),
            (16, [0x02, 0x08] + .init(repeating: 0x7F, count: 8), .valid),
            (16, [0x02, 0x09] + .init(repeating: 0x7F, count: 9), .malformed),
            (16, [0x02, 0x00], .malformed), (16, [0x02, 0x02, 0x00, 0x01], .malformed),
            (16, text(0x0C, "1"), .malformed),
            (18, text(0x16, ""), .valid), (18, text(0x16, "9999-12-31T23:59:59Z"), .valid),
            (18, text(0x16, "10000-01-01T00:00:00Z"), .malformed),
            // In UTC the refused dates fall in the year 10000 and in the year before 0.
            (18, text(0x16, "9999-12-31T14:59:59-0900"), .valid),
            (18, text(0x16, "9999-12-31T15:00:00-0900"), .malformed),
            (18, text(0x16, "0000-01-01T09:00:00+0900"), .valid),
            (18, text(0x16, "0000-01-01T08:59:59+0900"), .malformed),
            (18, text(0x16, "2015-02-29T00:00:00Z"), .malformed),
            (18, text(0x16, "2016-02-29T00:00:00Z"), .valid),
            (18, text(0x16, "2015-01-01T24:00:00Z"), .malformed),
            (18, text(0x16, "2015-01-01T00:00:00.304Z"), .valid),
            (18, text(0x16, "2015-01-01T00:00:00.3Z"), .valid),
            (18, text(0x16, "2015-01-01T00:00:00.Z"), .malformed),
            (18, text(0x16, "2015-01-01T00:00:00"), .malformed),
            (18, text(0x16, "2015-01-01 00:00:00Z"), .malformed),
            (18, text(0x16, "2015-1-01T00:00:00ZZ"), .malformed),
            (18, text(0x16, "2015-01-01T0A:00:00Z"), .malformed),
            (12, text(0x16, "2099-01-01T00:00:00Z"), .invalidDate),
            (12, text(0x16, "2001-01-01T00:00:00Z"), .certificateExpired),
        ]
        for (type, value, expected) in cases {
            let verdict = try HostileReceipts.verdict(payload: Self.set(type, value))
            #expect(verdict == expected, "\(type): \(hexadecimal(value.span))")
        }
        #expect(
            try HostileReceipts.verdict(payload: Self.payload { $0.removeAll { $0.type == 2 } })
                == .wrongBundle)
        #expect(
            try HostileReceipts.verdict(payload: Self.payload { $0.removeAll { $0.type == 0 } })
                == .wrongEnvironment)
    }

    @Test("line 56: the SET itself, and records in it")
    func structure() throws {
        let right = Minted.sample().payload
        var sequence = right
        sequence[0] = 0x30
        #expect(try HostileReceipts.verdict(payload: sequence) == .malformed, "SEQUENCE")
        #expect(try HostileReceipts.verdict(payload: []) == .malformed)
        #expect(try HostileReceipts.verdict(payload: [0x31, 0x00]) == .wrongBundle)
        #expect(
            try HostileReceipts.verdict(payload: [0x31, 0x80] + right.dropFirst(4) + [0, 0])
                == .malformed)
        #expect(try HostileReceipts.verdict(payload: right + [0]) == .malformed)
        #expect(try HostileReceipts.verdict(payload: Array(right.dropLast())) == .malformed)
        #expect(
            try HostileReceipts.verdict(payload: [0x31, 0x83, 0x00] + right[2...]) == .malformed)
        func record(_ type: Int64, _ value: [UInt8]) -> ReceiptAttribute {
            ReceiptAttribute(type: type, version: 1, value: value)
        }
        func verdict(_ attribute: ReceiptAttribute) throws -> Verdict {
            try HostileReceipts.verdict(payload: Self.payload { $0.append(attribute) })
        }
        let quantity = record(1701, [0x02, 0x01, 0x01])
        #expect(try verdict(ReceiptPayload.inApp([])) == .valid)
        #expect(try verdict(ReceiptPayload.inApp([quantity])) == .valid)
        #expect(try verdict(ReceiptPayload.inApp([quantity, quantity])) == .malformed)
        #expect(try verdict(ReceiptPayload.inApp([ReceiptPayload.inApp([quantity])])) == .valid)
        #expect(
            try verdict(ReceiptPayload.inApp([record(5000, [1]), record(5000, [1])])) == .valid)
        for (type, expected) in [(1709, Verdict.malformed), (1722, .malformed), (1723, .valid)] {
            let one = record(Int64(type), [0x0C, 0x00])
            #expect(try verdict(ReceiptPayload.inApp([one, one])) == expected, "\(type) twice")
        }
        #expect(try verdict(record(17, [0x30, 0x00])) == .malformed)
        #expect(try verdict(record(17, [])) == .malformed)
        #expect(try verdict(record(17, [0x31, 0x00, 0x00])) == .malformed)
        #expect(try verdict(record(17, [0x31, 0x02, 0x30, 0x00])) == .malformed)
        // A repeated transaction is no reason to refuse a signed receipt.
        var twice = ReceiptPayload()
        for attribute in Minted.sample().attributes { twice.append(attribute) }
        var purchases = SamplePurchases(bundleId: Minted.bundleId, until: Minted.now, seed: 1)
        let purchase = purchases.next()
        for _ in 0..<2 { twice.append(purchase) }
        #expect(try HostileReceipts.verdict(payload: twice.bytes) == .valid)
    }

    @Test("line 58: other kinds passed as an app receipt are named")
    func otherKinds() throws {
        let receipt = try HostileReceipts.minter().sign(Minted.sample().payload)
        let base64 = ReceiptMinter.base64(receipt)
        func wrapper(_ payload: String, store: String = "AppleAppStore") -> [UInt8] {
            Array(
                "{\"Store\":\"\(store)\",\"TransactionID\":\"1\",\"Payload\":\"\(payload)\"}".utf8)
        }
        let text = String(decoding: base64, as: UTF8.self)
        let escaped = text.split(separator: "/", omittingEmptySubsequences: false)
            .joined(separator: "\\/")
        let jws = try Minter(DevelopmentCA.make(at: Minted.now).chain).sign(Array("{}".utf8))
        let transaction = Array("{\"signature\" = \"AA==\";\"purchase-info\" = \"AA==\";}".utf8)
        let cases: [(String, [UInt8], Verdict)] = [
            ("wrapper", wrapper(text), .valid),
            ("wrapper, escaped", wrapper(escaped), .valid),
            ("wrapped JWS", wrapper(String(decoding: jws, as: UTF8.self)), .wrongKind),
            ("wrapped wrapper", wrapper("{}"), .wrongKind),
            ("wrapper without payload", Array("{\"Store\":\"AppleAppStore\"}".utf8), .wrongKind),
            ("JSON", Array("{\"a\":1}".utf8), .wrongKind),
            ("JWS", jws, .wrongKind),
            ("transaction receipt", transaction, .wrongKind),
            ("transaction receipt in base64", Base64.encode(transaction.span), .wrongKind),
            ("gzip", [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0], .malformed),
            ("base64 twice", Base64.encode(base64.span), .malformed),
            ("base64url", base64.map { $0 == 0x2B ? 0x2D : $0 == 0x2F ? 0x5F : $0 }, .malformed),
            ("nothing", [], .malformed), ("a byte", [0x30], .malformed), ("M", [0x4D], .malformed),
            ("PEM", Array("-----BEGIN PKCS7-----\n".utf8) + base64, .malformed),
            ("spaces before", [0x20] + base64, .malformed),
            ("spaces behind", base64 + [0x20, 0x0D, 0x0A], .valid),
            ("NUL behind", base64 + [0], .malformed),
            ("quoted", [0x22] + base64 + [0x22], .malformed),
        ]
        for (name, bytes, expected) in cases {
            #expect(try HostileReceipts.verdict(bytes) == expected, "\(name)")
        }
    }
}
