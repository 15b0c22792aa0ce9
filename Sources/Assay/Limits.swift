/// The limits of the verifier, with the reason for each number.
package enum Limits {
    /// Nesting of objects and arrays. Apple's deepest payload (a transaction with Advanced
    /// Commerce refunds) nests 5 deep; parsing recurses once a level.
    package static let jsonDepth = 32
    /// Bytes of one JSON text. The largest that arrives is a notification's POST body: a JWS of
    /// at most 64 KiB around nested ones; four times that is never reached by Apple's.
    package static let jsonSize = 256 << 10
    /// Members of one object up to which a new name is compared with those before it. Above,
    /// names are sorted once at the object's end, so that a hostile object costs O(n log n).
    /// Apple's largest object has 33 members.
    static let jsonMembersComparedDirectly = 48
}
