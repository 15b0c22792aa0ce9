import Assay
import AssayBytes
package import AssayKeys

/// Builds a SignerInfo (RFC 5652, section 5.3). Tests can make every part invalid.
package struct SignerInfoBuilder: Sendable {
    package var version: Int64 = 1
    /// The DER SignerIdentifier.
    package var identifier: [UInt8]
    /// The DER AlgorithmIdentifier of the digest.
    package var digestAlgorithm: [UInt8]
    /// The DER AlgorithmIdentifier of the signature; Apple writes rsaEncryption.
    package var signatureAlgorithm: [UInt8]
    package var signedAttributes: SignedAttributesBuilder?
    /// Replaces the signature.
    package var signature: [UInt8]?
    /// Replaces the signed octets.
    package var signedOctets: [UInt8]?
    /// The digest of the signature.
    package var digest: ReceiptDigest
    package var key: SigningKey
    /// Written after the signature, inside the SignerInfo.
    package var trailing: [UInt8] = []

    package init(_ chain: SigningChain, _ digest: ReceiptDigest) {
        identifier = SignerInfoBuilder.issuerAndSerialNumber(of: chain.certificates[0])
        digestAlgorithm = digest.der
        signatureAlgorithm = DERWriter.build { writer in
            writer.sequence {
                $0.oid("1.2.840.113549.1.1.1"); $0.null()
            }
        }
        self.digest = digest
        key = chain.key
    }

    package static func issuerAndSerialNumber(of certificate: [UInt8]) -> [UInt8] {
        guard let parsed = try? Certificate(der: certificate) else { return [] }
        return DERWriter.build { writer in
            writer.sequence {
                $0.raw(Array(parsed.der[parsed.issuer]))
                $0.element(tag: 0x02, content: Array(parsed.der[parsed.serialNumber]))
            }
        }
    }

    /// Returns a SignerIdentifier of the form `[0] subjectKeyIdentifier`.
    package static func subjectKeyIdentifier(_ identifier: [UInt8]) -> [UInt8] {
        DERWriter.build { $0.contextPrimitive(0, identifier) }
    }

    func signed(_ content: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        let attributes = signedAttributes?.encoded
        // RFC 5652, section 5.4: the attributes are signed as a SET.
        let octets =
            signedOctets ?? attributes.map { DERWriter.header(tag: 0x31, count: $0.count) + $0 }
            ?? content
        let made =
            if let signature { signature } else { try key.sign(octets, digest: digest.signing) }
        return DERWriter.build { writer in
            writer.sequence { info in
                info.integer(version)
                info.raw(identifier)
                info.raw(digestAlgorithm)
                if let attributes { info.element(tag: 0xA0, content: attributes) }
                info.raw(signatureAlgorithm)
                info.octetString(made)
                info.raw(trailing)
            }
        }
    }
}

/// Builds signedAttrs from attributes in DER.
package struct SignedAttributesBuilder: Sendable {
    package var attributes: [[UInt8]]
    /// Whether to sort the attributes as DER requires.
    package var isSorted = true

    package init(_ attributes: [[UInt8]]) { self.attributes = attributes }

    /// Creates the attributes contentType (id-data) and messageDigest of the content.
    package init(of content: [UInt8], _ digest: ReceiptDigest) {
        self.init([
            SignedAttributesBuilder.contentType("1.2.840.113549.1.7.1"),
            SignedAttributesBuilder.messageDigest(of: content, digest),
        ])
    }

    var encoded: [UInt8] {
        Array(
            (isSorted ? attributes.sorted { $0.lexicographicallyPrecedes($1) } : attributes)
                .joined())
    }

    package static func contentType(_ oid: String) -> [UInt8] {
        attribute("1.2.840.113549.1.9.3") { $0.oid(oid) }
    }

    package static func messageDigest(of content: [UInt8], _ digest: ReceiptDigest) -> [UInt8] {
        messageDigest(
            digest == .sha1
                ? SHA1.digest(content.span).octets.span.array
                : SHA256.digest(content.span).octets.span.array)
    }

    package static func messageDigest(_ octets: [UInt8]) -> [UInt8] {
        attribute("1.2.840.113549.1.9.4") { $0.octetString(octets) }
    }

    package static func attribute(
        _ oid: String, _ values: (inout DERWriter) -> Void
    ) -> [UInt8] {
        DERWriter.build { writer in
            writer.sequence {
                $0.oid(oid)
                $0.set(values)
            }
        }
    }
}
