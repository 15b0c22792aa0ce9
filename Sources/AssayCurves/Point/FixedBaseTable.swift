/// The multiples of one point from which a product with any scalar is a sum: digit·256ʷ·P for
/// each window w of a scalar and each digit from 1 to 128, and 256^`windows`·P for the carry out
/// of the last window.
///
/// The layout is that of one array of points: that of window w and digit d is at
/// w·128 + d − 1. A point is x then y, each in little-endian words. Immutable after creation, so
/// threads share it.
@safe package final class FixedBaseTable<Curve: PrimeCurve>: @unchecked Sendable {
    /// Windows of 8 bits of a scalar.
    package static var windows: Int { Curve.Order.Words.byteCount }
    /// Points of a window. A digit is from −128 to 127: a negative one takes the point of its
    /// magnitude, negated.
    package static var windowPoints: Int { 128 }
    package static var pointCount: Int { windows * windowPoints + 1 }
    /// A point of P-256 then never crosses a cache line.
    private static var alignment: Int { 64 }

    package let points: UnsafePointer<AffinePoint<Curve>>

    /// Bytes of memory.
    package static var byteCount: Int { pointCount * MemoryLayout<AffinePoint<Curve>>.stride }

    /// - Parameters:
    ///   - point: On the curve.
    ///   - doublings: The number of doublings of each coordinate. An engine with the Montgomery
    ///     form of another R, 2ᵏ times as large, reads a table with k doublings.
    package init(_ point: AffinePoint<Curve>, coordinateDoublings doublings: Int = 0) {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: Self.byteCount, alignment: Self.alignment)
        let points = unsafe memory.bindMemory(
            to: AffinePoint<Curve>.self, capacity: Self.pointCount)
        unsafe self.points = unsafe UnsafePointer(points)
        let scratch = SharedInversion<Curve.Field>.Scratch(
            capacity: Self.windows * Self.windowPoints / 2)
        unsafe Self.fillFirst(points, point, scratch)
        var known = 1
        while known < Self.windowPoints {
            unsafe Self.fillNext(points, known, scratch)
            known *= 2
        }
        guard doublings > 0 else { return }
        for index in 0..<Self.pointCount {
            let (x, y) = unsafe (points[index].x, points[index].y)
            unsafe points[index] = AffinePoint(
                x: (0..<doublings).reduce(x) { value, _ in value.doubled() },
                y: (0..<doublings).reduce(y) { value, _ in value.doubled() })
        }
    }

    /// Returns nil unless the octets, `04 ‖ x ‖ y`, are a point on the curve.
    package convenience init?(
        uncompressed octets: Span<UInt8>, coordinateDoublings doublings: Int = 0
    ) {
        guard let point = AffinePoint<Curve>(uncompressed: octets) else { return nil }
        self.init(point, coordinateDoublings: doublings)
    }

    deinit { unsafe points.deallocate() }

    /// The first point of each window, and the carry's: 256ʷ·P by doublings. No double is at
    /// infinity, because the order is odd.
    private static func fillFirst(
        _ points: UnsafeMutablePointer<AffinePoint<Curve>>, _ point: AffinePoint<Curve>,
        _ scratch: SharedInversion<Curve.Field>.Scratch
    ) {
        var inversion = SharedInversion<Curve.Field>(scratch)
        var sums = [JacobianPoint<Curve>(point)]
        inversion.append(sums[0].zzz)
        for window in 1...windows {
            let next = (0..<8).reduce(sums[window - 1]) { sum, _ in sum.doubled() }
            sums.append(next)
            inversion.append(next.zzz)
        }
        inversion.invert()
        for window in (0...windows).reversed() {
            let (sum, inverse) = (sums[window], inversion.takeLast())
            // 1 / ZZ = ZZ² / ZZ³ = (ZZ / ZZZ)².
            unsafe points[window * windowPoints] = AffinePoint(
                x: sum.x * (sum.zz * inverse).squared(), y: sum.y * inverse)
        }
    }

    /// Doubles the number of points known of each window: the sums of the last known one with all
    /// known ones. The last of these sums is a double. Two different multiples up to 64 of a point
    /// are not opposite, because the order is larger.
    private static func fillNext(
        _ points: UnsafeMutablePointer<AffinePoint<Curve>>, _ known: Int,
        _ scratch: SharedInversion<Curve.Field>.Scratch
    ) {
        var inversion = SharedInversion<Curve.Field>(scratch)
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
