import Assay
import AssayIO
import AssayModels
import AssayWire

/// The requests that wait for a worker, of all connections, in the order they came.
///
/// A batch is what gathered while the workers were busy: it is dealt out to those that are idle at
/// the end of each turn of the loop, so that it grows with the load by itself, and a request that
/// comes alone goes at once. A few quick ones are verified on the loop's thread, for which a
/// worker's wakeup would take longer; and all short ones where the process has one processor, which
/// loop and worker would only take from each other. Never a chain that was not seen before, which
/// takes milliseconds and is put aside.
///
/// Requests that may wait go after the others, but for a small share of the places.
struct Batch {
    private let piecesMost: Int
    private let requestsPerSlice: Int
    private let hasOneProcessor: Bool
    private var waiting = RequestQueue()
    /// Those that are verified on the loop's thread where there is one processor.
    private var short = RequestQueue()
    /// Those that may wait.
    private var patient = RequestQueue()
    /// Places that requests which may wait have earned by waiting behind others.
    private var patientCredit = 0
    private var idleWorkers: Int
    /// What workers have and have not given back.
    private var running = WorkLoad()

    /// A slice below this many is not worth a second worker's wakeup.
    private static let smallestSharedSlice = 4

    /// Of so many requests that are taken, one is of those that may wait.
    private static let patientShare = 16

    init(workers: Int, requestsPerSlice: Int, hasOneProcessor: Bool = false) {
        self.hasOneProcessor = hasOneProcessor
        piecesMost = workers
        idleWorkers = workers
        self.requestsPerSlice = requestsPerSlice
    }

    /// Requests that wait for their verification.
    var waitingCount: Int { waiting.count + short.count + patient.count }

    /// Those of them that others wait behind.
    var promptCount: Int { waiting.count + short.count }

    /// Those that wait for the loop's own thread.
    var shortCount: Int { short.count }

    /// The work before a request that comes now and does not wait for others, of one worker.
    func nanoseconds(by delay: QueueDelay) -> Double {
        delay.nanoseconds(of: running) + delay.nanoseconds(of: waiting.load)
            + delay.nanoseconds(of: short.load)
    }

    var hasRunning: Bool { idleWorkers < piecesMost }

    /// Whether a request that comes now would be in the first slice of a worker that has nothing
    /// else to do.
    var startsAtOnce: Bool {
        hasOneProcessor && !hasRunning && waiting.isEmpty && short.count < requestsPerSlice
            || waiting.count < idleWorkers * requestsPerSlice && short.isEmpty
    }

    /// Whether a further request would wait for more than the next slice of each worker.
    var isLong: Bool { waitingCount > 2 * piecesMost * requestsPerSlice }

    mutating func add(_ request: AcceptedRequest) {
        if request.mayWait {
            patient.append(request)
        } else if hasOneProcessor, request.isSingleSignature {
            short.append(request)
        } else {
            waiting.append(request)
        }
    }

    /// Requests that have waited elsewhere go first.
    mutating func addFirst(_ requests: [AcceptedRequest]) {
        waiting.prepend(requests.filter { !$0.mayWait })
        patient.prepend(requests.filter(\.mayWait))
    }

    /// Whether there is a full slice of those that are verified on the loop's thread.
    var hasFullShortSlice: Bool { short.count >= requestsPerSlice }

    /// The next slice of those that are verified on the loop's thread: of requests whose evidence
    /// was just read, it is still in the processor's cache.
    mutating func takeShort() -> [AcceptedRequest] {
        let slice = short.take(requestsPerSlice)
        if !patient.isEmpty { patientCredit += slice.count }
        return slice
    }

    /// At the end of a turn: the requests that are better verified where they are than handed over.
    mutating func takeInPlace() -> [AcceptedRequest] {
        guard !hasOneProcessor, waiting.count < Self.smallestSharedSlice, patient.isEmpty,
            !hasRunning, waiting.allSatisfy(\.hasKnownChain)
        else { return [] }
        return waiting.take(waiting.count)
    }

    var isEmpty: Bool { waitingCount == 0 && idleWorkers == piecesMost }

    /// A worker has finished its slice.
    mutating func workerFinished(_ slice: WorkLoad) {
        idleWorkers += 1
        running.remove(slice)
        precondition(idleWorkers <= piecesMost)
    }

    /// Takes the requests out that nobody waits for any more.
    mutating func removeAll(where isOver: (AcceptedRequest) -> Bool) -> [AcceptedRequest] {
        waiting.removeAll(where: isOver) + short.removeAll(where: isOver)
            + patient.removeAll(where: isOver)
    }

    /// Pieces for the idle workers, an equal share for each; without requests that are over,
    /// which are taken out too.
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
            while slice.count < size, time < Self.pieceNanoseconds, let request = next() {
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

    /// Requests with long work are not put into one slice with others that would wait for them:
    /// a full slice of tokens or notifications takes less.
    private static let pieceNanoseconds = 10_000_000.0

    /// How many that may wait can be taken now: all where nothing else waits.
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

/// Requests in the order they came, and what they cost.
struct RequestQueue {
    private var requests: [AcceptedRequest?] = []
    /// Those before it have been taken.
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

    /// Each request is moved once on average, also in a queue that is never empty.
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
