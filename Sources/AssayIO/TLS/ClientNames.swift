/// The names of a peer's certificate, by type, as octets.
package struct CertificateNames {
    /// DNS names and URIs of the subject alternative names.
    package var domains: [[UInt8]] = []
    package var uris: [[UInt8]] = []
    /// The subject's common name. Nil if the subject has none or several, or if its string type
    /// stores octets other than its text (BMPString, UniversalString).
    package var commonName: [UInt8]?

    package init(
        domains: [[UInt8]] = [], uris: [[UInt8]] = [], commonName: [UInt8]? = nil
    ) {
        self.domains = domains
        self.uris = uris
        self.commonName = commonName
    }
}

/// The client names that a server accepts. A certificate needs one of them.
package struct ClientNames: Sendable {
    private let uris: Set<[UInt8]>
    private let domains: Set<[UInt8]>
    private let commonNames: Set<[UInt8]>

    /// A name with `://` is a URI. Any other name is a DNS name or a common name.
    package init(_ names: [String]) {
        let isURI = { (name: String) in name.utf8.contains("://".utf8) }
        uris = Set(names.filter(isURI).map { Array($0.utf8) })
        let others = names.filter { !isURI($0) }.map { Array($0.utf8) }
        commonNames = Set(others)
        domains = Set(others.map(Self.lowercased))
    }

    package var isEmpty: Bool { uris.isEmpty && commonNames.isEmpty }

    /// Whether the certificate has one of the names in the field of that name's type.
    package func allow(_ certificate: CertificateNames) -> Bool {
        // An SVID has one URI (SPIFFE X509-SVID, section 2). Several URIs identify no client.
        if certificate.uris.count == 1, uris.contains(certificate.uris[0]) { return true }
        if certificate.domains.contains(where: { domains.contains(Self.lowercased($0)) }) {
            return true
        }
        // RFC 6125, section 6.4.4: the common name counts only without alternative names.
        guard certificate.domains.isEmpty, certificate.uris.isEmpty,
            let name = certificate.commonName
        else { return false }
        return commonNames.contains(name)
    }

    private static func lowercased(_ name: [UInt8]) -> [UInt8] {
        name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }
}
