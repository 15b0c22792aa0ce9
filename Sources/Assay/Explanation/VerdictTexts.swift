package import AssayModels

// The texts of docs/verdicts.md; a test compares the two. The page can add to a meaning.

extension Verdict {
    /// What the verdict means, in one sentence.
    package var meaning: String {
        switch self {
        case .valid:
            """
            Signed by Apple, or under a root or a key of yours, and within policy and expectations.
            """
        case .malformed:
            "The bytes do not have the form of their kind: size, encoding, JSON or DER."
        case .unsupportedAlgorithm:
            "The algorithm or the key type is not the one that the store uses for this kind."
        case .untrustedChain:
            "No path leads to a pinned root, or no key that you trust can have signed."
        case .invalidChain: "The certificates do not form a chain, or there are none."
        case .wrongCertificatePurpose: "A certificate lacks the store's marker for this purpose."
        case .certificateRevoked:
            """
            A certificate or a key is on your deny list, was revoked, or lacks the revocation \
            status that you require.
            """
        case .certificateExpired: "A certificate was not valid at the date of the signature."
        case .invalidDate: "The signature's date is in the future or out of range."
        case .invalidSignature: "The signature does not fit the bytes."
        case .wrongKind: "The evidence is of another kind than the request named."
        case .wrongBundle: "The evidence belongs to another app."
        case .wrongApp: "The evidence carries another App Store id."
        case .wrongEnvironment: "The policy does not accept this environment."
        case .mismatch:
            """
            An expectation of yours failed: product, account token, transaction, age or device.
            """
        }
    }

    /// What to do about evidence with this verdict.
    package var advice: String {
        switch self {
        case .valid:
            """
            Do what it states: a refund takes back, a purchase is granted once by dedupKey.
            """
        case .malformed: "Refuse. Check what your client sends."
        case .untrustedChain: "Refuse. For test data pin its root with --root."
        case .invalidDate: "Refuse. Check the server's clock."
        case .wrongKind: "Name the right kind."
        case .wrongApp: "Refuse. Check app-apple-id."
        case .wrongEnvironment: "Send sandbox purchases to a sandbox app entry."
        case .unsupportedAlgorithm, .invalidChain, .wrongCertificatePurpose, .certificateRevoked,
            .certificateExpired, .invalidSignature, .wrongBundle, .mismatch:
            "Refuse."
        }
    }
}
