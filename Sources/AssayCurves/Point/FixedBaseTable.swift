/// The multiples of one point from which a product with any scalar is a sum: digit·2^(b·w)·P for
/// each window w of a scalar, of b = `windowBits` bits, and each digit from 1 to 2^(b − 1).
///
/// The layout is that of one array of points: that of window w and digit d is at
/// w·2^(b − 1) + d − 1. The last window is shorter: it has the scalar's remaining bits and the
/// carry, so its points are 2^(bits modulo b). A point is x then y, each in little-endian words.
/// Immutable after creation, so threads share it.
@safe package final class FixedBaseTable<Curve: PrimeCurve>: @unchecked Sendable {
    package let points: UnsafePointer<AffinePoint<Curve>>
    package let windowBits: Int
    /// The number of doublings of each coordinate after the field's own Montgomery form.
    package let coordinateDoublings: Int
    /// Points in the table.
    package let count: Int

    /// Windows of a scalar, and so its digits. A digit is from −2^(b − 1) to 2^(b − 1) − 1: a
    /// negative one takes the point of its magnitude, negated.
    package var windows: Int { SignedDigits.count(Curve.Order.Words.self, windowBits: windowBits) }
    /// Points of each window but the last.
    @inline(__always) package var windowPoints: Int { 1 &<< (windowBits &- 1) }
    /// A point of P-256 then never crosses a cache line.
    private static var alignment: Int { 64 }

    /// - Parameters:
    ///   - point: On the curve.
    ///   - doublings: The number of doublings of each coordinate. An engine with the Montgomery
    ///     form of another R, 2ᵏ times as large, reads a table with k doublings.
    package init(
        _ point: AffinePoint<Curve>, windowBits: Int = Curve.windowBits,
        coordinateDoublings doublings: Int = 0
    ) {
        self.windowBits = windowBits
        coordinateDoublings = doublings
        let bits = Curve.Order.Words.byteCount * 8
        let (full, rest) = bits.quotientAndRemainder(dividingBy: windowBits)
        count = full << (windowBits - 1) + 1 << rest
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: count * MemoryLayout<AffinePoint<Curve>>.stride, alignment: Self.alignment)
        let points = unsafe memory.bindMemory(to: AffinePoint<Curve>.self, capacity: count)
        unsafe self.points = unsafe UnsafePointer(points)
        let scratch = SharedInversion<Curve.Field>.Scratch(capacity: count)
        unsafe fillFirst(points, point, scratch)
        var known = 1
        while known < windowPoints {
            unsafe fillNext(points, known, scratch)
            known *= 2
        }
        guard doublings > 0 else { return }
        for index in 0..<count {
            let (x, y) = unsafe (points[index].x, points[index].y)
            unsafe points[index] = AffinePoint(
                x: (0..<doublings).reduce(x) { value, _ in value.doubled() },
                y: (0..<doublings).reduce(y) { value, _ in value.doubled() })
        }
    }

    /// Returns nil unless the octets, `04 ‖ x ‖ y`, are a point on the curve.
    package convenience init?(
        uncompressed octets: Span<UInt8>, windowBits: Int = Curve.windowBits,
        coordinateDoublings doublings: Int = 0
    ) {
        guard let point = AffinePoint<Curve>(uncompressed: octets) else { return nil }
        self.init(point, windowBits: windowBits, coordinateDoublings: doublings)
    }

    /// Bytes of memory.
    package var byteCount: Int { count * MemoryLayout<AffinePoint<Curve>>.stride }

    deinit { unsafe points.deallocate() }

    /// The first point of each window: 2^(b·w)·P by doublings. No double is at
    /// infinity, because the order is odd.
    private func fillFirst(
        _ points: UnsafeMutablePointer<AffinePoint<Curve>>, _ point: AffinePoint<Curve>,
        _ scratch: SharedInversion<Curve.Field>.Scratch
    ) {
        var inversion = SharedInversion<Curve.Field>(scratch)
        var sums = [ExtendedJacobianPoint<Curve>(point)]
        inversion.append(sums[0].zzz)
        for window in 1..<windows {
            let next = (0..<windowBits).reduce(sums[window - 1]) { sum, _ in sum.doubled() }
            sums.append(next)
            inversion.append(next.zzz)
        }
        inversion.invert()
        for window in (0..<windows).reversed() {
            let (sum, inverse) = (sums[window], inversion.takeLast())
            // 1 / ZZ = ZZ² / ZZ³ = (ZZ / ZZZ)².
            unsafe points[window * windowPoints] = AffinePoint(
                x: sum.x * (sum.zz * inverse).squared(), y: sum.y * inverse)
        }
    }

    private var lastWindowPoints: Int { count - (windows - 1) * windowPoints }

    /// Doubles the number of points known of each window: the sums of the last known one with all
    /// known ones. The last of these sums is a double. Two different multiples are
    /// not opposite, because the order is larger than their sum.
    private func fillNext(
        _ points: UnsafeMutablePointer<AffinePoint<Curve>>, _ known: Int,
        _ scratch: SharedInversion<Curve.Field>.Scratch
    ) {
        var inversion = SharedInversion<Curve.Field>(scratch)
        let windows = known < lastWindowPoints ? windows : windows - 1
        for window in 0..<windows {
            let first = unsafe points + window * windowPoints
            let last = unsafe first[known - 1]
            for index in 0..<known - 1 { unsafe inversion.append(first[index].x - last.x) }
            inversion.append(last.y.doubled())
        }
        inversion.invert()
        for window in (0..<windows).reversed() {
            let first = unsafe points + window * windowPoints
            let last = unsafe first[known - 1]
            let difference = last.x.squared() - .one
            let slope = (difference.doubled() + difference) * inversion.takeLast()
            unsafe first[2 * known - 1] = last.sum(last, slope: slope)
            for index in (0..<known - 1).reversed() {
                let slope = unsafe (first[index].y - last.y) * inversion.takeLast()
                unsafe first[known + index] = last.sum(first[index], slope: slope)
            }
        }
    }
}
