import AssayTelemetry

/// The requests of one connection that wait for verification: its lines in the queues of the batch.
/// The flow owns them, so that a request is queued and taken without a lookup.
package final class RequestLines {
    let waiting: RequestQueue.Line
    let short: RequestQueue.Line
    let mayWait: RequestQueue.Line

    init(of peer: Peer) {
        waiting = RequestQueue.Line(of: peer.waiting)
        short = RequestQueue.Line(of: peer.short)
        mayWait = RequestQueue.Line(of: peer.mayWait)
    }

    var isEmpty: Bool { waiting.isEmpty && short.isEmpty && mayWait.isEmpty }
}

/// Requests with their load. Clients take turns, and the connections of each, by predicted
/// nanoseconds.
package struct RequestQueue {
    package typealias Peer = RoundRobinQueue<Job>.Peer
    package typealias Line = RoundRobinQueue<Job>.Line

    private var requests = RoundRobinQueue<Job>(leastQuantum: quantumNanoseconds)
    private(set) var load = WorkLoad()

    /// A few tokens of each connection in turn: the answers of one are still written together, and
    /// a turn of a hundred connections takes 10 ms on one worker.
    static let quantumNanoseconds = 100_000

    /// A bound of predictions, longer than any deadline.
    private static let longestNanoseconds = 1e12

    var count: Int { requests.count }
    var isEmpty: Bool { requests.isEmpty }

    mutating func append(_ request: Job, to line: Line, by delay: QueueDelay) {
        requests.append(request, cost: Self.cost(of: request, by: delay), to: line)
        load.add(request.work)
    }

    /// Adds a request before the others of its connection.
    mutating func prepend(_ request: Job, to line: Line, by delay: QueueDelay) {
        requests.prepend(request, cost: Self.cost(of: request, by: delay), to: line)
        load.add(request.work)
    }

    private static func cost(of request: Job, by delay: QueueDelay) -> Int {
        Int(min(delay.nanoseconds(of: request.work), longestNanoseconds))
    }

    mutating func take() -> Job? {
        guard let request = requests.take() else { return nil }
        load.remove(request.work)
        return request
    }

    mutating func removeAll(where isOver: (Job) -> Bool) -> [Job] {
        let over = requests.removeAll(where: isOver)
        for request in over { load.remove(request.work) }
        return over
    }

    /// Removes and returns the requests of a connection.
    mutating func removeAll(
        of line: Line, where isOver: (Job) -> Bool = { _ in true }
    ) -> [Job] {
        let removed = requests.removeAll(of: line, where: isOver)
        for request in removed { load.remove(request.work) }
        return removed
    }

    /// Nanoseconds of work, on one worker, before a request of a connection.
    ///
    /// - Parameter own: the request's own nanoseconds.
    func nanoseconds(
        before own: Double, of line: Line?, from peer: Peer, by delay: QueueDelay
    ) -> Double {
        guard !requests.isEmpty else { return 0 }
        // The costs were possibly measured again since the requests were queued.
        let scale = delay.nanoseconds(of: load) / Double(requests.cost)
        guard scale > 0 else { return 0 }
        let cost = Int(min(own / scale, Self.longestNanoseconds))
        return scale * Double(requests.cost(before: cost, of: line, from: peer))
    }

    /// Whether a connection has few requests in the queue, beside others with more.
    func isLight(_ line: Line?, from peer: Peer) -> Bool { requests.isLight(line, from: peer) }
}
