/// The engines that verify ES256 signatures. All give the same answers.
public enum SignatureEngine: String, CaseIterable, Sendable {
    /// Own arithmetic, eight signatures at a time with AVX-512 IFMA.
    case ifma
    /// Own arithmetic for any 64-bit processor.
    case portable
    /// OpenSSL's own routine for each signature.
    case openssl

    /// The fastest engine that this processor supports.
    public static var best: SignatureEngine { .portable }

    /// Whether this processor and its operating system support the engine.
    public var isSupported: Bool { self != .ifma }
}
