/// Adds up many lists of affine points at once.
///
/// Each pass adds the points of every list in pairs, with affine formulas and one inversion
/// shared by all pairs: six multiplications a sum, three of which are the shared inversion's.
/// Where a pass has too few pairs to pay for its inversion, the remaining points of each list are
/// added one by one in extended Jacobian coordinates, at ten multiplications.
///
/// The affine formula knows no sum of a point with itself or its opposite. Such a list gets no
/// sum; the caller has to find it by other means.
///
/// Final, and not a base class: of a generic class's method that subclasses override, the compiler
/// makes no code for one curve.
@safe final class SumTrees<Curve: PrimeCurve> {
    typealias Point = AffinePoint<Curve>

    /// The sum of a list.
    struct Sum {
        /// Where ZZ is zero there is no sum.
        var x: Curve.Field
        var zz: Curve.Field
    }

    /// Adds pairs by other instructions than the field's; nil for the field's own.
    let vectors: (any PairSums<Curve>)?
    /// Pairs that pay for an inversion: it costs about as much as 120 multiplications, and an
    /// affine sum saves four.
    private var leastPairs: Int { vectors?.leastPairs ?? 32 }
    /// The generator's table, in the form that the points of all tables have.
    var generatorTable: FixedBaseTable<Curve> { vectors?.generatorTable ?? Curve.generatorTable }

    let capacity: Int
    /// The most points of a list.
    let listCapacity: Int
    /// List `list` begins at `list * listCapacity`.
    let points: UnsafeMutablePointer<Point>
    let counts: UnsafeMutablePointer<Int>
    private let isUndecided: UnsafeMutablePointer<Bool>
    /// The differences of a pass, from the first use on.
    private lazy var scratch =
        SharedInversion<Curve.Field>.Scratch(capacity: capacity * listCapacity / 2)

    /// Makes what adds pairs of points. Its parameters are the numbers of lists, and of points in a
    /// list, at most.
    typealias PairSumsMaker = (_ capacity: Int, _ listCapacity: Int) -> any PairSums<Curve>

    /// - Parameter pairSums: Makes what adds pairs, whose form the points of all tables have; nil
    ///   for the field's own instructions.
    init(capacity: Int, listCapacity: Int, pairSums: PairSumsMaker? = nil) {
        vectors = pairSums?(capacity, listCapacity)
        self.capacity = capacity
        self.listCapacity = listCapacity
        unsafe points = .allocate(capacity: capacity * listCapacity)
        unsafe counts = .allocate(capacity: capacity)
        unsafe isUndecided = .allocate(capacity: capacity)
    }

    deinit {
        unsafe points.deallocate()
        unsafe counts.deallocate()
        unsafe isUndecided.deallocate()
    }

    /// Empties list `list`.
    func begin(_ list: Int) {
        unsafe counts[list] = 0
        unsafe isUndecided[list] = false
    }

    /// Digits, and the table from which they take their points.
    typealias Terms = (digits: UnsafePointer<Int16>, table: FixedBaseTable<Curve>)

    /// Appends to list `list` the points whose sum is the scalar of the digits times the table's
    /// point.
    ///
    /// - Parameter later: What a later call appends. Its points are brought into the cache, one
    ///   for each that is copied: tables are larger than the first level, and together than the
    ///   second, and a processor drops fetches beyond some twenty.
    @inline(__always)
    func append(_ list: Int, _ terms: Terms, fetching later: Terms) {
        let target = unsafe points + list &* listCapacity
        var count = unsafe counts[list]
        var window = unsafe terms.table.points - 1
        var laterWindow = unsafe later.table.points - 1
        let (windows, windowPoints) = unsafe (terms.table.windows, terms.table.windowPoints)
        for index in 0..<windows {
            unsafe Curve.fetch(laterWindow + Int(later.digits[index].magnitude))
            let digit = unsafe Int(terms.digits[index])
            if digit > 0 {
                unsafe target[count] = window[digit]
                count &+= 1
            } else if digit < 0 {
                unsafe target[count] = -window[0 &- digit]
                count &+= 1
            }
            unsafe window += windowPoints
            unsafe laterWindow += windowPoints
        }
        unsafe counts[list] = count
    }

