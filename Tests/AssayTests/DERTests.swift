@testable import Assay
import AssayMint
import AssayModels
import Testing

/// Headers, elements and primitive types of DER, each with similar input that is rejected.
@Suite struct DERTests {
    // MARK: Headers

    private static let headers: [([UInt8], EncodingRules, Result<TLVHeader?, DERError>)] = {
        func header(_ tag: UInt8, _ length: Int?, _ size: Int) -> Result<TLVHeader?, DERError> {
            .success(TLVHeader(tag: Tag(rawValue: tag), length: length, size: size))
        }
        return [
            ([0x02, 0x00], .der, header(0x02, 0, 2)), ([0x02, 0x7F], .der, header(0x02, 127, 2)),
            ([0x30, 0x81, 0x80], .der, header(0x30, 128, 3)),
            ([0x30, 0x81, 0xFF], .der, header(0x30, 255, 3)),
            ([0x30, 0x82, 0x01, 0x00], .der, header(0x30, 256, 4)),
            ([0x30, 0x83, 0x01, 0x00, 0x00], .der, header(0x30, 65_536, 5)),
            ([0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], .der, header(0x30, 4_294_967_295, 6)),
            ([0x30, 0x81, 0x7F], .der, .failure(.nonMinimalLength(at: 0))),
            ([0x30, 0x82, 0x00, 0xFF], .der, .failure(.nonMinimalLength(at: 0))),
            ([0x30, 0x84, 0, 0, 0, 1], .der, .failure(.nonMinimalLength(at: 0))),
            ([0x30, 0x81, 0x7F], .ber, header(0x30, 127, 3)),
            ([0x30, 0x84, 0, 0, 0, 1], .ber, header(0x30, 1, 6)),
            ([0x30, 0x80], .ber, header(0x30, nil, 2)),
            ([0x30, 0x80], .der, .failure(.indefiniteLength(at: 0))),
            ([0x04, 0x80], .ber, .failure(.indefiniteLength(at: 0))),
            ([0x30, 0x85, 0, 0, 0, 0, 1], .ber, .failure(.lengthTooLarge(at: 0))),
            ([0x30, 0x88, 0x7F, 0xFF], .der, .failure(.lengthTooLarge(at: 0))),
            ([0x30, 0xFF], .der, .failure(.lengthTooLarge(at: 0))),
            ([0x1F, 0x81, 0x01, 0x00], .der, .failure(.highTagNumber(at: 0))),
            ([0x3F], .ber, .failure(.highTagNumber(at: 0))),
            ([], .der, .success(nil)), ([0x30], .der, .success(nil)),
            ([0x30, 0x82], .der, .success(nil)), ([0x30, 0x82, 0x01], .der, .success(nil)),
        ]
    }()

    @Test func headers() {
        for (bytes, rules, expected) in Self.headers {
            let answer: Result<TLVHeader?, DERError>
            do throws(DERError) {
                answer = .success(try TLVHeader.decode(bytes.span, at: 0, rules: rules))
            } catch {
                answer = .failure(error)
            }
            #expect(answer == expected, "\(bytes) \(rules)")
        }
    }

    // MARK: Elements

    /// Returns the result of reading all of the bytes with `body`.
    private func read<Value>(
        _ bytes: [UInt8], _ body: (inout DERReader) throws(DERError) -> Value
    ) -> Result<Value, DERError> {
        do throws(DERError) {
            var reader = DERReader(bytes.span)
            let value = try body(&reader)
            try reader.atEnd()
            return .success(value)
        } catch {
            return .failure(error)
        }
    }

