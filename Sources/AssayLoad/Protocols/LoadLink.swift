import AssayClient
import AssayIO
import AssayWire

/// A request of a run until it has its outcome.
struct Ticket: Sendable {
    var group: Int
    /// The index of the item in its group.
    var item: Int
    /// Nanoseconds of the monotonic clock, as the following.
    var due: UInt64
    var deadline: UInt64
    var isMeasured: Bool
}

/// One connection of a run. Only the loop's thread uses it.
protocol LoadLink: AnyObject {
    /// Connects, and checks that the server speaks the protocol.
    func open(_ done: @escaping @Sendable (ClientError?) -> Void)
    /// Sends a request at the end of the loop's turn. The loop's `take` gets its outcome, possibly
    /// before this call returns.
    func send(_ ticket: Ticket)
    /// Writes the requests of a turn.
    func flush()
    /// Ends requests past their deadline.
    func expire(at now: UInt64)
    func close()
}

/// Requests in order.
struct TicketQueue {
    private var tickets: [Ticket] = []
    private var head = 0

    var count: Int { tickets.count - head }
    var isEmpty: Bool { count == 0 }
    var first: Ticket? { isEmpty ? nil : tickets[head] }

    mutating func append(_ ticket: Ticket) { tickets.append(ticket) }

    mutating func popFirst() -> Ticket? {
        guard !isEmpty else { return nil }
        defer {
            head += 1
            // Moving the rest now and then costs less than a step each.
            if head == tickets.count || head >= 1024 {
                tickets.removeSubrange(..<head)
                head = 0
            }
        }
        return tickets[head]
    }

    /// Removes and returns all.
    mutating func takeAll() -> [Ticket] {
        defer {
            tickets = []
            head = 0
        }
        return Array(tickets[head...])
    }
}

/// A connection that speaks frames: the client library's.
///
/// `@unchecked Sendable` because only the loop's thread uses it.
final class FrameLink: LoadLink, @unchecked Sendable {
    private let channel: Channel
    private let settings: LoadSettings
    private unowned let owner: LoadLoop

    init(_ settings: LoadSettings, on loop: EventLoop, owner: LoadLoop) {
        var options = ClientOptions(
            timeout: settings.timeout, retriesOnce: false, inFlightLimit: settings.depth,
            longestWait: settings.longestWait, waitingLimit: LoadLimits.waiting, tls: settings.tls)
        options.readsEvidence = false
        channel = Channel(to: settings.endpoint, options: options, on: loop)
        self.settings = settings
        self.owner = owner
    }

    func open(_ done: @escaping @Sendable (ClientError?) -> Void) {
        channel.send(ClientRequest(.ping, timeout: .seconds(5)), id: channel.newId()) {
            if case .failure(let error) = $0 { done(error) } else { done(nil) }
        }
    }

    func send(_ ticket: Ticket) {
        let item = owner.item(of: ticket)
        let request = ClientRequest(
            item.call, body: item.evidence, app: settings.app, mayWait: settings.mayWait)
        let expected = item.expected
        // The channel ends its calls in a turn after `close`, when nobody else keeps the owner.
        channel.send(request, id: channel.newId()) { [self, owner] result in
            owner.take(CallOutcome(result, expected), of: ticket, from: self)
        }
    }

    // The channel does these itself.
    func flush() {}
    func expire(at now: UInt64) {}

    func close() { channel.close() }
}
