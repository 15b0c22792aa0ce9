import Assay
import AssayKeys
import AssayMint

/// A key that signs the requests of a backend: its identifier and its public part.
package struct APIKey: Sendable {
    package let id: String
    let key: PublicKey

    /// The DER before the point of every P-256 SubjectPublicKeyInfo (RFC 5480).
    private static let head: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08,
        0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]
    private static let pointSize = 65

    /// Reads PEM: a public key, or the private key of a .p8 file, whose public part is kept.
    /// Nil unless the key is one of P-256.
    package init?(id: String, pem: [UInt8]) {
        let info: [UInt8]
        if let der = PEM.decode(pem, label: "PUBLIC KEY") {
            info = der
        } else if let key = try? SigningKey(encoded: pem) {
            info = key.subjectPublicKeyInfo
        } else {
            return nil
        }
        guard info.count == Self.head.count + Self.pointSize, info.starts(with: Self.head) else {
            return nil
        }
        let point = Array(info[Self.head.count...])
        guard let key = PublicKey.ec(.p256, point: point.span) else { return nil }
        self.id = id
        self.key = key
    }
}