    @Test func elements() {
        let element = DERElement(tag: .octetString, start: 0, content: 2..<4)
        #expect(
            read([4, 2, 1, 2]) { (r) throws(DERError) in try r.readElement() } == .success(element))
        #expect(element.whole == 0..<4)
        for (bytes, error) in [
            ([4, 2, 1], DERError.truncated), ([4, 2, 1, 2, 3], .trailingBytes(at: 4)),
            ([4], .truncated),
            ([], .truncated), ([4, 0x82, 0xFF, 0xFF, 0], .truncated),
            ([4, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], .truncated),
        ] as [([UInt8], DERError)] {
            let answer = read(bytes) { (r) throws(DERError) in try r.readElement() }
            #expect(answer == .failure(error), "\(bytes)")
        }
        let wrong = read([5, 0]) { (r) throws(DERError) in try r.read(.octetString) }
        #expect(wrong == .failure(.unexpectedTag(expected: 4, found: 5, at: 0)))
        // An element cannot extend beyond the element that contains it.
        let inner = read([0x30, 2, 4, 2, 1, 2]) { (r) throws(DERError) -> DERElement in
            var inside = try r.readInside(.sequence)
            return try inside.readElement()
        }
        #expect(inner == .failure(.truncated))
        // Its header cannot either, whatever octets follow.
        let header = read([0x30, 1, 4, 0x86, 0x65]) { (r) throws(DERError) -> DERElement in
            var inside = try r.readInside(.sequence)
            return try inside.readElement()
        }
        #expect(header == .failure(.truncated))
        let optional = read([4, 0]) { (r) throws(DERError) -> Bool in
            let absent = try r.readOptional(.null)
            let present = try r.readOptional(.octetString)
            let ended = try r.readOptional(.octetString)
            return absent == nil && present != nil && ended == nil
        }
        #expect(optional == .success(true))
    }

    @Test func booleans() {
        let cases: [([UInt8], Result<Bool, DERError>)] = [
            ([1, 1, 0], .success(false)), ([1, 1, 0xFF], .success(true)),
            ([1, 1, 1], .failure(.invalidBoolean(at: 0))),
            ([1, 0], .failure(.invalidBoolean(at: 0))),
            ([1, 2, 0, 0], .failure(.invalidBoolean(at: 0))),
        ]
        for (bytes, expected) in cases {
            let answer = read(bytes) { (r) throws(DERError) in try r.readBoolean() }
            #expect(answer == expected, "\(bytes)")
        }
    }

    @Test func integers() {
        let cases: [([UInt8], Result<Int64, DERError>)] = [
            ([2, 1, 0], .success(0)), ([2, 1, 0x7F], .success(127)),
            ([2, 1, 0x80], .success(-128)),
            ([2, 2, 0, 0x80], .success(128)), ([2, 1, 0xFF], .success(-1)),
            ([2, 2, 0xFF, 0x7F], .success(-129)),
            ([2, 8, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .success(.max)),
            ([2, 8, 0x80, 0, 0, 0, 0, 0, 0, 0], .success(.min)),
            ([2, 9, 0, 0x80, 0, 0, 0, 0, 0, 0, 0], .failure(.integerOutOfRange(at: 0))),
            ([2, 0], .failure(.nonMinimalInteger(at: 0))),
            ([2, 2, 0, 0x7F], .failure(.nonMinimalInteger(at: 0))),
            ([2, 2, 0xFF, 0x80], .failure(.nonMinimalInteger(at: 0))),
            ([2, 2, 0, 0], .failure(.nonMinimalInteger(at: 0))),
        ]
        for (bytes, expected) in cases {
            let answer = read(bytes) { (r) throws(DERError) in try r.readInteger() }
            #expect(answer == expected, "\(bytes)")
        }
    }

    @Test func bitStrings() {
        let cases: [([UInt8], Result<Range<Int>, DERError>)] = [
            ([3, 1, 0], .success(3..<3)), ([3, 3, 0, 1, 2], .success(3..<5)),
            ([3, 0], .failure(.invalidBitString(at: 0))),
            ([3, 2, 1, 2], .failure(.invalidBitString(at: 0))),
            ([3, 2, 8, 0], .failure(.invalidBitString(at: 0))),
            ([0x23, 0], .failure(.unexpectedTag(expected: 3, found: 0x23, at: 0))),
        ]
        for (bytes, expected) in cases {
            let answer = read(bytes) { (r) throws(DERError) in try r.readBitStringOctets() }
            #expect(answer == expected, "\(bytes)")
        }
    }

    // MARK: Time

    @Test(
        "Times in DER",
        arguments: [
            (0x17, "700101000000Z", 0), (0x17, "691231235959Z", -1),
            (0x17, "491231235959Z", 2_524_607_999), (0x17, "500101000000Z", -631_152_000),
            (0x17, "240229120000Z", 1_709_208_000), (0x17, "230229120000Z", nil),
            (0x18, "19700101000000Z", 0), (0x18, "20500101000000Z", 2_524_608_000),
            (0x18, "99991231235959Z", 253_402_300_799), (0x18, "00000101000000Z", -62_167_219_200),
            (0x18, "20000229000000Z", 951_782_400), (0x18, "19000229000000Z", nil),
            (0x18, "20250101000000", nil), (0x18, "20250101000000.5Z", nil),
            (0x18, "20250101000000+0000", nil), (0x18, "202501010000Z", nil),
            (0x18, "20251301000000Z", nil), (0x18, "20250001000000Z", nil),
            (0x18, "20250100000000Z", nil), (0x18, "20250132000000Z", nil),
            (0x18, "20250431000000Z", nil), (0x18, "20250101240000Z", nil),
            (0x18, "20250101006000Z", nil), (0x18, "20250101000060Z", nil),
            (0x18, "2025010100000 Z", nil), (0x18, "+0250101000000Z", nil),
            (0x18, "20250101000000z", nil), (0x17, "2501010000Z", nil), (0x17, "", nil),
            (0x17, "20250101000000Z", nil), (0x18, "250101000000Z", nil),
            (0x17, "25010100000００", nil), (0x04, "250101000000Z", nil),
        ] as [(UInt8, String, Int64?)])
    func times(tag: UInt8, text: String, seconds: Int64?) {
        let bytes = DERWriter.build { $0.element(tag: tag, content: Array(text.utf8)) }
        let answer = try? read(bytes) { (r) throws(DERError) in try r.readTime() }.get()
        #expect(answer == seconds)
    }

    @Test func objectIdentifiers() {
        for (octets, text) in [
            (
                [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01],
                "1.2.840.113635.100.6.11.1"
            ),
            ([0x55, 0x1D, 0x13], "2.5.29.19"), ([0x00], "0.0"), ([0x27], "0.39"), ([0x28], "1.0"),
            ([0x50], "2.0"), ([0x88, 0x37], "2.999"), ([], ""),
        ] as [([UInt8], String)] {
            #expect(OID.dotted(octets.span) == text)
        }
        let endless = [UInt8](repeating: 0xFF, count: 40)
        #expect(!OID.dotted(endless.span).isEmpty || endless.isEmpty)
    }
}
