/// The engines that verify ES256 signatures. All give the same answers.
public enum SignatureEngine: String, CaseIterable, Sendable {
    /// Own arithmetic, for any 64-bit processor.
    case portable
    /// OpenSSL's own routine for each signature.
    case openssl

    /// The fastest engine of this processor.
    public static var best: SignatureEngine { .portable }
}
