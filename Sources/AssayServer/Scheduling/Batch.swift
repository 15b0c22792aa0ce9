import Assay
import AssayIO
import AssayModels
import AssayWire

/// The requests of all connections that wait for a worker, in arrival order.
///
/// A batch is the work that gathers while the workers are busy. At the end of each turn of the
/// loop it is divided among the idle workers, so that batches grow with the load and a single
/// request starts at once. A few requests with known chains are verified on the loop's thread,
/// because waking a worker takes longer. With one processor, all single-signature requests are
/// verified there, because the loop and a worker would compete for it. The loop's thread never
/// validates an unknown chain: that takes milliseconds, and is deferred.
///
/// Requests with `mayWait` (patient requests) go after the others, except for a small share of
/// the places.
struct Batch {
    private let workerCount: Int
    var requestsPerSlice: Int
    private let hasOneProcessor: Bool
    private var waiting = RequestQueue()
    /// Requests that are verified on the loop's thread when there is one processor.
    private var short = RequestQueue()
    /// Requests with `mayWait`.
    private var patient = RequestQueue()
    /// Credit that patient requests earn while others go first.
    private var patientCredit = 0
    private var idleWorkers: Int
    /// The work that is running on workers.
    private var running = WorkLoad()

    /// A smaller slice is not worth waking a second worker. Vector instructions verify as many
    /// signatures in the time of one.
    private static let smallestSharedSlice = 8

    /// As many requests take longer than waking a worker, and keep the loop from reading.
    private static let handedOver = 4

    /// One of this many requests taken is a patient one.
    private static let patientShare = 16

    init(workers: Int, requestsPerSlice: Int, hasOneProcessor: Bool = false) {
        self.hasOneProcessor = hasOneProcessor
        workerCount = workers
        idleWorkers = workers
        self.requestsPerSlice = requestsPerSlice
    }

    /// Requests that wait for verification.
    var waitingCount: Int { waiting.count + short.count + patient.count }

    /// Waiting requests that others wait behind: all but the patient ones.
    var promptCount: Int { waiting.count + short.count }

    /// Requests that wait for the loop's own thread.
    var shortCount: Int { short.count }

    /// Nanoseconds of work before a request that arrives now without `mayWait`, on one worker.
    func nanoseconds(by delay: QueueDelay) -> Double {
        delay.nanoseconds(of: running) + delay.nanoseconds(of: waiting.load)
            + delay.nanoseconds(of: short.load)
    }

    var hasRunning: Bool { idleWorkers < workerCount }

    /// Whether a request that arrives now would be in the first slice of an idle worker.
    var startsAtOnce: Bool {
        hasOneProcessor && !hasRunning && waiting.isEmpty && short.count < requestsPerSlice
            || waiting.count < idleWorkers * requestsPerSlice && short.isEmpty
    }

    /// Whether another request would wait for more than the next slice of each worker.
    var isLong: Bool { waitingCount > 2 * workerCount * requestsPerSlice }

    mutating func add(_ request: AcceptedRequest) {
        if request.mayWait {
            patient.append(request)
        } else if hasOneProcessor, request.isSingleSignature {
            short.append(request)
        } else {
            waiting.append(request)
        }
    }

    /// Adds requests that have already waited elsewhere, in front.
    mutating func addFirst(_ requests: [AcceptedRequest]) {
        waiting.prepend(requests.filter { !$0.mayWait })
        patient.prepend(requests.filter(\.mayWait))
    }

    /// Whether a full slice waits for the loop's thread.
    var hasFullShortSlice: Bool { short.count >= requestsPerSlice }

    /// Takes the next slice for the loop's thread: evidence that was just read is still in the
    /// processor's cache.
    mutating func takeShort() -> [AcceptedRequest] {
        let slice = short.take(requestsPerSlice)
        if !patient.isEmpty { patientCredit += slice.count }
        return slice
    }

    /// Takes the requests that are cheaper to verify here than to hand over, at the end of a
    /// turn.
    mutating func takeInPlace() -> [AcceptedRequest] {
        guard !hasOneProcessor, waiting.count < Self.handedOver, patient.isEmpty,
            !hasRunning, waiting.allSatisfy(\.hasKnownChain)
        else { return [] }
        return waiting.take(waiting.count)
    }

