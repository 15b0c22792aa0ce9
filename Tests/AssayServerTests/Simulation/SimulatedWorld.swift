import AssayIO
import Synchronization

/// Time and chance of a simulation. One thread runs everything that belongs to it, in an order that
/// its seed decides.
final class SimulatedWorld: Sendable {
    private let time = Atomic<UInt64>(1_000_000_000)
    private let random: Atomic<UInt64>

    init(seed: UInt64) { random = Atomic(seed) }

    /// Nanoseconds of the monotonic clock.
    var nanoseconds: UInt64 { time.load(ordering: .relaxed) }

    func pass(nanoseconds: UInt64) { time.add(nanoseconds, ordering: .relaxed) }

    func pass(milliseconds: UInt64) { pass(nanoseconds: milliseconds * 1_000_000) }

    /// The next number below `bound` (SplitMix64, by Sebastiano Vigna).
    func number(below bound: Int) -> Int {
        var z = random.wrappingAdd(0x9e37_79b9_7f4a_7c15, ordering: .relaxed).newValue
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }

    /// Whether something happens that happens once in `count` times.
    func happens(onceIn count: Int) -> Bool { number(below: count) == 0 }

    func shuffle<Element>(_ elements: [Element]) -> [Element] {
        var elements = elements
        for index in elements.indices.dropFirst() {
            elements.swapAt(index, number(below: index + 1))
        }
        return elements
    }
}

/// Runs jobs when the simulation says so, in the order in which they came.
final class SimulatedExecutor: Executor, @unchecked Sendable {
    let count: Int
    private var jobs: [@Sendable () -> Void] = []

    init(count: Int) { self.count = count }

    var isIdle: Bool { jobs.isEmpty }

    func submit(_ job: @escaping @Sendable () -> Void) { jobs.append(job) }

    /// Runs the first job. Returns false if there is none.
    @discardableResult
    func runNext() -> Bool {
        guard !jobs.isEmpty else { return false }
        jobs.removeFirst()()
        return true
    }

    func stop() { while runNext() {} }
}
