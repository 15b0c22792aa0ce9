package import AssayWire

/// A request to the server.
package struct ClientRequest: Sendable {
    package var call: RequestHead.Call
    package var body: [UInt8]
    package var app: String
    /// Nil for the timeout of the options.
    package var timeout: Duration?
    package var mayWait: Bool
    /// The trace to which it belongs; nil without one.
    var trace: TraceContext?

    package init(
        _ call: RequestHead.Call, body: [UInt8] = [], app: String = "",
        timeout: Duration? = nil, mayWait: Bool = false
    ) {
        self.call = call
        self.body = body
        self.app = app
        self.timeout = timeout
        self.mayWait = mayWait
    }

    /// Whether the time of its answer shows how long requests queue at the server. A Fetch waits
    /// for the App Store, and a request that may wait is served after others.
    var measuresQueue: Bool {
        switch call {
        case .verify, .resolve: !mayWait
        case .fetch, .health, .info, .ping, .unknown: false
        }
    }
}

/// An answer with status OK.
package struct ClientAnswer: Sendable {
    package let result: ResponseHead.CallResult
    package let body: [UInt8]
}

package typealias ClientResult = Result<ClientAnswer, ClientError>

/// One request and the completion that waits for its answer. Only the loop's thread uses it.
final class PendingCall {
    let id: UInt64
    private(set) var request: ClientRequest
    /// The loop time in milliseconds at which it began to wait for its turn.
    var queued: UInt64
    /// The loop time in milliseconds at which it was sent.
    var sent: UInt64 = 0
    /// Loop time in milliseconds.
    let deadline: UInt64
    /// Whether the request can be sent once more.
    var canRetry: Bool
    private var completion: ((ClientResult) -> Void)?

    init(
        id: UInt64, request: ClientRequest, start: UInt64, deadline: UInt64, canRetry: Bool,
        completion: @escaping (ClientResult) -> Void
    ) {
        self.id = id
        self.request = request
        queued = start
        self.deadline = deadline
        self.canRetry = canRetry
        self.completion = completion
    }

    /// Whether the call has ended. If it was sent, the server still has to answer it.
    var isAbandoned: Bool { completion == nil }

    /// Ends the call with a result. Further calls have no effect.
    func end(_ result: ClientResult) {
        guard let completion else { return }
        self.completion = nil
        request.body = []
        completion(result)
    }

    /// The time at which a sent call ends here without an answer.
    var lastMoment: UInt64 { deadline + ClientLimits.deadlineGrace }
    /// The time at which a missing answer means that the connection is dead.
    var overdueMoment: UInt64 { lastMoment + ClientLimits.overdue }
}

/// The queue of calls that are not on a connection, first in, first out.
struct CallQueue {
    private var byId: [UInt64: PendingCall] = [:]
    /// The ids in order. Ids of removed calls stay until their turn.
    private var order: [UInt64] = []
    private var head = 0

    var count: Int { byId.count }
    var isEmpty: Bool { byId.isEmpty }
    var calls: some Sequence<PendingCall> { byId.values }

    mutating func append(_ call: PendingCall, at now: UInt64) {
        call.queued = now
        byId[call.id] = call
        order.append(call.id)
    }

    /// Puts calls that already left the queue in front.
    mutating func prepend(_ calls: [PendingCall], at now: UInt64) {
        order.replaceSubrange(..<head, with: calls.map(\.id))
        head = 0
        for call in calls {
            call.queued = now
            byId[call.id] = call
        }
    }

    mutating func popFirst() -> PendingCall? {
        while head < order.count {
            let id = order[head]
            head += 1
            trim()
            if let call = byId.removeValue(forKey: id) { return call }
        }
        return nil
    }

    mutating func remove(_ id: UInt64) -> PendingCall? {
        let call = byId.removeValue(forKey: id)
        if byId.isEmpty { (order, head) = ([], 0) }
        return call
    }

    mutating func removeAll() -> [PendingCall] {
        defer { self = CallQueue() }
        return byId.values.sorted { $0.id < $1.id }
    }

    /// Drops used ids once these are half of the array, so that each id moves once on average.
    private mutating func trim() {
        guard head == order.count || head >= 1024 && head * 2 >= order.count else { return }
        order.removeFirst(head)
        head = 0
    }
}