    var isEmpty: Bool { waitingCount == 0 && idleWorkers == workerCount }

    /// Records that a worker has finished its slice.
    mutating func workerFinished(_ slice: WorkLoad) {
        idleWorkers += 1
        running.remove(slice)
        precondition(idleWorkers <= workerCount)
    }

    /// Removes and returns the requests for which `isOver` holds.
    mutating func removeAll(where isOver: (AcceptedRequest) -> Bool) -> [AcceptedRequest] {
        waiting.removeAll(where: isOver) + short.removeAll(where: isOver)
            + patient.removeAll(where: isOver)
    }

    /// Divides the waiting requests into equal slices for the idle workers. Requests for which
    /// `isOver` holds are removed and returned separately.
    mutating func slices(
        by delay: QueueDelay, without isOver: (AcceptedRequest) -> Bool
    ) -> (slices: [[AcceptedRequest]], over: [AcceptedRequest]) {
        var (slices, over): ([[AcceptedRequest]], [AcceptedRequest]) = ([], [])
        guard idleWorkers > 0 else { return (slices, over) }
        let share = (waiting.count + patientPlaces + idleWorkers - 1) / idleWorkers
        let size = min(max(share, Self.smallestSharedSlice), requestsPerSlice)
        while idleWorkers > 0 {
            var slice: [AcceptedRequest] = []
            var time = 0.0
            while slice.count < size, time < Self.sliceNanoseconds, let request = next() {
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
            idleWorkers -= 1
        }
        return (slices, over)
    }

    /// Limits the work of a slice, so that other requests do not wait for long ones in the same
    /// slice. A full slice of tokens or notifications takes less.
    private static let sliceNanoseconds = 10_000_000.0

    /// The number of patient requests that can be taken now: all if nothing else waits.
    private var patientPlaces: Int {
        guard !patient.isEmpty else { return 0 }
        return promptCount == 0
            ? patient.count : min(patientCredit / Self.patientShare, patient.count)
    }

    private mutating func next() -> AcceptedRequest? {
        if patientPlaces > 0, promptCount == 0 || patientCredit >= Self.patientShare {
            patientCredit = max(patientCredit - Self.patientShare, 0)
            return patient.take()
        }
        guard let request = waiting.take() else { return nil }
        if !patient.isEmpty { patientCredit += 1 }
        return request
    }
}

/// Requests in arrival order, with their load.
struct RequestQueue {
    private var requests: [AcceptedRequest?] = []
    /// Index of the first request that was not taken.
    private var head = 0
    private(set) var load = WorkLoad()

    var count: Int { requests.count - head }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ request: AcceptedRequest) {
        requests.append(request)
        load.add(request.work)
    }

    mutating func prepend(_ first: [AcceptedRequest]) {
        guard !first.isEmpty else { return }
        requests.replaceSubrange(..<head, with: first)
        head = 0
        for request in first { load.add(request.work) }
    }

    mutating func take() -> AcceptedRequest? {
        guard head < requests.count, let request = requests[head].take() else { return nil }
        head += 1
        load.remove(request.work)
        trim()
        return request
    }

    mutating func take(_ most: Int) -> [AcceptedRequest] {
        var taken: [AcceptedRequest] = []
        taken.reserveCapacity(min(most, count))
        while taken.count < most, let request = take() { taken.append(request) }
        return taken
    }

    func allSatisfy(_ predicate: (AcceptedRequest) -> Bool) -> Bool {
        for index in head..<requests.count where !predicate(requests[index]!) { return false }
        return true
    }

    mutating func removeAll(where isOver: (AcceptedRequest) -> Bool) -> [AcceptedRequest] {
        guard !allSatisfy({ !isOver($0) }) else { return [] }
        var (kept, over): ([AcceptedRequest?], [AcceptedRequest]) = ([], [])
        for index in head..<requests.count {
            let request = requests[index]!
            if isOver(request) { over.append(request) } else { kept.append(request) }
        }
        (requests, head) = (kept, 0)
        for request in over { load.remove(request.work) }
        return over
    }

    /// Moves each request once on average, even if the queue is never empty.
    private mutating func trim() {
        if head == requests.count {
            requests.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 1024, 2 * head >= requests.count {
            requests.removeFirst(head)
            head = 0
        }
    }
}
