/// The inverse modulo an odd number, by division steps (Bernstein and Yang, "Fast constant-time
/// gcd computation and modular inversion", 2019), 62 at a time. Takes variable time.
///
/// A division step maps (f, g) with odd f to a pair with the same greatest common divisor, until g
/// is 0 and f is 1 or −1. Only the low bits decide about a step, so 62 steps are first made on
/// one word and collected in a matrix, which is then applied to the whole numbers.
///
/// Numbers have `count` signed limbs of 62 bits: the lower ones are in 0 ..< 2⁶², the last one
/// has the sign.
package struct ModularInverse<let count: Int> {
    typealias Limbs = [count of Int64]

    private let modulus: Limbs
    /// 1 / modulus mod 2⁶².
    private let modulusInverse: UInt64

    private static var lowBits: UInt64 { ~0 >> 2 }

    /// - Parameter modulus: Odd, at least 3, and shorter than 62·`count` − 1 bits.
    package init(modulus: some FixedWords) {
        self.modulus = Self.limbs(modulus)
        // Newton's iteration doubles the number of right bits: 3, 6, 12, 24, 48, 96.
        let low = modulus[0]
        var inverse = low
        for _ in 0..<5 { inverse = inverse &* (2 &- low &* inverse) }
        modulusInverse = inverse & Self.lowBits
    }

    /// Returns 1 / `number` modulo the modulus, or zero for zero.
    /// - Parameter number: Below the modulus.
    package func inverse<Words: FixedWords>(of number: Words) -> Words {
        var f = modulus
        var g = Self.limbs(number)
        // f = d·number and g = e·number hold throughout, modulo the modulus.
        var d = Limbs(repeating: 0)
        var e = Limbs(repeating: 0)
        e[0] = 1
        var delta = 1
        while !Self.isZero(g) {
            let matrix = Matrix(&delta, UInt64(bitPattern: f[0]), UInt64(bitPattern: g[0]))
            apply(matrix, modulo: &d, &e)
            Self.apply(matrix, &f, &g)
        }
        return words(normalized(d, negating: f[count - 1] < 0))
    }

    /// The 62 division steps on the low words of f and g, times 2⁶²: f becomes (u·f + v·g) / 2⁶²
    /// and g becomes (q·f + r·g) / 2⁶². |u| + |v| and |q| + |r| are at most 2⁶².
    private struct Matrix {
        var u: Int64 = 1
        var v: Int64 = 0
        var q: Int64 = 0
        var r: Int64 = 1

        /// - Parameter delta: The state of the division steps, carried from one matrix to the
        ///   next.
        init(_ delta: inout Int, _ f: UInt64, _ g: UInt64) {
            var (f, g) = (f, g)
            var left = 62
            while true {
                // All steps with an even g at once: g halves, and the row of f doubles.
                let zeros = (g | ~0 &<< UInt64(truncatingIfNeeded: left)).trailingZeroBitCount
                g = g &>> UInt64(truncatingIfNeeded: zeros)
                u = u &<< Int64(truncatingIfNeeded: zeros)
                v = v &<< Int64(truncatingIfNeeded: zeros)
                delta &+= zeros
                left &-= zeros
                if left == 0 { return }
                // f and g are odd.
                if delta > 0 {
                    delta = 0 &- delta
                    (f, g) = (g, 0 &- f)
                    (u, q) = (q, 0 &- u)
                    (v, r) = (r, 0 &- v)
                }
                // Until delta is positive again, each step adds f to g or does not. The sum of
                // these steps is w·f, with w = −g/f modulo 2^bits.
                let bits = min(min(1 &- delta, left), 6)
                let w = Self.quotient(f, g) & ((1 &<< UInt64(truncatingIfNeeded: bits)) &- 1)
                g = g &+ f &* w
                q = q &+ u &* Int64(bitPattern: w)
                r = r &+ v &* Int64(bitPattern: w)
            }
        }

        /// −g/f mod 2⁶, for odd f: f·(2 − f²) is 1/f to six bits, because f² is 1 mod 8.
        private static func quotient(_ f: UInt64, _ g: UInt64) -> UInt64 {
            f &* g &* (f &* f &- 2)
        }
    }

    /// f, g = (u·f + v·g) / 2⁶², (q·f + r·g) / 2⁶². Both divisions are exact.
    private static func apply(_ matrix: Matrix, _ f: inout Limbs, _ g: inout Limbs) {
        var (first, second) = (
            product(matrix.u, f[0], matrix.v, g[0]) &>> 62,
            product(matrix.q, f[0], matrix.r, g[0]) &>> 62
        )
        for index in 1..<count {
            first = first &+ product(matrix.u, f[index], matrix.v, g[index])
            second = second &+ product(matrix.q, f[index], matrix.r, g[index])
            f[index - 1] = low(first)
            g[index - 1] = low(second)
            first = first &>> 62
            second = second &>> 62
        }
        f[count - 1] = Int64(truncatingIfNeeded: first)
        g[count - 1] = Int64(truncatingIfNeeded: second)
    }

    /// The same for d and e modulo the modulus M: adds the multiples of M that make the division
    /// by 2⁶² exact. Keeps d and e between −2·M and M.
    private func apply(_ matrix: Matrix, modulo d: inout Limbs, _ e: inout Limbs) {
        let (u, v, q, r) = (matrix.u, matrix.v, matrix.q, matrix.r)
        // Negative d and e first get M added, as a part of the multiples.
        let (signOfD, signOfE) = (d[count - 1] &>> 63, e[count - 1] &>> 63)
        var multipleD = (u & signOfD) &+ (v & signOfE)
        var multipleE = (q & signOfD) &+ (r & signOfE)
        var first = Self.product(u, d[0], v, e[0])
        var second = Self.product(q, d[0], r, e[0])
        multipleD &-= exactMultiple(first, multipleD)
        multipleE &-= exactMultiple(second, multipleE)
        first = (first &+ Self.product(modulus[0], multipleD)) &>> 62
        second = (second &+ Self.product(modulus[0], multipleE)) &>> 62
        for index in 1..<count {
            first =
                first &+ Self.product(u, d[index], v, e[index])
                &+ Self.product(modulus[index], multipleD)
            second =
                second &+ Self.product(q, d[index], r, e[index])
                &+ Self.product(modulus[index], multipleE)
            d[index - 1] = Self.low(first)
            e[index - 1] = Self.low(second)
            first = first &>> 62
            second = second &>> 62
        }
        d[count - 1] = Int64(truncatingIfNeeded: first)
        e[count - 1] = Int64(truncatingIfNeeded: second)
    }

    /// The number in 0 ..< 2⁶² that has to be subtracted from `multiple`, so that
    /// `sum` + multiple·M is divisible by 2⁶².
    private func exactMultiple(_ sum: Int128, _ multiple: Int64) -> Int64 {
        let wanted =
            modulusInverse &* UInt64(truncatingIfNeeded: sum) &+ UInt64(bitPattern: multiple)
        return Int64(bitPattern: wanted & Self.lowBits)
    }

    private static func product(_ a: Int64, _ b: Int64) -> Int128 {
        Int128(truncatingIfNeeded: a) &* Int128(truncatingIfNeeded: b)
    }

    private static func product(_ a: Int64, _ b: Int64, _ c: Int64, _ d: Int64) -> Int128 {
        product(a, b) &+ product(c, d)
    }

    private static func low(_ sum: Int128) -> Int64 {
        Int64(bitPattern: UInt64(truncatingIfNeeded: sum) & lowBits)
    }

    /// Returns ±`limbs` in 0 ..< M.
    /// - Parameter limbs: Between −2·M and M.
    private func normalized(_ limbs: Limbs, negating: Bool) -> Limbs {
        var result = limbs
        if result[count - 1] < 0 { result = combined(result, 1) }
        if negating { result = combined(result, 0, sign: -1) }
        if result[count - 1] < 0 { result = combined(result, 1) }
        return result
    }

    /// sign·limbs + multiple·M.
    private func combined(_ limbs: Limbs, _ multiple: Int64, sign: Int64 = 1) -> Limbs {
        var result = limbs
        var sum: Int128 = 0
        for index in 0..<count {
            sum = sum &+ Self.product(sign, limbs[index], multiple, modulus[index])
            result[index] =
                index == count - 1 ? Int64(truncatingIfNeeded: sum) : Self.low(sum)
            sum = sum &>> 62
        }
        return result
    }

    private static func isZero(_ limbs: Limbs) -> Bool {
        var bits: Int64 = 0
        for index in 0..<count { bits |= limbs[index] }
        return bits == 0
    }

    private static func limbs<W: FixedWords>(_ words: W) -> Limbs {
        var limbs = Limbs(repeating: 0)
        for index in 0..<count {
            let (word, shift) = (index * 62 / 64, UInt64(index * 62 % 64))
            var bits = word < W.count ? words[word] >> shift : 0
            if shift > 2, word + 1 < W.count { bits |= words[word + 1] << (64 - shift) }
            limbs[index] = Int64(bitPattern: bits & lowBits)
        }
        return limbs
    }

    private func words<Words: FixedWords>(_ limbs: Limbs) -> Words {
        var words = Words.zero
        for index in 0..<count {
            let (word, shift) = (index * 62 / 64, UInt64(index * 62 % 64))
            let bits = UInt64(bitPattern: limbs[index])
            if word < Words.count { words[word] |= bits << shift }
            if shift > 2, word + 1 < Words.count { words[word + 1] |= bits >> (64 - shift) }
        }
        return words
    }
}
