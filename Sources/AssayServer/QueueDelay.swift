/// How long a request that is accepted now will wait for a worker: what waits before it, divided
/// by the rate at which the workers have been getting through. What a worker puts aside for its
/// unseen chain counts as well: it has left the queue.
///
/// The rate is measured only while requests wait, for otherwise it is that of the arrivals.
struct QueueDelay {
    /// Requests a second, of all workers; 0: never measured.
    private var rate = 0.0
    private var windowBegan: UInt64?
    private var finished = 0

    /// A shorter time says more of single pieces than of the rate.
    private static let windowNanoseconds: UInt64 = 20_000_000
    /// The share of the latest window: a change of load shows within a tenth of a second or so.
    private static let weight = 0.3

    /// - Parameter isBacklogged: whether requests were waiting for whoever has finished these.
    mutating func didFinish(_ count: Int, isBacklogged: Bool, at now: UInt64) {
        guard isBacklogged else {
            windowBegan = nil
            return
        }
        guard let began = windowBegan else {
            (windowBegan, finished) = (now, 0)
            return
        }
        finished += count
        guard now - began >= Self.windowNanoseconds else { return }
        let measured = Double(finished) * 1e9 / Double(now - began)
        rate = rate == 0 ? measured : rate + Self.weight * (measured - rate)
        (windowBegan, finished) = (now, 0)
    }

    /// Nil until there is a rate: nothing is refused on a guess.
    func milliseconds(waiting: Int) -> UInt64? {
        guard rate > 0 else { return nil }
        return UInt64(min(Double(waiting) * 1000 / rate, 1e9))
    }
}
