import AssayCurves

#if DEBUG
    import Glibc
#endif

/// The engines that verify ES256 signatures, the fastest first. All give the same answers.
public enum SignatureEngine: String, CaseIterable, Sendable {
    /// Own arithmetic, eight signatures at a time with AVX-512 IFMA.
    case ifma
    /// Own arithmetic, four pairs of points at a time with AVX2.
    case avx2
    /// The same, with Neon of a 64-bit processor of Arm.
    case neon
    /// Own arithmetic, for any 64-bit processor.
    case portable
    /// OpenSSL's `EVP_PKEY_verify`, one signature at a time.
    case openssl

    /// The fastest engine that this processor supports.
    public static var best: SignatureEngine {
        #if DEBUG
            if let forced { return forced }
        #endif
        return allCases.first(where: \.isSupported) ?? .openssl
    }

    #if DEBUG
        /// The engine that tests run with: ASSAY_TEST_ENGINE in the environment. An unknown or
        /// unsupported one ends the process: its tests would pass with another.
        private static let forced: SignatureEngine? = {
            guard let name = unsafe getenv("ASSAY_TEST_ENGINE") else { return nil }
            guard let engine = unsafe SignatureEngine(rawValue: String(cString: name)),
                engine.isSupported
            else { fatalError("ASSAY_TEST_ENGINE names no engine of this processor") }
            return engine
        }()
    #endif

    /// Whether this processor and its operating system support the engine.
    public var isSupported: Bool { arithmetic?.isSupported ?? true }

    /// The instructions that a processor may lack.
    package var instructions: String? {
        switch self {
        case .ifma: "AVX-512 IFMA"
        case .avx2: "AVX2"
        case .neon: "Neon"
        case .portable, .openssl: nil
        }
    }

    /// The own arithmetic for signatures of keys with a table; nil for OpenSSL's.
    var arithmetic: P256Verification.Arithmetic? {
        switch self {
        case .ifma: .ifma
        case .avx2: .avx2
        case .neon: .neon
        case .portable: .portable
        case .openssl: nil
        }
    }
}
