/// What the revocation status of a chain's certificates decides. A pinned root has no status, nor
/// has a certificate that is itself pinned.
///
/// The statuses are those that the verifier has. Verification never waits for one.
public enum RevocationPolicy: Sendable, Equatable {
    /// Statuses decide nothing.
    case off
    /// A revoked certificate refuses. A status that is missing, unknown or stale passes, and the
    /// answer's detail says so.
    case soft
    /// Like `soft`, and a chain passes only if leaf and intermediate have a good status that is not
    /// stale, and that is no older than this.
    case hard(maximumAge: Duration)
}
