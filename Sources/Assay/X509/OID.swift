/// The object identifiers that the checks compare, as DER content octets (X.690, 8.19).
package enum OID {
    // Keys (RFC 5480, RFC 3279).
    package static let ecPublicKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
    package static let secp256r1: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    package static let secp384r1: [UInt8] = [0x2B, 0x81, 0x04, 0x00, 0x22]
    package static let rsaEncryption: [UInt8] = pkcs1 + [0x01]

    // Signatures (RFC 5758, RFC 3279, RFC 4055).
    package static let ecdsaWithSHA256: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]
    package static let ecdsaWithSHA384: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x03]
    package static let sha1WithRSAEncryption: [UInt8] = pkcs1 + [0x05]
    package static let sha256WithRSAEncryption: [UInt8] = pkcs1 + [0x0B]
    private static let pkcs1: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]

    // Digests (RFC 3370, RFC 5754).
    package static let sha1: [UInt8] = [0x2B, 0x0E, 0x03, 0x02, 0x1A]
    package static let sha256: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01]

    // CMS (RFC 5652).
    package static let data: [UInt8] = pkcs7 + [0x01]
    package static let signedData: [UInt8] = pkcs7 + [0x02]
    package static let contentType: [UInt8] = pkcs9 + [0x03]
    package static let messageDigest: [UInt8] = pkcs9 + [0x04]
    private static let pkcs7: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07]
    private static let pkcs9: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09]
    package static let subjectKeyIdentifier: [UInt8] = [0x55, 0x1D, 0x0E]

    // Certificate extensions (RFC 5280, section 4.2.1).
    package static let keyUsage: [UInt8] = [0x55, 0x1D, 0x0F]
    package static let basicConstraints: [UInt8] = [0x55, 0x1D, 0x13]
    package static let extendedKeyUsage: [UInt8] = [0x55, 0x1D, 0x25]
    package static let authorityKeyIdentifier: [UInt8] = [0x55, 0x1D, 0x23]
    package static let crlDistributionPoints: [UInt8] = [0x55, 0x1D, 0x1F]
    package static let authorityInfoAccess: [UInt8] = pkix + [0x01, 0x01]

    // OCSP and CRLs (RFC 6960; RFC 5280, section 5).
    package static let ocsp: [UInt8] = pkix + [0x30, 0x01]
    package static let basicOCSPResponse: [UInt8] = pkix + [0x30, 0x01, 0x01]
    package static let ocspSigning: [UInt8] = pkix + [0x03, 0x09]
    package static let reasonCode: [UInt8] = [0x55, 0x1D, 0x15]
    package static let invalidityDate: [UInt8] = [0x55, 0x1D, 0x18]
    package static let deltaCRLIndicator: [UInt8] = [0x55, 0x1D, 0x1B]
    package static let issuingDistributionPoint: [UInt8] = [0x55, 0x1D, 0x1C]
    private static let pkix: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07]

    // Attribute types of names (X.520).
    package static let commonName: [UInt8] = [0x55, 0x04, 0x03]

    /// 1.2.840.113635.100.6, the arc of Apple's certificate extensions.
    package static let appleExtensions: [UInt8] = [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06,
    ]
    /// 1.2.840.113635.100.6.11.1: signs App Store receipts and StoreKit 2 evidence.
    package static let appleReceiptSigning: [UInt8] = appleExtensions + [0x0B, 0x01]
    /// 1.2.840.113635.100.6.2.1: the Worldwide Developer Relations intermediates.
    package static let appleWorldwideDeveloperRelations: [UInt8] = appleExtensions + [0x02, 0x01]

    /// 1.2.840.113635.100.6.5.1: signed transaction receipts until 2015.
    package static let applePurchaseReceiptSigning: [UInt8] = appleExtensions + [0x05, 0x01]
    /// 1.2.840.113635.100.6.2.2: the iTunes Store intermediate, which issued those.
    package static let appleITunesStore: [UInt8] = appleExtensions + [0x02, 0x02]

    /// 1.3.6.1.4.1.2011.2.415.1.1: signs evidence of Huawei's IAP Kit on HarmonyOS.
    package static let harmonySigning: [UInt8] = [
        0x2B, 0x06, 0x01, 0x04, 0x01, 0x8F, 0x5B, 0x02, 0x83, 0x1F, 0x01, 0x01,
    ]

    /// Dotted decimal, for messages. Cut off after 20 arcs, more than any has in practice.
    package static func dotted(_ octets: Span<UInt8>) -> String {
        var arcs: [UInt64] = []
        var arc: UInt64 = 0
        for index in octets.indices {
            guard arc < 1 << 56 else { return "(an arc beyond 64 bits)" }
            arc = arc << 7 | UInt64(octets[index] & 0x7F)
            guard octets[index] & 0x80 == 0 else { continue }
            guard arcs.count < 20 else {
                return arcs.map { String($0) }.joined(separator: ".") + "…"
            }
            if arcs.isEmpty {
                let first = min(arc / 40, 2)
                arcs = [first, arc - first * 40]
            } else {
                arcs.append(arc)
            }
            arc = 0
        }
        return arcs.map { String($0) }.joined(separator: ".")
    }
}
