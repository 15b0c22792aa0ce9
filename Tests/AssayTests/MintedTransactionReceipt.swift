import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels

/// A transaction receipt under its own RSA keys. Tests can corrupt every part.
struct MintedTransactionReceipt {
    /// 2 or 3, or an invalid value that a test sets.
    var version: UInt8 = 3
    var purchaseInfo = MintedTransactionReceipt.purchaseInfo()
    var members: [(name: String, value: String)] = [("environment", "Sandbox"), ("pod", "100")]
    var leaf: [UInt8]
    var key: SigningKey
    /// Replaces the length of the certificate.
    var certificateLength: Int?
    var trailing: [UInt8] = []

    static func purchaseInfo(_ changes: [String: String?] = [:]) -> [UInt8] {
        let usual = [
            ("original-transaction-id", "1000000000000001"),
            ("transaction-id", "1000000000000002"), ("bid", "com.example.game"),
            ("product-id", "gold"), ("quantity", "1"), ("bvrs", "1.0"),
            ("purchase-date", "2015-06-01 12:00:00 Etc/GMT"),
            ("purchase-date-ms", "1433160000123"),
        ]
        let names = usual.map(\.0)
        var list = usual.compactMap { name, value in
            (changes[name] ?? value).map { (name, $0) }
        }
        for (name, value) in changes where !names.contains(name) {
            if let value { list.append((name, value)) }
        }
        return TextPropertyListWriter.text(list)
    }

    var blob: [UInt8] {
        get throws {
            let signature = try key.sign([version] + purchaseInfo, digest: .sha1)
            let length = certificateLength ?? leaf.count
            let octets = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
            return [version] + signature + octets + leaf + trailing
        }
    }

    var text: [UInt8] {
        get throws {
            try Self.text(blob: blob, purchaseInfo: purchaseInfo, members: members)
        }
    }

    static func text(
        blob: [UInt8], purchaseInfo: [UInt8], members: [(name: String, value: String)]
    ) -> [UInt8] {
        func base64(_ bytes: [UInt8]) -> String {
            String(decoding: Base64.encode(bytes.span), as: UTF8.self)
        }
        return TextPropertyListWriter.text(
            [("signature", base64(blob)), ("purchase-info", base64(purchaseInfo))] + members)
    }
}

/// A root, an intermediate and RSA keys, made once because key generation is slow.
enum MintedRSA {
    static let rootKey = key(2048)
    static let intermediateKey = key(2048)
    static let otherKey = key(2048)
    static let leafKey = key(2048)
    static let smallLeafKey = key(1024)

    static let rootName = DistinguishedName(commonName: "Example Root", country: "US")
    static let intermediateName = DistinguishedName(commonName: "Example WWDR", country: "US")
    static let leafName = DistinguishedName(commonName: "Example Receipt Signing", country: "US")

    /// 2010 to 2030.
    static let long = Validity(
        notBefore: Timestamp(milliseconds: 1_262_304_000_000),
        notAfter: Timestamp(milliseconds: 1_893_456_000_000))

    private static func key(_ bits: Int) -> SigningKey {
        do {
            return try SigningKey(generating: .rsa(bits: bits))
        } catch {
            preconditionFailure("no RSA key of \(bits) bits: \(error)")
        }
    }

    static func root(_ configure: (inout CertificateBuilder) -> Void = { _ in }) throws -> [UInt8] {
        try issue(
            rootName, under: rootName, rootKey, signedBy: rootKey,
            [.basicConstraints(ca: true), .keyUsage([.keyCertSign, .cRLSign])], configure)
    }

    static func intermediate(
        _ configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> [UInt8] {
        try issue(
            intermediateName, under: rootName, intermediateKey, signedBy: rootKey,
            [
                .basicConstraints(ca: true, pathLength: 0), .keyUsage([.keyCertSign, .cRLSign]),
                .marker(CertificateExtension.intermediateMarkerOID),
            ], configure)
    }

    static func leaf(
        key: SigningKey = leafKey, signedBy issuer: SigningKey = intermediateKey,
        _ configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> [UInt8] {
        try issue(
            leafName, under: intermediateName, key, signedBy: issuer,
            [
                .basicConstraints(ca: false), .keyUsage(.digitalSignature),
                .marker(CertificateExtension.leafMarkerOID),
            ], configure)
    }

    private static func issue(
        _ subject: DistinguishedName, under issuer: DistinguishedName, _ key: SigningKey,
        signedBy issuerKey: SigningKey, _ extensions: [CertificateExtension],
        _ configure: (inout CertificateBuilder) -> Void
    ) throws -> [UInt8] {
        var builder = try CertificateBuilder(
            subject: subject, issuer: issuer, publicKeyOf: key, notBefore: long.notBefore,
            notAfter: long.notAfter, extensions: extensions, signatureAlgorithm: .sha256WithRSA)
        configure(&builder)
        return try builder.signed(by: issuerKey)
    }

    static func trust(intermediates: [[UInt8]]) throws -> TrustStore {
        var store = try TrustStore.empty.pinning(root(), development: false)
        for intermediate in intermediates {
            store = try store.adding(intermediate: intermediate)
        }
        return store
    }
}
