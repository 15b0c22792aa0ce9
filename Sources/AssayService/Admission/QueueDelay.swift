import AssayTelemetry

/// Estimates how long a request that is accepted now will wait for its verification.
///
/// The time of each class of work is measured with every finished slice, so that receipts do not
/// distort the estimate for tokens. While requests wait, the pace is measured as well: the factor
/// by which work takes longer than its classes predict, because the loop's thread or another
/// process uses the processor. Both age: a value that is no longer measured fades within seconds. A
/// class: it is passed along with each request.
package final class QueueDelay {
    /// Nanoseconds per request of each class, on one thread.
    private var costs = WorkClass.all.map(\.leastNanoseconds)
    private var measuredAt = [UInt64](repeating: 0, count: WorkClass.count)
    private var paces = [Pace](repeating: Pace(), count: ThreadGroup.allCases.count)
    private var agedAt: UInt64 = 0

    /// A shorter window measures single slices rather than the pace.
    private static let windowNanoseconds: UInt64 = 20_000_000
    /// The weight of the latest measurement: a change shows within about a tenth of a second.
    private static let weight = 0.3
    /// An older measurement is replaced by the next one, and fades until then.
    private static let freshNanoseconds: UInt64 = 1_000_000_000
    /// A thread that was not scheduled for a while distorts the measurement, so one measurement
    /// counts as at most this multiple of the estimate.
    private static let steepest = 8.0
    /// The approximate time in which a stale value fades by half.
    private static let halfLifeSeconds = 1.0
    /// A process that gets less than a sixteenth of its processor cannot predict delays.
    private static let slowestPace = 16.0

    /// Where work is done.
    package enum ThreadGroup: Int, CaseIterable {
        /// On the loop's own thread.
        case loop
        /// On the threads for long work, which other workers use as well.
        case background
    }

    /// Elapsed time per nanosecond of work, of all threads of a group together.
    private struct Pace {
        var value = 1.0
        var measuredAt: UInt64 = 0
        var windowBegan: UInt64?
        var workOfWindow = 0.0
    }

    /// Updates the costs after a slice was finished.
    func didVerify(_ slice: WorkLoad, took elapsed: UInt64, at now: UInt64) {
        guard slice.total > 0 else { return }
        // Divides the time of a mixed slice among its classes in proportion to the estimates.
        let ratio = Double(elapsed) / max(nanoseconds(of: slice), 1)
        for index in slice.counts.indices where slice.counts[index] > 0 {
            let isNew = measuredAt[index] == 0
            let measured = costs[index] * (isNew ? ratio : min(ratio, Self.steepest))
            let isFresh =
                measuredAt[index] > 0 && now < measuredAt[index] + Self.freshNanoseconds
            costs[index] += (isFresh ? Self.weight : 1) * (measured - costs[index])
            measuredAt[index] = now
        }
    }

    /// Updates the pace of a group after a slice.
    ///
    /// - Parameters:
    ///   - isBacklogged: whether requests were waiting for the thread that finished it.
    ///   - threads: the threads of the group.
    func didFinish(
        _ slice: WorkLoad, in group: ThreadGroup = .loop, isBacklogged: Bool, threads: Int,
        at now: UInt64
    ) {
        var pace = paces[group.rawValue]
        defer { paces[group.rawValue] = pace }
        guard isBacklogged else {
            pace.windowBegan = nil
            return
        }
        guard let began = pace.windowBegan else {
            (pace.windowBegan, pace.workOfWindow) = (now, 0)
            return
        }
        pace.workOfWindow += nanoseconds(of: slice)
        guard now - began >= Self.windowNanoseconds, pace.workOfWindow > 0 else { return }
        let measured = Double(now - began) * Double(threads) / pace.workOfWindow
        pace.value += Self.weight * (min(max(measured, 1), Self.slowestPace) - pace.value)
        pace.measuredAt = now
        (pace.windowBegan, pace.workOfWindow) = (now, 0)
    }

    /// Fades stale measurements. Called several times a second.
    func age(at now: UInt64) {
        defer { agedAt = now }
        guard agedAt > 0, now > agedAt else { return }
        let kept = Self.fraction(keptAfter: Double(now - agedAt) / 1e9)
        for work in WorkClass.all where now > measuredAt[work.index] + Self.freshNanoseconds {
            let least = work.leastNanoseconds
            costs[work.index] = least + (costs[work.index] - least) * kept
        }
        for index in paces.indices where now > paces[index].measuredAt + Self.freshNanoseconds {
            paces[index].value = 1 + (paces[index].value - 1) * kept
        }
    }

    /// Approximates the power of two by a linear function: the calls are a tenth of a second apart.
    private static func fraction(keptAfter seconds: Double) -> Double {
        max(1 - seconds / (2 * halfLifeSeconds), 0)
    }

    /// The milliseconds until this much work has been started by that many threads.
    func milliseconds(
        ofNanoseconds work: Double, in group: ThreadGroup = .loop, threads: Int
    ) -> UInt64 {
        UInt64(min(work * paces[group.rawValue].value / Double(threads) / 1e6, 1e9))
    }

    /// The nanoseconds that a load takes on one thread that does nothing else.
    func nanoseconds(of load: WorkLoad) -> Double {
        // Most queues are empty when a request is admitted.
        guard load.total > 0 else { return 0 }
        var sum = 0.0
        for index in load.counts.indices { sum += Double(load.counts[index]) * costs[index] }
        return sum
    }

    func nanoseconds(of work: WorkClass) -> Double { costs[work.index] }
}