    /// Adds up the first `count` lists.
    func add(_ count: Int) {
        while pairs(count) >= leastPairs {
            if let vectors { vectors.addPairs(count, of: self) } else { addPairs(count) }
            for list in 0..<count { endPass(list) }
        }
        if let vectors {
            for list in 0..<count {
                let points = unsafe self.points + list &* listCapacity
                for index in 0..<(unsafe counts[list]) {
                    unsafe points[index] = vectors.inField(points[index])
                }
            }
        }
    }

    func sum(_ list: Int) -> Sum {
        let count = unsafe counts[list]
        let list = unsafe (points: points + list * listCapacity, isUndecided: isUndecided[list])
        guard count > 0, unsafe !list.isUndecided else { return Sum(x: .zero, zz: .zero) }
        var sum = unsafe ExtendedJacobianPoint(list.points[0])
        for index in 1..<max(count, 1) { sum = unsafe sum.adding(list.points[index]) }
        return Sum(x: sum.x, zz: sum.zz)
    }

    private func pairs(_ count: Int) -> Int {
        var pairs = 0
        for list in 0..<count { unsafe pairs &+= counts[list] &>> 1 }
        return pairs
    }

    /// A list has become that of its pairs' sums, and of its last point where the count is odd.
    private func endPass(_ list: Int) {
        let (points, count) = unsafe (self.points + list &* listCapacity, counts[list])
        if count & 1 == 1 { unsafe points[count &>> 1] = points[count &- 1] }
        unsafe counts[list] = (count &+ 1) &>> 1
    }

    /// Replaces the first points of each list by the sums of its pairs.
    private func addPairs(_ count: Int) {
        var inversion = SharedInversion<Curve.Field>(scratch)
        // The inverses come back in the opposite order. The sums have to be stored from the
        // first one on, because they replace the points.
        for list in (0..<count).reversed() {
            let points = unsafe self.points + list &* listCapacity
            for pair in (0..<(unsafe counts[list] &>> 1)).reversed() {
                let difference = unsafe points[2 &* pair &+ 1].x - points[2 &* pair].x
                if difference.isZero { unsafe isUndecided[list] = true }
                inversion.append(difference.isZero ? .one : difference)
            }
        }
        inversion.invert()
        for list in 0..<count {
            let points = unsafe self.points + list &* listCapacity
            for pair in 0..<(unsafe counts[list] &>> 1) {
                let (first, second) = unsafe (points[2 &* pair], points[2 &* pair &+ 1])
                let slope = (second.y - first.y) * inversion.takeLast()
                unsafe points[pair] = first.sum(second, slope: slope)
            }
        }
    }

    /// Notes the lists that have a pair with one x.
    func noteEqualPairs(_ count: Int) {
        for list in 0..<count {
            let points = unsafe self.points + list &* listCapacity
            for pair in 0..<(unsafe counts[list] &>> 1) {
                if unsafe points[2 &* pair].x == points[2 &* pair &+ 1].x {
                    unsafe isUndecided[list] = true
                }
            }
        }
    }
}

/// Adds pairs of points by other instructions, which may want another form of the points.
protocol PairSums<Curve>: AnyObject {
    associatedtype Curve: PrimeCurve

    /// Pairs that pay for an inversion.
    var leastPairs: Int { get }
    /// The generator's table, in the form of the points.
    var generatorTable: FixedBaseTable<Curve> { get }

    /// Replaces the first points of each list by the sums of its pairs.
    func addPairs(_ count: Int, of trees: SumTrees<Curve>)

    /// A point in the field's own form.
    func inField(_ point: AffinePoint<Curve>) -> AffinePoint<Curve>
}
