import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import COpenSSL

/// Minted purchases of other stores, and what verifies them.
enum StoreFixture {
    static let minter = Fixture.made { try StoreMinter() }
    static let key = Fixture.made { try PurchaseKey(minter.publicKey) }
    static let verifier = Verifier(trust: .apple, keyTables: .never)

    static var policy: Policy {
        var policy = Policy(
            bundleId: Fixture.bundle, environments: [.production, .sandbox])
        policy.google.keys = [key]
        policy.huawei.keys = [key]
        return policy
    }

    /// The text of a purchase, with members replaced or added (as JSON text), or removed (nil).
    static func google(
        index: Int = 1, state: Int64 = 0, environment: StoreEnvironment = .production,
        changing changes: KeyValuePairs<String, String?> = [:]
    ) -> [UInt8] {
        Fixture.change(
            Samples.googlePurchase(
                index: index, bundleId: Fixture.bundle, productId: "gold",
                environment: environment, signedDate: Fixture.now, state: state), changes)
    }

    static func huawei(
        index: Int = 1, state: Int64 = 0, environment: StoreEnvironment = .production,
        changing changes: KeyValuePairs<String, String?> = [:]
    ) -> [UInt8] {
        Fixture.change(
            Samples.huaweiPurchase(
                index: index, bundleId: Fixture.bundle, productId: "gold",
                environment: environment, signedDate: Fixture.now, state: state), changes)
    }

    static func sign(_ text: [UInt8], _ scheme: StoreMinter.Scheme = .google) -> [UInt8] {
        Fixture.made { try minter.sign(text, scheme) }
    }

    /// The evidence of a text and the octets of its signature.
    static func evidence(
        _ text: [UInt8], _ signature: [UInt8], algorithm: String? = nil
    ) -> [UInt8] {
        let base64 = Base64.encode(signature.span)
        var writer = JSONWriter()
        writer.object { object in
            object.member("data", String(decoding: text, as: UTF8.self))
            object.member("signature", String(decoding: base64, as: UTF8.self))
            object.member("signatureAlgorithm", algorithm)
        }
        return writer.text
    }

    static func verify(
        _ evidence: [UInt8], as kind: EvidenceKind = .googlePurchase, policy: Policy = policy,
        expecting expectations: Expectations = .none
    ) -> Verification {
        verifier.verify(
            evidence.span, as: kind, policy: policy, expecting: expectations, at: Fixture.now)
    }

    /// The private operation of a key over a block as long as its modulus: a signature whose
    /// encoded message is the block.
    static func rawSignature(_ block: [UInt8], _ key: SigningKey) -> [UInt8] {
        var der = Fixture.made { try key.pkcs8() }
        let count = der.count
        return unsafe der.withUnsafeMutableBufferPointer { buffer in
            var next = unsafe UnsafePointer(buffer.baseAddress)
            let pkey = unsafe d2i_AutoPrivateKey(nil, &next, count)
            defer { unsafe EVP_PKEY_free(pkey) }
            let context = unsafe EVP_PKEY_CTX_new(pkey, nil)
            defer { unsafe EVP_PKEY_CTX_free(context) }
            unsafe precondition(EVP_PKEY_sign_init(context) == 1)
            unsafe precondition(EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1)
            return unsafe [UInt8](unsafeUninitializedCapacity: block.count) { output, filled in
                filled = block.count
                let status = unsafe EVP_PKEY_sign(
                    context, output.baseAddress, &filled, block, block.count)
                precondition(status == 1)
            }
        }
    }

    /// The private key of a given modulus size, made once for each size.
    static func signingKey(bits: Int) -> SigningKey {
        Fixture.made { try SigningKey(generating: .rsa(bits: bits)) }
    }
}
