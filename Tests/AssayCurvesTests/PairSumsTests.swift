import CAssayP256
import Testing

@testable import AssayCurves

/// Sums of pairs in vectors equal those in Swift.
@Suite(.enabled(if: P256PairSums.isSupported))
struct PairSumsTests {
    typealias Point = AffinePoint<P256>

    /// The field's 2⁵: from its own form to that of the vectors.
    private static let factor = P256Field(Words4(32, 0, 0, 0))

    private static func scaled(_ point: Point) -> Point {
        Point(x: point.x * factor, y: point.y * factor)
    }

    private func filled(_ lists: [[Point]]) -> SumTrees<P256> {
        let (capacity, listCapacity) = (lists.count, lists.map(\.count).max()!)
        let sums = SumTrees<P256>(
            capacity: capacity, listCapacity: listCapacity,
            pairSums: P256PairSums.init)
        for (list, points) in lists.enumerated() {
            sums.begin(list)
            unsafe sums.counts[list] = points.count
            for (index, point) in points.enumerated() {
                unsafe sums.points[list * sums.listCapacity + index] = Self.scaled(point)
            }
        }
        return sums
    }

    /// Adds lists in vectors and returns x of the sums, or nil where there is none.
    private func sums(_ lists: [[Point]]) -> [P256Field?] {
        let sums = filled(lists)
        sums.add(lists.count)
        return lists.indices.map { list in
            let sum = sums.sum(list)
            return sum.zz.isZero ? nil : sum.x * sum.zz.inverted()
        }
    }

    /// The same by the formula, point by point in pairs.
    private func expected(_ points: [Point]) -> P256Field? {
        var points = points
        while points.count > 1 {
            var next: [Point] = []
            for index in stride(from: 0, to: points.count - 1, by: 2) {
                let (a, b) = (points[index], points[index + 1])
                guard a.x != b.x else { return nil }
                next.append(Self.sum(a, b))
            }
            if points.count % 2 == 1 { next.append(points.last!) }
            points = next
        }
        return points[0].x
    }

    private static func sum(_ a: Point, _ b: Point) -> Point {
        a.sum(b, slope: (b.y - a.y) * (b.x - a.x).inverted())
    }

    private static func field(_ random: inout SeededGenerator) -> P256Field {
        P256Field(
            reducing: Words4(random.next(), random.next(), random.next(), random.next()))
    }
    /// The formula of one sum uses no equation of the curve, so its coordinates are any numbers.
    private static func anyPoint(_ random: inout SeededGenerator) -> Point {
        Point(x: field(&random), y: field(&random))
    }
    /// The sum of many is the same in any order on the curve alone.
    private static func point(_ random: inout SeededGenerator) -> Point {
        let table = P256.generatorTable
        return unsafe table.points[.random(in: 0..<table.count, using: &random)]
    }
    private static let edges = [
        P256Field.zero, .one, -.one, P256Field(Words4(0, 0, 0, 1 << 63)),
        P256Field(montgomery: Words4(1, 0, 0, 0)),
        P256Field(montgomery: P256Field.modulus.subtracting(Words4(1, 0, 0, 0)).difference),
        P256Field(montgomery: Words4(.max, .max, .max, 0xFFFF_FFFF_0000_0000)),
    ]

    /// One pass over two points a list: in each number of pairs that leaves slots without one, and
    /// with edges as coordinates of the points and of the sum. Sums are below p, word by word:
    /// equal points are found by their words.
    @Test(arguments: [1, 2, 3, 4, 5, 41]) func pairs(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        for round in 0..<60 {
            let lists = (0..<count).map { list -> [Point] in
                let edge = Self.edges[(round + list) % Self.edges.count]
                let (a, b) = (Self.anyPoint(&random), Self.anyPoint(&random))
                // Round by round another coordinate is the edge; then x and y of the sum.
                switch round % 6 {
                case 0: return [Point(x: edge, y: a.y), b]
                case 1: return [Point(x: a.x, y: edge), b]
                case 2: return [a, Point(x: edge, y: b.y)]
                case 3: return [a, Point(x: b.x, y: edge)]
                case 4: return Self.points(sumX: edge, sumY: Self.field(&random), a, b.x)
                default: return Self.points(sumX: Self.field(&random), sumY: edge, a, b.x)
                }
            }
            let sums = filled(lists)
            sums.vectors?.addPairs(count, of: sums)
            for (list, points) in lists.enumerated() {
                let expected = Self.scaled(Self.sum(points[0], points[1]))
                let sum = unsafe sums.points[list * sums.listCapacity]
                #expect(sum.x == expected.x && sum.y == expected.y)
            }
        }
    }

    /// Points with this sum in the form of the vectors, by a slope: y1 = s·(x1 − x3) − y3,
    /// x2 = s² − x1 − x3 and y2 = y1 + s·(x2 − x1).
    private static func points(
        sumX: P256Field, sumY: P256Field, _ a: Point, _ slope: P256Field
    ) -> [Point] {
        let inverse = factor.inverted()
        let (x3, y3) = (sumX * inverse, sumY * inverse)
        let y1 = slope * (a.x - x3) - y3
        let x2 = slope.squared() - a.x - x3
        return [Point(x: a.x, y: y1), Point(x: x2, y: y1 + slope * (x2 - a.x))]
    }

    /// Lists of different lengths, with an odd point that waits for the next pass.
    @Test func lists() {
        var random = SeededGenerator(seed: 61)
        for length in [1, 2, 3, 5, 13, 52] {
            let lists = (0..<9).map { list in
                (0..<max(length - list % 3, 1)).map { _ in Self.point(&random) }
            }
            #expect(sums(lists) == lists.map(expected), "\(length)")
        }
    }

    /// Points with one x have no sum, in each slot; other lists keep theirs. In a later pass, too.
    @Test func equalPoints() {
        var random = SeededGenerator(seed: 62)
        for index in 0..<23 {
            var lists = (0..<23).map { _ in (0..<8).map { _ in Self.point(&random) } }
            let twin = lists[index][2 * (index % 4)]
            lists[index][2 * (index % 4) + 1] =
                index % 2 == 0 ? twin : Point(x: twin.x, y: -twin.y)
            // Both halves of a later pair.
            let later = (index + 7) % 23
            lists[later][2...3] = lists[later][0...1]
            let expected = lists.map(expected)
            #expect(expected.filter { $0 == nil }.count == 2)
            #expect(sums(lists) == expected)
        }
    }
}
