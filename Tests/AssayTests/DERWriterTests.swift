import AssayMint
import AssayModels
import Testing

@Suite struct DERWriterTests {
    private func hex(_ body: (inout DERWriter) -> Void) -> String {
        DERWriter.build(body).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }

    @Test(arguments: [
        (Int64(0), "020100"), (1, "020101"), (127, "02017f"), (128, "02020080"),
        (255, "020200ff"), (256, "02020100"), (-1, "0201ff"), (-128, "020180"),
        (-129, "0202ff7f"), (Int64.max, "02087fffffffffffffff"),
        (Int64.min, "02088000000000000000"),
    ])
    func integers(value: Int64, expected: String) {
        #expect(hex { $0.integer(value) } == expected)
    }

    @Test func unsignedIntegers() {
        #expect(hex { $0.unsignedInteger([]) } == "020100")
        #expect(hex { $0.unsignedInteger([0, 0]) } == "020100")
        #expect(hex { $0.unsignedInteger([0, 0x7F]) } == "02017f")
        #expect(hex { $0.unsignedInteger([0x80]) } == "02020080")
    }

    @Test(arguments: [
        ("1.2.840.113635.100.6.11.1", "060a2a864886f76364060b01"), ("2.5.4.3", "0603550403"),
        ("2.999.3", "0603883703"), ("0.0", "060100"), ("1.39", "06014f"), ("2.0", "060150"),
    ])
    func objectIdentifiers(dotted: String, expected: String) {
        #expect(hex { $0.oid(dotted) } == expected)
    }

    @Test func lengths() {
        for (count, header) in [
            (0, "0400"), (127, "047f"), (128, "048180"), (255, "0481ff"), (256, "04820100"),
            (65536, "0483010000"),
        ] {
            let text = hex { $0.octetString([UInt8](repeating: 0, count: count)) }
            #expect(text.hasPrefix(header))
            #expect(text.count == header.count + 2 * count)
        }
        #expect(hex { $0.element(tag: 4, content: [1], length: .octets(1)) } == "04810101")
        #expect(hex { $0.element(tag: 4, content: [1], length: .octets(3)) } == "048300000101")
        #expect(hex { $0.sequence(length: .indefinite) { $0.null() } } == "308005000000")
    }

    @Test func nesting() {
        #expect(
            hex {
                $0.sequence {
                    $0.boolean(true); $0.context(1) { $0.boolean(false) }
                }
            }
                == "30080101ffa103010100")
        #expect(
            hex {
                $0.set {
                    $0.integer(2); $0.integer(1)
                }
            } == "3106020101020102")
        #expect(
            hex {
                $0.set(sorted: false) {
                    $0.integer(2); $0.integer(1)
                }
            } == "3106020102020101")
        #expect(hex { $0.bitString([0xA0], unusedBits: 5) } == "030205a0")
        #expect(hex { $0.constructedOctetString([[1], [2, 3]]) } == "2480040101040202030000")
        #expect(hex { $0.contextPrimitive(6, Array("a".utf8)) } == "860161")
    }

    /// The expected text is the content. Years 1950 through 2049 use UTCTime.
    @Test(arguments: [
        (Int64(0), UInt8(0x17), "700101000000Z"), (-1, 0x17, "691231235959Z"),
        (951_782_400, 0x17, "000229000000Z"), (2_524_607_999, 0x17, "491231235959Z"),
        (2_524_608_000, 0x18, "20500101000000Z"), (-631_152_000, 0x17, "500101000000Z"),
        (-631_152_001, 0x18, "19491231235959Z"), (253_402_300_799, 0x18, "99991231235959Z"),
        (4_107_542_400, 0x18, "21000301000000Z"), (4_107_542_399, 0x18, "21000228235959Z"),
    ])
    func times(seconds: Int64, tag: UInt8, text: String) {
        let bytes = DERWriter.build { $0.time(Timestamp(milliseconds: seconds * 1000)) }
        #expect(bytes == [tag, UInt8(text.utf8.count)] + Array(text.utf8))
    }
}
