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
            UInt128(word: a) &+ UInt128(word: b)
            &+ UInt128(word: carry)
        carry = sum.high
        return sum.low
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
        let product = UInt128(word: a) &* UInt128(word: b)
        return (product.low, product.high)
    }

    /// Returns the low word of a + b·c + carry, which is at most 2¹²⁸ − 1.
    /// - Parameter carry: Any word, before and after.
    @inline(__always)
    static func add(
        _ a: UInt64, _ b: UInt64, times c: UInt64, _ carry: inout UInt64
    ) -> UInt64 {
        let sum =
            UInt128(word: b) &* UInt128(word: c)
            &+ UInt128(word: a) &+ UInt128(word: carry)
        carry = sum.high
        return sum.low
    }
}

/// The conversions between words and the double word of a product. In a debug build the public
/// ones are calls of generic functions, and the tests of the curves take twelve times longer. In a
/// release build they give code that is 8 % faster than that of the underscored members.
extension UInt128 {
    @inline(__always)
    fileprivate init(word: UInt64) {
        #if DEBUG
            self.init(_low: word, _high: 0)
        #else
            self.init(truncatingIfNeeded: word)
        #endif
    }

    @inline(__always) fileprivate var low: UInt64 {
        #if DEBUG
            _low
        #else
            UInt64(truncatingIfNeeded: self)
        #endif
    }

    @inline(__always) fileprivate var high: UInt64 {
        #if DEBUG
            _high
        #else
            UInt64(truncatingIfNeeded: self &>> 64)
        #endif
    }
}
