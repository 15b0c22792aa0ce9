import AssayBytes
internal import COpenSSL
import Synchronization

/// An elliptic-curve public key in OpenSSL's form. Read-only after creation, so threads share it.
@safe package final class PublicKey: @unchecked Sendable {
    let key: OpaquePointer
    let curve: SubjectPublicKey.Curve
    private let octets: [UInt8]
    /// The key that this one is another object of: that has the count of uses and gets the tables.
    private let original: PublicKey?
    private let useCount = Atomic<Int>(0)
    /// Set once, by the thread that builds the table. Other threads verify without it meanwhile.
    private let tableReference = AtomicLazyReference<KeyTable>()

    /// Set once, for a key that signs certificates.
    private let issuerTableReference = AtomicLazyReference<IssuerTable>()

    private init(
        owning key: OpaquePointer, _ curve: SubjectPublicKey.Curve, point: [UInt8]
    ) {
        unsafe self.key = key
        self.curve = curve
        octets = point
        original = nil
    }

    /// Makes another object of the same key, so that a thread counts references of its own.
    init(sharing key: PublicKey) {
        unsafe precondition(EVP_PKEY_up_ref(key.key) == 1)
        unsafe self.key = key.key
        curve = key.curve
        octets = key.octets
        original = key.shared
    }

    /// The object that has the key's tables.
    var shared: PublicKey { original ?? self }

    /// Counts valid signatures of a key without a table.
    func countUses(_ count: Int) -> (oldValue: Int, newValue: Int) {
        shared.useCount.add(count, ordering: .relaxed)
    }

    /// The uncompressed point, `04 ‖ x ‖ y`.
    var point: [UInt8] { octets }

    /// The key's table; nil until `KeyTables` has built one.
    var table: KeyTable? { shared.tableReference.load() }

    func adopt(_ table: KeyTable) { _ = shared.tableReference.storeIfNil(table) }

    /// The table for signatures of certificates; nil until `IssuerTables` has built one.
    var issuerTable: IssuerTable? { shared.issuerTableReference.load() }

    func adopt(_ table: IssuerTable) { _ = shared.issuerTableReference.storeIfNil(table) }

    deinit { unsafe EVP_PKEY_free(key) }

    /// Creates a key from an uncompressed point; returns nil if the point is not on the curve.
    package static func ec(_ curve: SubjectPublicKey.Curve, point: Span<UInt8>) -> PublicKey? {
        guard let key = unsafe EVP_PKEY_new() else { outOfMemory() }
        let result = unsafe PublicKey(owning: key, curve, point: point.array)
        // Copying a curve's parameters and setting the point costs 7 µs. Decoding a whole
        // SubjectPublicKeyInfo (d2i_PUBKEY) costs 140 to 230 µs with OpenSSL 3.0.
        let template = curve == .p256 ? CurveParameters.p256 : CurveParameters.p384
        unsafe precondition(EVP_PKEY_copy_parameters(key, template.key) == 1)
        let isSet = unsafe point.withUnsafeBufferPointer { buffer in
            unsafe EVP_PKEY_set1_encoded_public_key(key, buffer.baseAddress, buffer.count) == 1
        }
        guard isSet else {
            ERR_clear_error()
            return nil
        }
        return result
    }

    /// Verifies a DER-encoded ECDSA signature over a message (RFC 5758, section 3.2).
    package func verifiesECDSA(
        _ signature: Span<UInt8>, over message: Span<UInt8>, digest: ECDSADigest
    ) -> Bool {
        guard let context = unsafe EVP_MD_CTX_new() else { outOfMemory() }
        defer { unsafe EVP_MD_CTX_free(context) }
        let method = unsafe digest == .sha256 ? Methods.sha256 : Methods.sha384
        unsafe precondition(EVP_DigestVerifyInit(context, nil, method, nil, key) == 1)
        let verifies = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe message.withUnsafeBufferPointer { message in
                unsafe EVP_DigestVerify(
                    context, signature.baseAddress, signature.count,
                    message.baseAddress, message.count) == 1
            }
        }
        if !verifies { ERR_clear_error() }
        return verifies
    }
}

/// The digests of ECDSA signatures on certificates.
package enum ECDSADigest: Sendable {
    case sha256
    case sha384

    func digest(_ message: Span<UInt8>) -> [UInt8] {
        switch self {
        case .sha256: SHA256.digest(message).octets.span.array
        case .sha384: SHA384.digest(message).span.array
        }
    }
}

/// A key without a point, the source of a curve's parameters.
@safe private final class CurveParameters: @unchecked Sendable {
    static let p256 = CurveParameters(NID_X9_62_prime256v1)
    static let p384 = CurveParameters(NID_secp384r1)

    let key: OpaquePointer

    private init(_ curve: Int32) {
        guard let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else { outOfMemory() }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var parameters: OpaquePointer?
        unsafe precondition(EVP_PKEY_paramgen_init(context) == 1)
        unsafe precondition(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, curve) == 1)
        unsafe precondition(EVP_PKEY_paramgen(context, &parameters) == 1)
        guard let parameters = unsafe parameters else { outOfMemory() }
        unsafe key = parameters
    }
}

/// Digest methods, fetched once: an implicit fetch costs half a microsecond per call.
private enum Methods {
    nonisolated(unsafe) static let sha256 = unsafe EVP_MD_fetch(nil, "SHA256", nil)
    nonisolated(unsafe) static let sha384 = unsafe EVP_MD_fetch(nil, "SHA384", nil)
}

/// Ends the process when OpenSSL cannot allocate: a verdict must never be a guess.
func outOfMemory() -> Never {
    fatalError("OpenSSL is out of memory; ends the process, because no verdict is possible")
}
