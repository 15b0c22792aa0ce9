/// A request for the status of one certificate (RFC 6960, section 4.1.1).
package enum OCSPRequest {
    /// The DER of the request. It names the issuer by SHA-1, which every responder knows, and has
    /// no nonce: responders for many clients sign their answers in advance.
    package static func der(of certificate: Certificate, under issuer: Certificate) -> [UInt8] {
        let hash = OCSPResponse.CertificateHash.sha1
        let bytes = issuer.der.span
        let algorithm = Tag.sequence.encoding(
            Tag.objectIdentifier.encoding(OID.sha1) + Tag.null.encoding([]))
        let id = Tag.sequence.encoding(
            algorithm
                + Tag.octetString.encoding(hash.digest(bytes.extracting(issuer.subject)))
                + Tag.octetString.encoding(hash.digest(bytes.extracting(issuer.keyOctets)))
                + Tag.integer.encoding(Array(certificate.der[certificate.serialNumber])))
        let list = Tag.sequence.encoding(Tag.sequence.encoding(id))
        return Tag.sequence.encoding(Tag.sequence.encoding(list))
    }
}
