import AssayMint
import RealModule

/// When the requests of an open loop are due, whatever has become of those before. Nanoseconds.
struct Schedule {
    private let gap: Double
    private let arrivals: Arrivals
    private let start: UInt64
    /// Nanoseconds after the start: as a Double it would lose some, were it a time since boot.
    private var due: Double
    private var random: SplitMix64

    /// Part `index` of `count` schedules that together have the rate: those of constant gaps lie
    /// between each other, those of independent clients are independent.
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

    /// The next request's time.
    var next: UInt64 { start + UInt64(due) }

    mutating func advance() {
        switch arrivals {
        case .constant: due += gap
        // The inverse of the exponential distribution; the argument is never 0.
        case .poisson: due -= gap * Double.log(1 - random.unit())
        }
    }
}
