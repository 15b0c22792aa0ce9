/// The outcome of a verification, one enumeration for all kinds of evidence. The raw values are
/// the wire values and are never reused.
///
/// A refused purchase is a successful call with a verdict. Refunded purchases and expired
/// subscriptions are *valid evidence*: payload fields report them, not verdicts.
public enum Verdict: Int32, Sendable, CaseIterable {
    /// Signed by Apple (or under another pinned root), and within policy and expectations.
    case valid = 1
    /// Not the format of its kind: size, encoding, DER, JSON.
    case malformed = 2
    /// Evidence of a different kind than the caller named.
    case wrongKind = 3
    /// A signature or key algorithm that Apple does not use for this kind.
    case unsupportedAlgorithm = 4
    /// No path to a pinned root.
    case untrustedChain = 5
    /// A chain whose certificates do not fit together (RFC 5280, section 6.1).
    case invalidChain = 6
    /// A certificate without Apple's marker extension for this purpose.
    case wrongCertificatePurpose = 7
    /// A certificate was not valid at the effective date.
    case certificateExpired = 8
    /// A certificate is on the operator's deny list, was revoked when it signed, or lacks the
    /// status that the policy requires.
    case certificateRevoked = 9
    /// The signature over the evidence does not verify.
    case invalidSignature = 10
    /// Signed in the future, or with an implausible date.
    case invalidDate = 11
    /// From an environment that the policy or the caller does not allow.
    case wrongEnvironment = 12
    /// For a different bundle identifier.
    case wrongBundle = 13
    /// For a different App Store app id.
    case wrongApp = 14
    /// Fails an expectation of the caller: product, account token, transaction, age, device.
    case mismatch = 15

    /// The name used by the protocol and in output, such as `UNTRUSTED_CHAIN`.
    public var name: String {
        switch self {
        case .valid: "VALID"
        case .malformed: "MALFORMED"
        case .wrongKind: "WRONG_KIND"
        case .unsupportedAlgorithm: "UNSUPPORTED_ALGORITHM"
        case .untrustedChain: "UNTRUSTED_CHAIN"
        case .invalidChain: "INVALID_CHAIN"
        case .wrongCertificatePurpose: "WRONG_CERTIFICATE_PURPOSE"
        case .certificateExpired: "CERTIFICATE_EXPIRED"
        case .certificateRevoked: "CERTIFICATE_REVOKED"
        case .invalidSignature: "INVALID_SIGNATURE"
        case .invalidDate: "INVALID_DATE"
        case .wrongEnvironment: "WRONG_ENVIRONMENT"
        case .wrongBundle: "WRONG_BUNDLE"
        case .wrongApp: "WRONG_APP"
        case .mismatch: "MISMATCH"
        }
    }
}
