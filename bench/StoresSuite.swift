import Assay
import AssayBytes
import AssayMint
import AssayModels
import COpenSSL

/// Purchases of other stores in process, compared with plain EVP_PKEY_verify of their RSA key.
enum StoresSuite {
    private static let now = JWSSuite.now
    private static let count = 64

    static func run(only part: String?, isQuick: Bool) throws -> [Row] {
        let minter = try StoreMinter()
        let key = try PurchaseKey(minter.publicKey)
        var policy = Policy(bundleId: "com.example.game", environments: [.production])
        policy.google.keys = [key]
        policy.huawei.keys = [key]
        var rows: [Row] = []
        let kinds: [(String, EvidenceKind, StoreMinter.Scheme)] = [
            ("google-purchase", .googlePurchase, .google),
            ("huawei-purchase", .huaweiPurchase, .huawei),
            ("huawei-purchase, PSS", .huaweiPurchase, .huaweiPSS),
        ]
        for (name, kind, scheme) in kinds {
            let texts = (0..<count).map { sample($0, kind) }
            let evidence = try texts.map { try minter.sign($0, scheme) }
            var measurements = [
                try BareRSA(minter, scheme).measurement(name, texts),
                whole(name, evidence, kind, policy),
            ]
            if let part { measurements.removeAll { !$0.name.hasSuffix(part) } }
            guard !measurements.isEmpty else { continue }
            Measurement.rounds(isQuick ? 5 : 25, of: .milliseconds(20), &measurements)
            let base = measurements[0]
            rows.append(base.row())
            rows += measurements.dropFirst().map { $0.row(over: base) }
        }
        return rows
    }

    private static func sample(_ index: Int, _ kind: EvidenceKind) -> [UInt8] {
        kind == .googlePurchase
            ? Samples.googlePurchase(
                index: index, bundleId: "com.example.game", productId: "gold",
                environment: .production, signedDate: now)
            : Samples.huaweiPurchase(
                index: index, bundleId: "com.example.game", productId: "gold",
                environment: .production, signedDate: now)
    }

    private static func whole(
        _ name: String, _ evidence: [[UInt8]], _ kind: EvidenceKind, _ policy: Policy
    ) -> Measurement {
        let verifier = Verifier(trust: .apple, keyTables: .never)
        return Measurement(name, units: evidence.count) {
            var batch: [PreparedVerification] = []
            batch.reserveCapacity(evidence.count)
            for item in evidence {
                batch.append(verifier.prepare(item.span, as: kind, policy: policy, at: now))
            }
            verifier.verifySignatures(&batch)
            for index in batch.indices {
                precondition(batch[index].verification.verdict == .valid)
            }
        }
    }
}

/// A prepared context of EVP, as `openssl speed` uses it.
@safe private final class BareRSA {
    private let context: OpaquePointer
    private let minter: StoreMinter
    private let scheme: StoreMinter.Scheme

    init(_ minter: StoreMinter, _ scheme: StoreMinter.Scheme) throws {
        self.minter = minter
        self.scheme = scheme
        let text = minter.publicKey
        let der = try Base64.decode(text.span)
        let key = unsafe der.withUnsafeBufferPointer { buffer in
            var next = buffer.baseAddress
            return unsafe d2i_PUBKEY(nil, &next, buffer.count)
        }
        defer { unsafe EVP_PKEY_free(key) }
        let made = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)!
        unsafe precondition(EVP_PKEY_verify_init(made) == 1)
        let isPSS = scheme == .huaweiPSS
        let method = unsafe scheme == .google ? EVP_sha1() : EVP_sha256()
        let padding = isPSS ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING
        unsafe precondition(EVP_PKEY_CTX_set_rsa_padding(made, padding) == 1)
        unsafe precondition(EVP_PKEY_CTX_set_signature_md(made, method) == 1)
        if isPSS {
            unsafe precondition(EVP_PKEY_CTX_set_rsa_pss_saltlen(made, 32) == 1)
        }
        unsafe context = made
    }

    deinit { unsafe EVP_PKEY_CTX_free(context) }

    func measurement(_ name: String, _ texts: [[UInt8]]) throws -> Measurement {
        let signed = try texts.map { text in
            let base64 = try minter.signature(of: text, scheme)
            let digest =
                scheme == .google
                ? SHA1.digest(text.span).octets.span.array
                : SHA256.digest(text.span).octets.span.array
            return (signature: try Base64.decode(base64.span), digest: digest)
        }
        return Measurement("EVP_PKEY_verify of " + name, units: signed.count) {
            for (signature, digest) in signed {
                let status = unsafe EVP_PKEY_verify(
                    self.context, signature, signature.count, digest, digest.count)
                precondition(status == 1)
            }
        }
    }
}
