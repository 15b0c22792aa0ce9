import Assay
import AssayIO
import AssayModels
import AssayWire

/// The requests of all connections that wait for a worker. Connections take turns, so that one with
/// many requests delays the others by its share; those of one connection are in arrival order.
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

    /// Nanoseconds of work, on one worker, before the last of the requests without `mayWait`.
    func nanoseconds(by delay: QueueDelay) -> Double {
        delay.nanoseconds(of: running) + delay.nanoseconds(of: waiting.load)
            + delay.nanoseconds(of: short.load)
    }

    /// Nanoseconds of work, on one worker, before a request of a connection that arrives now
    /// without `mayWait`.
    ///
    /// - Parameter own: the request's own nanoseconds.
    func nanoseconds(
        before own: Double, of lines: RequestLines?, by delay: QueueDelay
    ) -> Double {
        delay.nanoseconds(of: running)
            + waiting.nanoseconds(before: own, of: lines?.waiting, by: delay)
            + short.nanoseconds(before: own, of: lines?.short, by: delay)
    }

    /// What a connection has in the queue.
    func share(of lines: RequestLines?) -> QueueShare {
        if waiting.isLight(lines?.waiting), short.isLight(lines?.short) { return .light }
        return lines.map { $0.waiting.isEmpty && $0.short.isEmpty } ?? true ? .none : .queued
    }

    var hasRunning: Bool { idleWorkers < workerCount }

    /// Whether a request that arrives now would be in the first slice of an idle worker.
    var startsAtOnce: Bool {
        hasOneProcessor && !hasRunning && waiting.isEmpty && short.count < requestsPerSlice
            || waiting.count < idleWorkers * requestsPerSlice && short.isEmpty
    }

    /// Whether another request would wait for more than the next slice of each worker.
    var isLong: Bool { waitingCount > 2 * workerCount * requestsPerSlice }

    mutating func add(_ request: Job, by delay: QueueDelay) {
        let lines = request.port.value.connection.inFlight.makeLines()
        if request.mayWait {
            patient.append(request, to: lines.patient, by: delay)
        } else if hasOneProcessor, request.isSingleSignature {
            short.append(request, to: lines.short, by: delay)
        } else {
            waiting.append(request, to: lines.waiting, by: delay)
        }
    }

    /// Adds requests that have already waited elsewhere, before the others of their connections.
    mutating func addFirst(_ requests: [Job], by delay: QueueDelay) {
        for request in requests.reversed() {
            let lines = request.port.value.connection.inFlight.makeLines()
            if request.mayWait {
                patient.prepend(request, to: lines.patient, by: delay)
            } else {
                waiting.prepend(request, to: lines.waiting, by: delay)
            }
        }
    }

    /// Whether a full slice waits for the loop's thread.
    var hasFullShortSlice: Bool { short.count >= requestsPerSlice }

    /// Takes the next slice for the loop's thread: evidence that was just read is still in the
    /// processor's cache.
    mutating func takeShort() -> [Job] {
        let slice = short.take(requestsPerSlice)
        if !patient.isEmpty { patientCredit += slice.count }
        return slice
    }

    /// Takes the requests that are cheaper to verify here than to hand over, at the end of a
    /// turn.
    mutating func takeInPlace() -> [Job] {
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
    mutating func removeAll(where isOver: (Job) -> Bool) -> [Job] {
        waiting.removeAll(where: isOver) + short.removeAll(where: isOver)
            + patient.removeAll(where: isOver)
    }

    /// Removes and returns the requests of a connection.
    mutating func removeAll(of lines: RequestLines) -> [Job] {
        waiting.removeAll(of: lines.waiting) + short.removeAll(of: lines.short)
            + patient.removeAll(of: lines.patient)
    }

    /// Divides the waiting requests into equal slices for the idle workers. Requests for which
    /// `isOver` holds are removed and returned separately.
    mutating func slices(
        by delay: QueueDelay, without isOver: (Job) -> Bool
    ) -> (slices: [[Job]], over: [Job]) {
        var (slices, over): ([[Job]], [Job]) = ([], [])
        guard idleWorkers > 0 else { return (slices, over) }
        let share = (waiting.count + patientPlaces + idleWorkers - 1) / idleWorkers
        let size = min(max(share, Self.smallestSharedSlice), requestsPerSlice)
        while idleWorkers > 0 {
            var slice: [Job] = []
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

    private mutating func next() -> Job? {
        if patientPlaces > 0, promptCount == 0 || patientCredit >= Self.patientShare {
            patientCredit = max(patientCredit - Self.patientShare, 0)
            return patient.take()
        }
        guard let request = waiting.take() else { return nil }
        if !patient.isEmpty { patientCredit += 1 }
        return request
    }
}
