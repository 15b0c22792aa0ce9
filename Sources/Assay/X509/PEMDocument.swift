import AssayBytes

/// The textual encoding of certificates and CRLs (RFC 7468, sections 5 and 6).
package enum PEMDocument {
    /// Returns DER unchanged, or decodes the one certificate in PEM text. Explanatory text around
    /// the encapsulation is ignored (section 2).
    package static func certificate(_ bytes: [UInt8]) throws(CertificateError) -> [UInt8] {
        try decode(bytes, label: "CERTIFICATE")
    }

    /// Returns DER unchanged, or decodes the CRLs in PEM text.
    package static func revocationLists(_ bytes: [UInt8]) throws(CertificateError) -> [[UInt8]] {
        var lists: [[UInt8]] = []
        var rest = bytes[...]
        while let (list, end) = try next(rest, label: "X509 CRL") {
            guard lists.count < Limits.revocationDocuments else {
                throw .encoding(.trailingBytes(at: end))
            }
            lists.append(list)
            rest = bytes[end...]
        }
        return lists.isEmpty ? [bytes] : lists
    }

    private static func decode(
        _ bytes: [UInt8], label: String
    ) throws(CertificateError) -> [UInt8] {
        guard let (document, end) = try next(bytes[...], label: label) else { return bytes }
        guard firstRange(of: Array("-----BEGIN \(label)-----".utf8), in: bytes[end...]) == nil
        else { throw .encoding(.trailingBytes(at: end)) }
        return document
    }

    /// The next document of this label, and where the text goes on.
    private static func next(
        _ bytes: ArraySlice<UInt8>, label: String
    ) throws(CertificateError) -> (document: [UInt8], end: Int)? {
        let begin = Array("-----BEGIN \(label)-----".utf8)
        let end = Array("-----END \(label)-----".utf8)
        guard let start = firstRange(of: begin, in: bytes) else { return nil }
        guard let stop = firstRange(of: end, in: bytes[start.upperBound...]) else {
            throw .encoding(.truncated)
        }
        let text = bytes[start.upperBound..<stop.lowerBound].filter {
            $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: " ")
        }
        do throws(Base64Error) {
            return (try Base64.decode(Array(text).span), stop.upperBound)
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
