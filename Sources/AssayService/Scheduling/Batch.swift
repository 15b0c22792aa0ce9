import Assay
import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// The requests of a worker's connections that wait for their verification. Connections take turns,
/// so that one with many requests delays the others by its turns alone; those of one connection are
/// in arrival order.
///
/// Short requests wait for the loop's own thread, which verifies them in slices between its reads,
/// or lends slices to idle workers. Long ones go to the background threads, so that sockets do
/// not wait for them; a slice for those is the work that gathers while they are busy. An unknown
/// chain is validated by neither: that takes milliseconds, and is deferred.
///
/// Requests with `mayWait` go after the others. While others wait, one in sixteen of the requests
/// taken has `mayWait`.
///
/// A class: a read of a property would copy all its queues.
package final class Batch {
    private let backgroundThreads: Int
    var requestsPerSlice: Int
    /// Whether all requests go to the background threads.
    private let handsOver: Bool
    /// Requests that wait for a background thread.
    private var waiting = RequestQueue()
    /// Requests that wait for the loop's thread.
    private var short = RequestQueue()
    /// Requests with `mayWait`.
    private var mayWait = RequestQueue()
    /// Credit that `mayWait` requests earn while others go first.
    private var mayWaitCredit = 0
    private var idleThreads: Int
    /// The work that is running on background threads.
    private var running = WorkLoad()
    /// Slices that other workers verify.
    private var lentSlices = 0

    /// A request that takes longer keeps sockets waiting, so a background thread takes it.
    static let quickNanoseconds = 500_000.0

    /// The work of a slice for the loop's thread. A full slice of tokens takes about as long, so
    /// that what several connections sent together is verified at once, and each has one write.
    static let loopSliceNanoseconds = 1_000_000.0

    /// A smaller slice is not worth waking a second thread. Vector instructions verify as many
    /// signatures in the time of one.
    private static let smallestSlice = 8

    /// One of this many requests taken has `mayWait`.
    private static let requestsPerMayWait = 16

    init(backgroundThreads: Int, requestsPerSlice: Int, handsOver: Bool = false) {
        self.handsOver = handsOver
        self.backgroundThreads = backgroundThreads
        idleThreads = backgroundThreads
        self.requestsPerSlice = requestsPerSlice
    }

    /// Requests that wait for verification.
    var waitingCount: Int { waiting.count + short.count + mayWait.count }

    /// Waiting requests that others wait behind: all but those with `mayWait`.
    var promptCount: Int { waiting.count + short.count }

    /// Requests that wait for the loop's own thread.
    var shortCount: Int { short.count }

    /// Requests that wait for a background thread.
    var longCount: Int { waiting.count + mayWait.count }

    /// What the loop's thread keeps for itself when it lends slices.
    package enum Keeping {
        /// A slice.
        case slice
        /// What does not fill a slice for another worker.
        case rest
        /// What is not worth waking another worker.
        case tooFew
    }

    /// The fewest waiting requests of which another worker gets a slice.
    func leastToLend(keeping kept: Keeping) -> Int {
        switch kept {
        case .slice: 2 * requestsPerLentSlice
        case .rest: requestsPerLentSlice
        case .tooFew: min(Self.smallestSlice, requestsPerLentSlice)
        }
    }

    /// Whether a slice for another worker waits, besides what the loop's thread keeps.
    func hasSpareSlice(keeping kept: Keeping, by delay: QueueDelay) -> Bool {
        short.count >= leastToLend(keeping: kept)
            || short.count > 1 && delay.nanoseconds(of: short.load) > Self.quickNanoseconds
    }

    /// Requests in a slice for another worker. Less than in one of the loop's own: the loop reads
    /// for all, and so should verify the least.
    private var requestsPerLentSlice: Int { (requestsPerSlice + 1) / 2 }

    /// Takes the next slice for another worker.
    func takeLent(by delay: QueueDelay) -> [Job] {
        takeShort(atMost: requestsPerLentSlice, by: delay)
    }

    /// Milliseconds until the last of the requests without `mayWait` is started.
    ///
    /// - Parameter parsing: nanoseconds of other work that background threads have.
    func milliseconds(by delay: QueueDelay, parsing: Double) -> UInt64 {
        milliseconds(
            short: delay.nanoseconds(of: short.load),
            long: delay.nanoseconds(of: running) + delay.nanoseconds(of: waiting.load) + parsing,
            by: delay)
    }

    /// Milliseconds until a request of a connection that arrives now without `mayWait` is started.
    ///
    /// - Parameters:
    ///   - own: the request's own nanoseconds.
    ///   - parsing: nanoseconds of other work that background threads have.
    func milliseconds(
        before own: Double, of lines: RequestLines?, from peer: Peer, by delay: QueueDelay,
        parsing: Double
    ) -> UInt64 {
        milliseconds(
            short: short.nanoseconds(
                before: own, of: lines?.short, from: peer.short, by: delay),
            long: delay.nanoseconds(of: running) + parsing
                + waiting.nanoseconds(
                    before: own, of: lines?.waiting, from: peer.waiting, by: delay),
            by: delay)
    }

    /// Milliseconds until nanoseconds of work on the loop's thread and on the background threads
    /// have been started.
    private func milliseconds(short: Double, long: Double, by delay: QueueDelay) -> UInt64 {
        delay.milliseconds(ofNanoseconds: short, in: .loop, threads: 1)
            + delay.milliseconds(ofNanoseconds: long, in: .background, threads: backgroundThreads)
    }

    /// What a connection has in the queue.
    func backlog(of lines: RequestLines?, from peer: Peer) -> FlowBacklog {
        if waiting.isLight(lines?.waiting, from: peer.waiting),
            short.isLight(lines?.short, from: peer.short)
        {
            return .light
        }
        return lines.map { $0.waiting.isEmpty && $0.short.isEmpty } ?? true ? .none : .queued
    }

    var hasRunning: Bool { idleThreads < backgroundThreads }

    /// Whether a request that arrives now would be in the next slice of its thread.
    var startsAtOnce: Bool {
        !handsOver && !hasRunning && waiting.isEmpty && short.count < requestsPerSlice
            || waiting.count < idleThreads * requestsPerSlice && short.isEmpty
    }

    /// Whether another request would wait for more than the next slice of each thread.
    var isLong: Bool { waitingCount > 2 * backgroundThreads * requestsPerSlice }

    func add(_ request: Job, by delay: QueueDelay) {
        let lines = request.flow.makeLines()
        if request.mayWait {
            mayWait.append(request, to: lines.mayWait, by: delay)
        } else if !handsOver, delay.nanoseconds(of: request.work) <= Self.quickNanoseconds {
            short.append(request, to: lines.short, by: delay)
        } else {
            waiting.append(request, to: lines.waiting, by: delay)
        }
    }

    /// Adds requests that have already waited elsewhere, before the others of their connections.
    func addFirst(_ requests: [Job], by delay: QueueDelay) {
        for request in requests.reversed() {
            let lines = request.flow.makeLines()
            if request.mayWait {
                mayWait.prepend(request, to: lines.mayWait, by: delay)
            } else {
                waiting.prepend(request, to: lines.waiting, by: delay)
            }
        }
    }

    /// Whether a full slice waits for the loop's thread.
    var hasFullShortSlice: Bool { short.count >= requestsPerSlice }

    /// Takes the next slice for the loop's thread: evidence that was just read is still in the
    /// processor's cache.
    func takeShort(by delay: QueueDelay) -> [Job] {
        takeShort(atMost: requestsPerSlice, by: delay)
    }

    private func takeShort(atMost most: Int, by delay: QueueDelay) -> [Job] {
        let slice = Self.take(from: &short, atMost: most, by: delay)
        if !mayWait.isEmpty { mayWaitCredit += slice.count }
        return slice
    }

    private static func take(
        from queue: inout RequestQueue, atMost most: Int, by delay: QueueDelay
    ) -> [Job] {
        var slice: [Job] = []
        slice.reserveCapacity(min(most, queue.count))
        var time = 0.0
        while slice.count < most, time < loopSliceNanoseconds, let request = queue.take() {
            slice.append(request)
            time += delay.nanoseconds(of: request.work)
        }
        return slice
    }

    var isEmpty: Bool {
        waitingCount == 0 && idleThreads == backgroundThreads && lentSlices == 0
    }

    /// Records that another worker verifies a slice, and then that it has.
    func didLend() { lentSlices += 1 }
    func lentSliceEnded() { lentSlices -= 1 }

    /// Records that a background thread has finished its slice.
    func threadFinished(_ slice: WorkLoad) {
        idleThreads += 1
        running.remove(slice)
        precondition(idleThreads <= backgroundThreads)
    }

    /// Removes and returns the requests for which `isOver` holds.
    func removeAll(where isOver: (Job) -> Bool) -> [Job] {
        waiting.removeAll(where: isOver) + short.removeAll(where: isOver)
            + mayWait.removeAll(where: isOver)
    }

    /// Removes and returns the requests of a connection.
    func removeAll(
        of lines: RequestLines, where isOver: (Job) -> Bool = { _ in true }
    ) -> [Job] {
        waiting.removeAll(of: lines.waiting, where: isOver)
            + short.removeAll(of: lines.short, where: isOver)
            + mayWait.removeAll(of: lines.mayWait, where: isOver)
    }

    /// Divides the waiting requests into equal slices for the idle background threads. Requests for
    /// which `isOver` holds are removed and returned separately.
    ///
    /// - Parameter most: the largest number of slices.
    func slices(
        atMost most: Int, by delay: QueueDelay, without isOver: (Job) -> Bool
    ) -> (slices: [[Job]], over: [Job]) {
        var (slices, over): ([[Job]], [Job]) = ([], [])
        guard longCount > 0, case let threads = min(idleThreads, most), threads > 0 else {
            return (slices, over)
        }
        let equal = (waiting.count + mayWaitCount + threads - 1) / threads
        let size = min(max(equal, Self.smallestSlice), requestsPerSlice)
        while slices.count < threads {
            var slice: [Job] = []
            var time = 0.0
            while slice.count < size, time < Self.longSliceNanoseconds, let request = next() {
                if isOver(request) {
                    over.append(request)
                } else {
                    slice.append(request)
                    time += delay.nanoseconds(of: request.work)
                }
            }
            guard !slice.isEmpty else { break }
            running.add(WorkLoad(slice))
            slices.append(slice)
            idleThreads -= 1
        }
        return (slices, over)
    }

    /// Limits the work of a slice for a background thread, so that other requests do not wait for
    /// long ones in the same slice. A full slice of tokens or notifications takes less.
    private static let longSliceNanoseconds = 10_000_000.0

    /// The number of `mayWait` requests that can be taken now: all if nothing else waits.
    private var mayWaitCount: Int {
        guard !mayWait.isEmpty else { return 0 }
        return promptCount == 0
            ? mayWait.count : min(mayWaitCredit / Self.requestsPerMayWait, mayWait.count)
    }

    private func next() -> Job? {
        if mayWaitCount > 0, promptCount == 0 || mayWaitCredit >= Self.requestsPerMayWait {
            mayWaitCredit = max(mayWaitCredit - Self.requestsPerMayWait, 0)
            return mayWait.take()
        }
        guard let request = waiting.take() else { return nil }
        if !mayWait.isEmpty { mayWaitCredit += 1 }
        return request
    }
}
