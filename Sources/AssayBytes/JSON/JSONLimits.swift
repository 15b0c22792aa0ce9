/// The limits of a JSON text, each with its reason.
package enum JSONLimits {
    /// Nesting depth of objects and arrays. Apple's deepest payload, a transaction with Advanced
    /// Commerce refunds, nests 5 deep. Parsing recurses once per level.
    package static let depth = 32
    /// Bytes of one JSON text. The largest input is a notification's POST body: a JWS of at most
    /// 64 KiB with nested JWSs. Apple's bodies never reach four times that.
    package static let size = 256 << 10
    /// Objects with up to this number of members compare each new name with the earlier ones.
    /// Larger objects sort their names once, at the end, so a hostile object costs O(n log n).
    /// Apple's largest object has 33 members.
    static let membersComparedDirectly = 48
}
