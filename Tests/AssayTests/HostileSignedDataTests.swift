import Assay
import AssayKeys
import AssayMint
import AssayModels
import Testing

/// Line 74 of the catalogue of hostile input: the order of signed attributes, and versions.
@Suite struct HostileSignedDataTests {
    private typealias Attributes = SignedAttributesBuilder

    private static func set(_ attributes: [[UInt8]]) -> [UInt8] {
        let content = Array(attributes.joined())
        return DERWriter.header(tag: 0x31, count: content.count) + content
    }

    @Test("line 74: signed attributes out of DER order are malformed in any case")
    func attributeOrder() throws {
        let content = MintedReceipts.sample().payload
        let ordered = Attributes(of: content, .sha256).attributes
            .sorted { $0.lexicographicallyPrecedes($1) }
        let reversed = Array(ordered.reversed())
        let third = Attributes.attribute("1.2.3.4") { $0.integer(1) }
        let cases: [(sent: [[UInt8]], signed: [[UInt8]], Verdict)] = [
            (ordered, ordered, .valid),
            (reversed, reversed, .malformed),
            (reversed, ordered, .malformed),
            (ordered, reversed, .invalidSignature),
            ([third] + ordered, [third] + ordered, .valid),
            (ordered + [third], ordered + [third], .malformed),
            (ordered + [third], [third] + ordered, .malformed),
            ([ordered[0], third, ordered[1]], [third] + ordered, .malformed),
            // A repeated attribute is in order.
            ([third, third] + ordered, [third, third] + ordered, .valid),
        ]
        for (index, (sent, signed, expected)) in cases.enumerated() {
            for encoding in [ReceiptMinter.Encoding.der, .ber(segment: 100)] {
                let verdict = try HostileReceipts.verdict(encoding) {
                    $0.signers[0].signedAttributes = Attributes(sent)
                    $0.signers[0].signedAttributes?.isSorted = false
                    $0.signers[0].signedOctets = Self.set(signed)
                }
                #expect(verdict == expected, "case \(index)")
            }
        }
    }

    @Test("line 74: values of an attribute out of DER order are malformed")
    func valueOrder() throws {
        let content = MintedReceipts.sample().payload
        let cases: [([UInt8], Verdict)] = [
            ([1, 2, 3], .valid), ([1, 1], .valid), ([], .valid), ([2, 1], .malformed),
            ([1, 3, 2], .malformed),
        ]
        for (values, expected) in cases {
            let verdict = try HostileReceipts.verdict {
                var attributes = Attributes(of: content, .sha256)
                attributes.attributes.append(
                    DERWriter.build { writer in
                        writer.sequence {
                            $0.oid("1.2.3.4")
                            $0.set(sorted: false) { set in
                                for value in values { set.integer(Int64(value)) }
                            }
                        }
                    })
                $0.signers[0].signedAttributes = attributes
            }
            #expect(verdict == expected, "\(values)")
        }
    }

    @Test("versions must fit the contents (RFC 5652, 5.1 and 5.3)")
    func versions() throws {
        let key = try MintedReceipts.ca.get().leafKey.keyIdentifier
        func verdict(
            _ version: Int64, signer: Int64, byKey: Bool = false, crls: [UInt8]? = nil
        ) throws -> Verdict {
            try HostileReceipts.verdict {
                $0.version = version
                $0.signers[0].version = signer
                if byKey {
                    $0.signers[0].identifier = SignerInfoBuilder.subjectKeyIdentifier(key)
                }
                $0.crls = crls
            }
        }
        #expect(try verdict(1, signer: 1) == .valid)
        #expect(try verdict(3, signer: 3, byKey: true) == .valid)
        for other: Int64 in [-1, 0, 2, 3, 4, 5, 129, 257, 1 << 40 + 1] {
            #expect(try verdict(other, signer: 1) == .malformed, "\(other)")
            #expect(try verdict(1, signer: other) == .malformed, "signer \(other)")
        }
        for other: Int64 in [0, 1, 2, 4, 5] {
            #expect(try verdict(other, signer: 3, byKey: true) == .malformed, "\(other)")
            #expect(try verdict(3, signer: other, byKey: true) == .malformed, "signer \(other)")
        }
        // Revocation information in another format raises the version to 5.
        let list = DERWriter.build { $0.context(1) { $0.oid("1.2.3.4") } }
        for crls in [[], list] {
            #expect(try verdict(1, signer: 1, crls: crls) == .valid)
            #expect(try verdict(5, signer: 1, crls: crls) == .valid)
            #expect(try verdict(5, signer: 3, byKey: true, crls: crls) == .valid)
            #expect(try verdict(4, signer: 1, crls: crls) == .malformed)
            #expect(try verdict(3, signer: 1, crls: crls) == .malformed)
        }
    }
}
