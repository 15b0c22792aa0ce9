/// A point in time: milliseconds since 1970-01-01T00:00:00Z, as in Apple's payloads.
///
/// Fractions of a millisecond, which Xcode writes, are rounded down (towards the past). The raw
/// JSON keeps them.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let milliseconds: Int64

    /// Creates a timestamp from milliseconds since 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Seconds since 1970, rounded down (towards the past).
    public var seconds: Int64 {
        let quotient = milliseconds / 1000
        return milliseconds % 1000 < 0 ? quotient - 1 : quotient
    }

    /// The timestamp `duration` milliseconds later, clamped to the range of 64 bits.
    package func advanced(by duration: Int64) -> Timestamp {
        let sum = milliseconds.addingReportingOverflow(duration)
        guard sum.overflow else { return Timestamp(milliseconds: sum.partialValue) }
        return Timestamp(milliseconds: duration < 0 ? .min : .max)
    }

    /// Whether the left timestamp is earlier.
    public static func < (left: Self, right: Self) -> Bool {
        left.milliseconds < right.milliseconds
    }
}
