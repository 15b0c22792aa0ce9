import Testing

@testable import AssaySessions

/// What a connection's turn pays for, in nanoseconds.
@Suite("The time of a turn") struct ReadingWatchTests {
    private typealias Row = (
        name: String, steps: [(total: UInt64, apart: UInt64)], end: (total: UInt64, apart: UInt64),
        counted: UInt64
    )

    private static let rows: [Row] = [
        ("nothing was read", [], (90, 0), 0),
        ("the first step counts by its work", [(10, 0)], (90, 0), 0),
        ("the second by its time", [(10, 0), (50, 0)], (50, 0), 40),
        ("a slice that was verified is no connection's", [(10, 5), (50, 25)], (50, 25), 20),
        ("a step that only read a receipt costs nothing", [(10, 0), (50, 40)], (50, 40), 0),
        (
            "eight steps, and what follows",
            (0..<9).map { (10 + 10 * $0, $0) }, (100, 10), 90 - 10
        ),
    ]

    @Test("verified slices and receipts are apart", arguments: rows.indices)
    func counted(_ index: Int) {
        let row = Self.rows[index]
        var watch = ReadingWatch()
        var counted: UInt64 = 0
        for step in row.steps {
            counted += watch.didStep(LoopTime(total: step.total, apart: step.apart)) ?? 0
        }
        counted += watch.stop(LoopTime(total: row.end.total, apart: row.end.apart)) ?? 0
        #expect(counted == row.counted, "\(row.name)")
    }

    @Test("the clock is looked at once in eight steps, and at the end")
    func looks() {
        var (watch, looks) = (ReadingWatch(), 0)
        func look() -> LoopTime {
            looks += 1
            return LoopTime(total: 0, apart: 0)
        }
        for _ in 0..<(2 * ReadingWatch.stepsPerLook) { _ = watch.didStep(look()) }
        _ = watch.stop(look())
        #expect(looks == 1 + 2 + 1)
    }
}
