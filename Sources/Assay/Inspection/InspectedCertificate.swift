package import AssayModels

/// A certificate of inspected evidence. Not verified.
package struct InspectedCertificate: Sendable {
    package let byteCount: Int
    /// SHA-256 of its bytes.
    package let fingerprint: Fingerprint
    /// Nil if the bytes are no certificate.
    package let fields: Fields?
    /// Why the bytes are no certificate.
    package let fault: String?

    package struct Fields: Sendable {
        /// `CN=…, OU=…, O=…, C=…`.
        package let subject: String
        package let issuer: String
        /// Lower-case hexadecimal.
        package let serial: String
        package let notBefore: Timestamp
        package let notAfter: Timestamp
        package let key: String
        package let isCA: Bool
        /// Apple's marker extensions in dotted decimal, with commas.
        package let markers: String
    }

    init(_ der: [UInt8]) {
        byteCount = der.count
        fingerprint = Fingerprint(SHA256.digest(der.span))
        do throws(CertificateError) {
            let certificate = try Certificate(der: der)
            func shortened(_ text: String) -> String {
                text.shortened(to: ExplanationLimits.valueLength)
            }
            fields = Fields(
                subject: shortened(certificate.text(of: certificate.subject)),
                issuer: shortened(certificate.text(of: certificate.issuer)),
                serial: shortened(certificate.serialText),
                notBefore: Timestamp(milliseconds: certificate.notBefore * 1000),
                notAfter: Timestamp(milliseconds: certificate.notAfter * 1000),
                key: certificate.publicKey.kind.text,
                isCA: certificate.extensions.basicConstraints?.isCA ?? false,
                markers: shortened(certificate.extensions.markers.name))
            fault = nil
        } catch {
            fields = nil
            fault = error.description
        }
    }
}

extension SubjectPublicKey.Kind {
    var text: String {
        switch self {
        case .ec(let curve, _): curve.name
        case .rsa(let modulus, _): "RSA of \(modulus.count * 8) bits"
        case .unsupported(let text): text
        }
    }
}

extension Certificate {
    /// The text of a name, with its attributes in their order. For display only: chain validation
    /// compares the bytes of names.
    func text(of name: Range<Int>) -> String {
        var parts: [String] = []
        do throws(DERError) {
            try readAttributes(of: name) { type, value in
                let oid = OID.dotted(der.span.extracting(type))
                let text = String(decoding: der[value], as: UTF8.self)
                parts.append((Self.attributeNames[oid] ?? oid) + "=" + text)
            }
        } catch {
            // A name of another structure: what was read so far.
            parts.append("…")
        }
        return parts.joined(separator: ", ")
    }

    /// RFC 4514, section 3.
    private static let attributeNames = [
        "2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.10": "O",
        "2.5.4.11": "OU",
    ]
}
