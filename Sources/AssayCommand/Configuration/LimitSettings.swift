import Assay
import AssayServer
import AssayWire

/// The limits that an operator can change. The others are constants of `ServerLimits`.
struct LimitSettings {
    var server = ServerLimits()

    /// A limit: its key, its range, and the field that it sets.
    struct Limit {
        let key: String
        let range: ClosedRange<Int>
        let get: (LimitSettings) -> Int
        let set: (inout LimitSettings, Int) -> Void

        /// - Parameter unit: the number of the field's units in one unit of the key.
        init<Number: FixedWidthInteger>(
            _ key: String, _ range: ClosedRange<Int>,
            _ path: WritableKeyPath<ServerLimits, Number>, unit: Int = 1
        ) {
            (self.key, self.range) = (key, range)
            get = { Int($0.server[keyPath: path]) / unit }
            set = { $0.server[keyPath: path] = Number($1 * unit) }
        }
    }

    /// All limits, in the order of the documentation.
    static var all: [Limit] {
        [
            Limit("connections", 1...1_000_000, \.connections),
            Limit("evidence-bytes", 1 << 20...1 << 40, \.evidenceBytes),
            // The largest notification and its head must fit.
            Limit("frame-bytes", 512 << 10...FrameLimits.largestFrame, \.frameBytes),
            Limit("queue-delay-ms", 1...30_000, \.queueDelayMilliseconds),
            Limit("timeout-ms", 1...600_000, \.defaultTimeoutMilliseconds),
            Limit("longest-timeout-ms", 1...600_000, \.longestTimeoutMilliseconds),
            Limit("fetches", 1...10_000, \.fetches),
            Limit("unseen-chains-per-second", 1...100_000, \.unknownChainsPerSecond),
            Limit("idle-seconds", 1...86_400, \.idleMilliseconds, unit: 1000),
            Limit("frame-grace-seconds", 1...3600, \.frameGraceMilliseconds, unit: 1000),
            Limit("write-stall-seconds", 1...3600, \.writeStallMilliseconds, unit: 1000),
            Limit("drain-delay-seconds", drainDelay, \.drainDelayMilliseconds, unit: 1000),
            Limit("drain-seconds", 1...3600, \.drainMilliseconds, unit: 1000),
        ]
    }

    /// Seconds. An hour is more than any load balancer needs to notice.
    static let drainDelay = 0...3600

    init() {}

    /// Reads `[limits]`; notes problems in the table.
    init(_ table: ConfigurationTable?) {
        guard let table else { return }
        for limit in Self.all {
            if let number = table.int(limit.key, in: limit.range) { limit.set(&self, number) }
        }
        if server.defaultTimeoutMilliseconds > server.longestTimeoutMilliseconds {
            table.note(
                "timeout-ms", "\(server.defaultTimeoutMilliseconds) is above longest-timeout-ms",
                "write at most \(server.longestTimeoutMilliseconds), or raise longest-timeout-ms")
        }
        table.finish()
    }
}
