/// A number below 2³⁸⁴.
package struct Words6: FixedWords {
    package var w0, w1, w2, w3, w4, w5: UInt64

    /// - Parameter w0: The least significant word.
    @inline(__always)
    package init(
        _ w0: UInt64, _ w1: UInt64, _ w2: UInt64, _ w3: UInt64, _ w4: UInt64, _ w5: UInt64
    ) {
        (self.w0, self.w1, self.w2, self.w3, self.w4, self.w5) = (w0, w1, w2, w3, w4, w5)
    }

    @inline(__always) package static var count: Int { 6 }
    @inline(__always) package static var zero: Self { Self(0, 0, 0, 0, 0, 0) }
    @inline(__always) var isZero: Bool { w0 | w1 | w2 | w3 | w4 | w5 == 0 }

    package subscript(index: Int) -> UInt64 {
        @inline(__always) get {
            switch index {
            case 0: w0
            case 1: w1
            case 2: w2
            case 3: w3
            case 4: w4
            default: w5
            }
        }
        set {
            switch index {
            case 0: w0 = newValue
            case 1: w1 = newValue
            case 2: w2 = newValue
            case 3: w3 = newValue
            case 4: w4 = newValue
            default: w5 = newValue
            }
        }
    }

    @inline(__always)
    package func adding(_ other: Self) -> (sum: Self, carry: UInt64) {
        var carry: UInt64 = 0
        let sum = Self(
            Carry.add(w0, other.w0, &carry), Carry.add(w1, other.w1, &carry),
            Carry.add(w2, other.w2, &carry), Carry.add(w3, other.w3, &carry),
            Carry.add(w4, other.w4, &carry), Carry.add(w5, other.w5, &carry))
        return (sum, carry)
    }

    @inline(__always)
    package func subtracting(_ other: Self) -> (difference: Self, borrow: UInt64) {
        var borrow: UInt64 = 0
        let difference = Self(
            Carry.subtract(w0, other.w0, &borrow), Carry.subtract(w1, other.w1, &borrow),
            Carry.subtract(w2, other.w2, &borrow), Carry.subtract(w3, other.w3, &borrow),
            Carry.subtract(w4, other.w4, &borrow), Carry.subtract(w5, other.w5, &borrow))
        return (difference, borrow)
    }

    package func isBelow(_ other: Self) -> Bool { subtracting(other).borrow == 1 }

    /// Returns t mod m for t = top·2³⁸⁴ + `self` < 2·m.
    ///
    /// Adds 2³⁸⁴ − m: with t below 2·m, either `top` or the carry says that t is not below m. A
    /// subtraction of constants would compile to branches.
    /// - Parameters:
    ///   - top: 0 or 1.
    ///   - complement: 2³⁸⁴ − m.
    @inline(__always)
    func reducedOnce(top: UInt64, complement: Self) -> Self {
        let (sum, carry) = adding(complement)
        let mask = (top | carry) &- 1
        return Self(
            sum.w0 ^ ((sum.w0 ^ w0) & mask), sum.w1 ^ ((sum.w1 ^ w1) & mask),
            sum.w2 ^ ((sum.w2 ^ w2) & mask), sum.w3 ^ ((sum.w3 ^ w3) & mask),
            sum.w4 ^ ((sum.w4 ^ w4) & mask), sum.w5 ^ ((sum.w5 ^ w5) & mask))
    }

    /// Adds number·factor.
    /// - Returns: The word that does not fit.
    @inline(__always)
    private mutating func add(_ number: Self, times factor: UInt64) -> UInt64 {
        var high: UInt64 = 0
        w0 = Carry.add(w0, number.w0, times: factor, &high)
        w1 = Carry.add(w1, number.w1, times: factor, &high)
        w2 = Carry.add(w2, number.w2, times: factor, &high)
        w3 = Carry.add(w3, number.w3, times: factor, &high)
        w4 = Carry.add(w4, number.w4, times: factor, &high)
        w5 = Carry.add(w5, number.w5, times: factor, &high)
        return high
    }

    /// Drops the lowest word, which `low` receives, and appends the highest one.
    @inline(__always)
    private mutating func shift(to low: inout UInt64, appending high: UInt64) {
        low = w0
        self = Self(w1, w2, w3, w4, w5, high)
    }

    /// The product, of twelve words.
    @inline(__always)
    func multiplied(by other: Self) -> (low: Self, high: Self) {
        var low = Self.zero
        var sum = Self.zero
        sum.shift(to: &low.w0, appending: sum.add(other, times: w0))
        sum.shift(to: &low.w1, appending: sum.add(other, times: w1))
        sum.shift(to: &low.w2, appending: sum.add(other, times: w2))
        sum.shift(to: &low.w3, appending: sum.add(other, times: w3))
        sum.shift(to: &low.w4, appending: sum.add(other, times: w4))
        sum.shift(to: &low.w5, appending: sum.add(other, times: w5))
        return (low, sum)
    }

    /// The square, of twelve words: 21 products instead of 36.
    @inline(__always)
    func square() -> (low: Self, high: Self) {
        // The products of two different words, then twice their sum.
        var carry: UInt64 = 0
        var t1 = Carry.add(0, w0, times: w1, &carry)
        var t2 = Carry.add(0, w0, times: w2, &carry)
        var t3 = Carry.add(0, w0, times: w3, &carry)
        var t4 = Carry.add(0, w0, times: w4, &carry)
        var t5 = Carry.add(0, w0, times: w5, &carry)
        var t6 = carry
        carry = 0
        t3 = Carry.add(t3, w1, times: w2, &carry)
        t4 = Carry.add(t4, w1, times: w3, &carry)
        t5 = Carry.add(t5, w1, times: w4, &carry)
        t6 = Carry.add(t6, w1, times: w5, &carry)
        var t7 = carry
        carry = 0
        t5 = Carry.add(t5, w2, times: w3, &carry)
        t6 = Carry.add(t6, w2, times: w4, &carry)
        t7 = Carry.add(t7, w2, times: w5, &carry)
        var t8 = carry
        carry = 0
        t7 = Carry.add(t7, w3, times: w4, &carry)
        t8 = Carry.add(t8, w3, times: w5, &carry)
        var t9 = carry
        carry = 0
        t9 = Carry.add(t9, w4, times: w5, &carry)
        var t10 = carry
        let t11 = t10 &>> 63
        t10 = t10 &<< 1 | t9 &>> 63
        t9 = t9 &<< 1 | t8 &>> 63
        t8 = t8 &<< 1 | t7 &>> 63
        t7 = t7 &<< 1 | t6 &>> 63
        t6 = t6 &<< 1 | t5 &>> 63
        t5 = t5 &<< 1 | t4 &>> 63
        t4 = t4 &<< 1 | t3 &>> 63
        t3 = t3 &<< 1 | t2 &>> 63
        t2 = t2 &<< 1 | t1 &>> 63
        t1 = t1 &<< 1
        // The squares of the words.
        carry = 0
        let (s0, s1, s2) = (Square(w0), Square(w1), Square(w2))
        let (s3, s4, s5) = (Square(w3), Square(w4), Square(w5))
        let low = Self(
            s0.low, Carry.add(t1, s0.high, &carry),
            Carry.add(t2, s1.low, &carry), Carry.add(t3, s1.high, &carry),
            Carry.add(t4, s2.low, &carry), Carry.add(t5, s2.high, &carry))
        let high = Self(
            Carry.add(t6, s3.low, &carry), Carry.add(t7, s3.high, &carry),
            Carry.add(t8, s4.low, &carry), Carry.add(t9, s4.high, &carry),
            Carry.add(t10, s5.low, &carry), Carry.add(t11, s5.high, &carry))
        return (low, high)
    }

    /// The square of one word.
    private struct Square {
        let low: UInt64
        let high: UInt64

        @inline(__always)
        init(_ word: UInt64) {
            var high: UInt64 = 0
            low = Carry.add(0, word, times: word, &high)
            self.high = high
        }
    }
}
