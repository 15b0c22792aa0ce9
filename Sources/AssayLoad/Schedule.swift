import AssayHTML
import AssayMint

/// The due times of the requests of an open loop, in nanoseconds. Does not depend on answers to
/// earlier requests.
struct Schedule {
    private let gap: Double
    private let arrivals: Arrivals
    private let start: UInt64
    /// Nanoseconds since `start`: a Double holds a time since boot less precisely.
    private var due: Double
    private var random: SplitMix64

    /// Creates part `index` of `count` schedules that together have the given rate. Parts with
    /// constant gaps interleave; Poisson parts are independent.
    init(
        rate: Double, _ arrivals: Arrivals, from start: UInt64, index: Int = 0, of count: Int = 1
    ) {
        precondition(rate > 0 && (0..<count).contains(index))
        gap = 1e9 / rate * Double(count)
        self.arrivals = arrivals
        self.start = start
        random = SplitMix64(state: LoadLimits.scheduleSeed + UInt64(index))
        switch arrivals {
        case .constant: due = gap * Double(index + 1) / Double(count)
        case .poisson:
            due = 0
            advance()
        }
    }

    /// The time of the next request.
    var next: UInt64 { start + UInt64(due) }

    mutating func advance() {
        switch arrivals {
        case .constant: due += gap
        // The inverse of the exponential distribution; the argument is never 0.
        case .poisson: due -= gap * Double.log(1 - random.unit())
        }
    }
}
