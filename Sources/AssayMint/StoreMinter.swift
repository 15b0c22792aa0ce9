import AssayBytes
package import AssayKeys

/// Signs purchases as Google Play and Huawei AppGallery do, with an RSA key of its own.
public struct StoreMinter: Sendable {
    package let key: SigningKey

    /// The scheme of the signatures.
    public enum Scheme: Sendable {
        /// RSASSA-PKCS1-v1_5 with SHA-1, as Google Play.
        case google
        /// RSASSA-PKCS1-v1_5 with SHA-256, as Huawei AppGallery.
        case huawei
        /// RSASSA-PSS with SHA-256, as Huawei AppGallery where the app asks for it.
        case huaweiPSS
    }

    /// Creates a new key of 2048 bits.
    public init() throws(MintError) {
        do throws(SigningKeyError) {
            key = try SigningKey(generating: .rsa(bits: 2048))
        } catch {
            throw .keyGenerationFailed
        }
    }

    /// Reads a private RSA key in PEM. Errors name the file.
    public init(pem: [UInt8], named name: String) throws(MintError) {
        do throws(SigningKeyError) {
            key = try SigningKey(encoded: pem)
        } catch {
            throw .malformedFile(name)
        }
        guard key.coordinateSize == 0 else { throw .malformedFile(name) }
    }

    package init(key: SigningKey) { self.key = key }

    /// The private key in PEM.
    public func pem() throws(MintError) -> [UInt8] {
        let der = try minting { () throws(SigningKeyError) in try key.pkcs8() }
        return PEM.encode(der, label: "PRIVATE KEY")
    }

    /// The public key as the stores' consoles show it: base64 in one line.
    public var publicKey: [UInt8] {
        let der = key.subjectPublicKeyInfo
        return Base64.encode(der.span)
    }

    /// The signature of a text, in base64.
    public func signature(of text: [UInt8], _ scheme: Scheme) throws(MintError) -> [UInt8] {
        let octets = try minting { () throws(SigningKeyError) in
            switch scheme {
            case .google: try key.sign(text, digest: .sha1)
            case .huawei: try key.sign(text, digest: .sha256)
            case .huaweiPSS: try key.signPSS(text)
            }
        }
        return Base64.encode(octets.span)
    }

    /// Signs a text and returns the evidence: JSON with `data` and `signature`.
    public func sign(_ text: [UInt8], _ scheme: Scheme) throws(MintError) -> [UInt8] {
        let signature = try signature(of: text, scheme)
        var writer = JSONWriter()
        writer.object { object in
            object.member("data", String(decoding: text, as: UTF8.self))
            object.member("signature", String(decoding: signature, as: UTF8.self))
            if scheme == .huaweiPSS {
                object.member("signatureAlgorithm", "SHA256WithRSA/PSS")
            }
        }
        return writer.text
    }

    /// Signs the text of a notification and returns the POST body that Huawei AppGallery sends.
    public func huaweiNotification(_ text: [UInt8]) throws(MintError) -> [UInt8] {
        let signature = try signature(of: text, .huawei)
        var writer = JSONWriter()
        writer.object { body in
            body.member("version", "v2")
            body.member("eventType", "SUBSCRIPTION")
            body.object("subNotification") { inside in
                inside.member("version", "v2")
                inside.member("statusUpdateNotification", String(decoding: text, as: UTF8.self))
                inside.member("notificationSignature", String(decoding: signature, as: UTF8.self))
                inside.member("signatureAlgorithm", "SHA256WithRSA")
            }
        }
        return writer.text
    }
}
