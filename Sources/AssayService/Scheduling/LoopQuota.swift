/// Divides the time of the loop's thread between reading and verifying, from the end of one quota
/// of work to the end of the next.
package struct LoopQuota {
    /// Nanoseconds of the monotonic clock.
    private let began: UInt64
    /// Nanoseconds of work since `began`.
    var worked: UInt64 = 0
    /// Nanoseconds of work in this quota. While all of it is used, reading can take as long.
    var end: UInt64 = Self.nanoseconds

    /// Those of a slice. A socket holds what a fast client sends in a millisecond; then the client
    /// waits. If it were read more rarely, an overloaded server would never see more requests than
    /// it verifies, and so would refuse none of those that are late.
    private static let nanoseconds = UInt64(Batch.loopSliceNanoseconds)

    /// Whether a slice was lent to another worker.
    var hasLent = false

    init(began: UInt64) { self.began = began }

    var canWork: Bool { worked < end }

    func canRead(at now: UInt64) -> Bool { now - began < worked + Self.nanoseconds }
}
