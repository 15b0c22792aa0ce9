/// Measures the parts that Assay's speed is made of: `swift run -c release bench primitives`, and
/// behind it, a part of a name for only those that have it in theirs.
///
/// Figures are medians over rounds in which everything takes its turn, so that a busy machine
/// disturbs all alike: read the ratios.
@main
struct Bench {
    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first ?? "primitives" {
        case "primitives": Primitives.run(only: arguments.dropFirst().first)
        case "jws": try JWSSuite.run(only: arguments.dropFirst().first)
        case "receipts": try ReceiptSuite.run()
        case "receipt-profile": try ReceiptProfile.run(arguments.dropFirst().first)
        case let suite: print("no suite \(suite); there are: primitives, jws, receipts")
        }
    }
}

/// One thing that is measured.
struct Measurement {
    let name: String
    /// What one call of `body` does, for instance signatures of a batch.
    let unitsPerCall: Int
    let body: () -> Void
    /// Microseconds a unit, one for each round.
    private(set) var samples: [Double] = []

    init(_ name: String, units: Int = 1, _ body: @escaping () -> Void) {
        self.name = name
        unitsPerCall = units
        self.body = body
    }

    var median: Double { samples.sorted()[samples.count / 2] }
    /// From the first to the third quarter.
    var spread: Double {
        let sorted = samples.sorted()
        return sorted[sorted.count * 3 / 4] - sorted[sorted.count / 4]
    }

    /// Calls for about that long.
    mutating func sample(for duration: Duration) {
        let clock = ContinuousClock()
        let start = clock.now
        var calls = 0
        var elapsed = Duration.zero
        repeat {
            body()
            calls += 1
            elapsed = start.duration(to: clock.now)
        } while elapsed < duration
        samples.append(elapsed.microseconds / Double(calls * unitsPerCall))
    }

    static func rounds(
        _ count: Int, of duration: Duration, _ measurements: inout [Measurement]
    ) {
        for _ in 0..<count {
            for index in measurements.indices { measurements[index].sample(for: duration) }
        }
    }
}

extension Duration {
    var microseconds: Double {
        Double(components.seconds) * 1e6 + Double(components.attoseconds) / 1e12
    }
}

extension Double {
    /// With two digits behind the point.
    var short: String {
        let hundredths = Int((self * 100).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction)"
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
    func aligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
