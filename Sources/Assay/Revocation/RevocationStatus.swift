public import AssayModels

/// The status of one certificate, as an OCSP response or a CRL states it.
public struct RevocationStatus: Sendable, Equatable {
    /// The statement about the certificate.
    public enum State: Sendable, Equatable {
        /// The certificate is not revoked.
        case good
        /// The certificate has been revoked since this date.
        case revoked(at: Timestamp, CertificateRevocationReason)
        /// The responder does not know the certificate.
        case unknown
    }

    /// The statement about the certificate.
    public var state: State
    /// The time at which the statement was known to be correct.
    public var thisUpdate: Timestamp
    /// The time at which newer information is available at the latest; nil if there is none.
    public var nextUpdate: Timestamp?

    /// Creates a status.
    public init(state: State, thisUpdate: Timestamp, nextUpdate: Timestamp?) {
        self.state = state
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }

    /// Whether newer information should exist. Clocks may differ by some minutes.
    package func isStale(at now: Timestamp) -> Bool {
        guard let nextUpdate else { return false }
        return nextUpdate.advanced(by: Limits.clockSkewMilliseconds) < now
    }

    /// Whether the certificate stays revoked. Only a certificate on hold can become good again
    /// (RFC 5280, section 5.3.1).
    package var isFinal: Bool {
        if case .revoked(_, let reason) = state { reason != .certificateHold } else { false }
    }

    /// The statement's name in output: `good`, `revoked` or `unknown`.
    package var name: String {
        switch state {
        case .good: "good"
        case .revoked: "revoked"
        case .unknown: "unknown"
        }
    }
}

/// Why a certificate was revoked (RFC 5280, section 5.3.1).
public enum CertificateRevocationReason: UInt8, Sendable, Equatable, CaseIterable {
    /// No reason is named.
    case unspecified = 0
    /// The private key is, or may be, in other hands.
    case keyCompromise = 1
    /// The same, for the key of an authority.
    case cACompromise = 2
    /// The subject's name or other information has changed.
    case affiliationChanged = 3
    /// The certificate was replaced.
    case superseded = 4
    /// The certificate is no longer needed.
    case cessationOfOperation = 5
    /// Revoked for the time being.
    case certificateHold = 6
    /// Good again; only in delta CRLs.
    case removeFromCRL = 8
    /// A privilege in the certificate was withdrawn.
    case privilegeWithdrawn = 9
    /// The key of an attribute authority is, or may be, in other hands.
    case aACompromise = 10

    /// Whether the holder of another key may have signed, with any date that it liked. Without a
    /// reason nothing excludes it.
    public var isCompromise: Bool {
        switch self {
        case .keyCompromise, .cACompromise, .aACompromise, .unspecified: true
        default: false
        }
    }

    /// The reason in words.
    package var text: String {
        switch self {
        case .unspecified: "unspecified"
        case .keyCompromise: "key compromise"
        case .cACompromise: "compromise of the authority"
        case .affiliationChanged: "affiliation changed"
        case .superseded: "superseded"
        case .cessationOfOperation: "cessation of operation"
        case .certificateHold: "on hold"
        case .removeFromCRL: "removed from the CRL"
        case .privilegeWithdrawn: "privilege withdrawn"
        case .aACompromise: "compromise of the attribute authority"
        }
    }
}
