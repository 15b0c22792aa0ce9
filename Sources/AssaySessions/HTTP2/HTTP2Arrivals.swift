import AssayHTTP
import AssayIO

/// The events of received bytes, which a session takes one after the other.
struct HTTP2Arrivals {
    private var events: [HTTP2Event] = []
    /// The index of the next event.
    private var next = 0
    /// The bytes of the events, at the front of the connection's received bytes.
    private(set) var bytes: SlabBytes?
    /// Bytes of the heads among the events, at most.
    private(set) var headBytes = 0

    /// Events whose memory an idle connection keeps: those of several requests, in 1 KB.
    private static let eventsKept = 32

    /// The event that is taken next; nil if all were taken.
    var current: HTTP2Event? { next < events.count ? events[next] : nil }
    var isEmpty: Bool { next == events.count }

    /// Streams that end in these events.
    var closed: Set<Int32> {
        var closed: Set<Int32> = []
        for case .closed(let number, _) in events { closed.insert(number) }
        return closed
    }

    /// Receives bytes, all of whose former events were taken.
    mutating func receive(
        _ received: SlabBytes, by engine: HTTP2Connection
    ) throws(HTTP2Fault) {
        let decoded = engine.decodedBytes
        let used = try engine.receive(received.span, into: &events)
        bytes = received.extracting(0..<used)
        headBytes = engine.decodedBytes - decoded
        next = 0
    }

    /// Records that events were taken.
    mutating func didTake(_ count: Int = 1) { next += count }

    /// Puts the rest of an event in its place.
    mutating func replaceCurrent(by rest: HTTP2Event) { events[next] = rest }

    /// Whether the body of a stream ends with the event after the current one.
    func endsWithCurrent(_ number: Int32) -> Bool {
        guard next + 1 < events.count, case .end(number) = events[next + 1] else { return false }
        return true
    }

    /// Whether the rest of a request is in its next event or two.
    func isWhole(_ number: Int32) -> Bool {
        for event in events[next...].prefix(2) {
            if case .end(number) = event { return true }
        }
        return false
    }

    /// Drops the events. Returns the number of their bytes.
    mutating func removeAll() -> Int {
        let count = bytes?.count ?? 0
        bytes = nil
        headBytes = 0
        Self.empty(&events)
        next = 0
        return count
    }

    static func empty(_ events: inout [HTTP2Event]) {
        events.removeAll(keepingCapacity: events.capacity <= eventsKept)
    }
}
