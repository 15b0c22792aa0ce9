import AssayCurves

/// The engines that verify ES256 signatures. All give the same answers.
public enum SignatureEngine: String, CaseIterable, Sendable {
    /// Own arithmetic, eight signatures at a time with AVX-512 IFMA.
    case ifma
    /// Own arithmetic, for any 64-bit processor.
    case portable
    /// OpenSSL's own routine for each signature.
    case openssl

    /// The fastest engine that this processor supports.
    public static var best: SignatureEngine { SignatureEngine.ifma.isSupported ? .ifma : .portable }

    /// Whether this processor and its operating system support the engine.
    public var isSupported: Bool { arithmetic?.isSupported ?? true }

    /// What verifies the signatures of keys with a table; nil for OpenSSL, which needs none.
    var arithmetic: P256Verification.Arithmetic? {
        switch self {
        case .ifma: .vectors
        case .portable: .words
        case .openssl: nil
        }
    }
}
