import AssayBytes

/// The textual encoding of certificates and CRLs (RFC 7468, sections 5 and 6).
package enum PEMDocument {
    /// Returns DER unchanged, or decodes the one certificate in PEM text. Explanatory text around
    /// the encapsulation is ignored (section 2).
    package static func certificate(_ bytes: [UInt8]) throws(CertificateError) -> [UInt8] {
        try decode(bytes, label: "CERTIFICATE")
    }

    /// Returns DER unchanged, or decodes the one CRL in PEM text.
    package static func revocationList(_ bytes: [UInt8]) throws(CertificateError) -> [UInt8] {
        try decode(bytes, label: "X509 CRL")
    }

    private static func decode(
        _ bytes: [UInt8], label: String
    ) throws(CertificateError) -> [UInt8] {
        let begin = Array("-----BEGIN \(label)-----".utf8)
        let end = Array("-----END \(label)-----".utf8)
        guard let start = firstRange(of: begin, in: bytes[...]) else { return bytes }
        let rest = bytes[start.upperBound...]
        guard let stop = firstRange(of: end, in: rest) else { throw .encoding(.truncated) }
        guard firstRange(of: begin, in: bytes[stop.upperBound...]) == nil else {
            throw .encoding(.trailingBytes(at: stop.upperBound))
        }
        let text = bytes[start.upperBound..<stop.lowerBound].filter {
            $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: " ")
        }
        do throws(Base64Error) {
            return try Base64.decode(Array(text).span)
        } catch {
            throw .notBase64
        }
    }

    private static func firstRange(
        of pattern: [UInt8], in bytes: ArraySlice<UInt8>
    ) -> Range<Int>? {
        guard bytes.count >= pattern.count else { return nil }
        for start in bytes.startIndex...(bytes.endIndex - pattern.count)
        where bytes[start..<start + pattern.count].elementsEqual(pattern) {
            return start..<start + pattern.count
        }
        return nil
    }
}
