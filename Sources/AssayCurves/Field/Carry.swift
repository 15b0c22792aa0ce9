/// Exact arithmetic on 64-bit words with a carry. Every result fits, so nothing traps or wraps.
///
/// Generic over nothing and always inlined: the forms below are those that the compiler turns
/// into chains of add-with-carry instructions.
enum Carry {
    /// Returns the low word of a + b + carry.
    /// - Parameter carry: 0 or 1, before and after.
    @inline(__always)
    static func add(_ a: UInt64, _ b: UInt64, _ carry: inout UInt64) -> UInt64 {
        let sum =
            UInt128(truncatingIfNeeded: a) &+ UInt128(truncatingIfNeeded: b)
            &+ UInt128(truncatingIfNeeded: carry)
        carry = UInt64(truncatingIfNeeded: sum &>> 64)
        return UInt64(truncatingIfNeeded: sum)
    }

    /// Returns the low word of a − b − borrow.
    /// - Parameter borrow: 0 or 1, before and after.
    @inline(__always)
    static func subtract(_ a: UInt64, _ b: UInt64, _ borrow: inout UInt64) -> UInt64 {
        // a + (2⁶⁴ − 1 − b) + (1 − borrow), whose carry is 1 − borrow. The obvious form, with two
        // overflow flags, compiles to branches that are mispredicted half of the time.
        var carry = borrow ^ 1
        let result = add(a, ~b, &carry)
        borrow = carry ^ 1
        return result
    }

    @inline(__always)
    static func product(_ a: UInt64, _ b: UInt64) -> (low: UInt64, high: UInt64) {
        let product = UInt128(truncatingIfNeeded: a) &* UInt128(truncatingIfNeeded: b)
        return (
            UInt64(truncatingIfNeeded: product), UInt64(truncatingIfNeeded: product &>> 64)
        )
    }

    /// Returns the low word of a + b·c + carry, which is at most 2¹²⁸ − 1.
    /// - Parameter carry: Any word, before and after.
    @inline(__always)
    static func add(
        _ a: UInt64, _ b: UInt64, times c: UInt64, _ carry: inout UInt64
    ) -> UInt64 {
        let sum =
            UInt128(truncatingIfNeeded: b) &* UInt128(truncatingIfNeeded: c)
            &+ UInt128(truncatingIfNeeded: a) &+ UInt128(truncatingIfNeeded: carry)
        carry = UInt64(truncatingIfNeeded: sum &>> 64)
        return UInt64(truncatingIfNeeded: sum)
    }
}
