package import AssayIO
import AssayKeepers
package import AssayModels
import AssayService
import AssaySessions
import AssayTelemetry

/// Publishes the state of a server to other threads.
///
/// The loop's thread writes several times a second; any thread reads the last state. Neither
/// waits for the loop's work, and a stalled loop is visible by the age of its state.
public final class ServerMonitor: Sendable {
    private let content: Locked<Content>
    private let clock: @Sendable () -> UInt64

    private struct Content: Sendable {
        var state: ServerState?
        var publishedAt: UInt64 = 0
        var history = History()
    }

    /// Creates a monitor without a state.
    public convenience init() { self.init(clock: { SystemClock.monotonicNanoseconds }) }

    /// Creates a monitor without a state.
    ///
    /// - Parameter clock: nanoseconds that never step back.
    package init(clock: @escaping @Sendable () -> UInt64) {
        self.clock = clock
        content = Locked(Content())
    }

    /// - Parameter time: since when the state is known, in nanoseconds; nil for now.
    func publish(since time: UInt64? = nil, _ state: ServerState) {
        let now = clock()
        content.withLock { content in
            content.history.note(state, at: now)
            content.state = state
            content.publishedAt = min(time ?? now, now)
        }
    }

    /// The last state, its age in nanoseconds, and the history; nil before the first state.
    package var latest: (state: ServerState, age: UInt64, history: History)? {
        let now = clock()
        return content.withLock { content in
            guard let state = content.state else { return nil }
            let age = now > content.publishedAt ? now - content.publishedAt : 0
            return (state, age, content.history)
        }
    }
}

/// A snapshot of a server.
package struct ServerState: Sendable {
    package enum Phase: Sendable, Equatable {
        /// Not listening yet.
        case starting
        case serving
        case draining
        case stopped
    }

    package var phase: Phase
    package var metrics: ServerMetrics
    package var heldResources: HeldResources
    package var traffic: LoopTraffic
    package var limits: ServerLimits
    package var version: String
    package var workers: Int
    /// Client sockets at a time: the configured number, or what the descriptors allow.
    package var connectionLimit: Int
    package var endpoints: [Endpoint]
    /// The expiry of the server's certificate, in seconds since 1970.
    package var certificateEnd: Int64?
    /// App entries by name.
    package var apps: [String: AppEntry]
    /// What is known of revocation; nil where no policy uses it.
    package var revocation: RevocationReport?
    /// The lines of the audit log; nil where it is off.
    package var audit: RecordQueue.Counts?
    /// The spans of traced requests; nil where they are not exported.
    package var spans: RecordQueue.Counts?
    /// The time of the server's clock.
    package var now: Timestamp
}

/// The last minutes, one sample every few seconds.
package struct History: Sendable {
    package struct Sample: Sendable, Equatable {
        /// The duration of the sample.
        package var seconds: Double
        package var verified: Double
        package var refused: Double
        /// Milliseconds; nil if nothing was verified.
        package var median: Double?
        package var p99: Double?
        package var connections: Int
    }

    package static let seconds = 2
    /// Ten minutes of samples.
    package static let most = 300

    /// The samples, oldest first.
    package private(set) var samples: [Sample] = []
    private var last: (time: UInt64, metrics: ServerMetrics)?
    /// The counters of the last ten minutes, one state every half minute, the oldest first.
    private var marks: [(time: UInt64, metrics: ServerMetrics)] = []
    private static let markSeconds: UInt64 = 30

    /// The counters at most ten minutes ago; nil before the first sample.
    package var start: ServerMetrics? { marks.first?.metrics }

    package init() {}

    /// Adds a sample if the last one is old enough.
    mutating func note(_ state: ServerState, at now: UInt64) {
        guard let last else {
            self.last = (now, state.metrics)
            marks = [(now, state.metrics)]
            return
        }
        guard now >= last.time + UInt64(Self.seconds) * 1_000_000_000 else { return }
        let elapsed = Double(now - last.time) / 1e9
        let handling = state.metrics.handling.since(last.metrics.handling)
        if samples.count == Self.most { samples.removeFirst() }
        samples.append(
            Sample(
                seconds: elapsed, verified: Double(handling.count) / elapsed,
                refused: Double(state.metrics.refused &- last.metrics.refused) / elapsed,
                median: handling.quantile(0.5).map { $0 / 1e6 },
                p99: handling.quantile(0.99).map { $0 / 1e6 },
                connections: state.heldResources.connections))
        self.last = (now, state.metrics)
        mark(state.metrics, at: now)
    }

    private mutating func mark(_ metrics: ServerMetrics, at now: UInt64) {
        let window = UInt64(Self.seconds * Self.most) * 1_000_000_000
        while marks.count > 1, now >= marks[0].time + window { marks.removeFirst() }
        guard let newest = marks.last, now < newest.time + Self.markSeconds * 1_000_000_000 else {
            return marks.append((now, metrics))
        }
    }
}
