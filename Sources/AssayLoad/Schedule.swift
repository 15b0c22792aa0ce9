import RealModule

/// When the requests of an open loop are due, whatever has become of those before. Nanoseconds.
struct Schedule {
    private let gap: Double
    private let arrivals: Arrivals
    private var due: Double
    private var random: Random

    init(rate: Double, _ arrivals: Arrivals, from start: UInt64, seed: UInt64) {
        precondition(rate > 0)
        gap = 1e9 / rate
        self.arrivals = arrivals
        random = Random(seed: seed)
        due = Double(start)
        advance()
    }

    /// The next request's time.
    var next: UInt64 { UInt64(due) }

    mutating func advance() {
        switch arrivals {
        case .constant: due += gap
        // The inverse of the exponential distribution; the argument is never 0.
        case .poisson: due -= gap * Double.log(1 - random.unit())
        }
    }
}
