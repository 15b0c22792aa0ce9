import Assay
import AssayIO
import AssayServer
import AssayWire

/// The limits that an operator can change. The server fixes the others.
struct LimitSettings {
    var server = ServerLimits()

    /// Connections that the kernel queues. Of all limits, only this one needs a restart.
    var backlog = Listener.usualBacklog

    /// A limit: its key, its range, and the field that it sets.
    struct Limit {
        let key: String
        let range: ClosedRange<Int>
        let get: (LimitSettings) -> Int
        let set: (inout LimitSettings, Int) -> Void

        /// - Parameter unit: the number of the field's units in one unit of the key.
        init<Number: FixedWidthInteger>(
            _ key: String, _ range: ClosedRange<Int>,
            of path: WritableKeyPath<LimitSettings, Number>, unit: Int = 1
        ) {
            (self.key, self.range) = (key, range)
            get = { Int($0[keyPath: path]) / unit }
            set = { $0[keyPath: path] = Number($1 * unit) }
        }

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
            Limit("backlog", 1...65_535, of: \.backlog),
            Limit("requests-in-flight", 1...65_536, \.requestsInFlight),
            // The largest notification and its head must fit.
            Limit("frame-bytes", 512 << 10...FrameLimits.largestFrame, \.frameBytes),
            Limit("head-bytes", 1 << 10...256 << 10, \.headBytes),
            // The verifier refuses anything larger.
            Limit("jws-bytes", 1 << 10...Limits.jwsBytes, \.jwsBytes),
            Limit(
                "notification-bytes", 1 << 10...Limits.notificationBytes, \.notificationBytes),
            Limit(
                "server-answer-bytes", 1 << 10...Limits.serverAnswerBytes, \.serverAnswerBytes),
            Limit(
                "notification-v1-bytes", 1 << 10...Limits.notificationV1Bytes,
                \.notificationV1Bytes),
            Limit("http-json-bytes", 64 << 10...32 << 20, \.httpJSONBytes),
            Limit("connection-bytes", 256 << 10...1 << 40, \.evidenceBytesPerConnection),
            Limit("evidence-bytes", 1 << 20...1 << 40, \.evidenceBytes),
            Limit("unread-answer-bytes", 1 << 10...1 << 30, \.outputBytes),
            Limit("frames-per-turn", 1...65_536, \.framesPerTurn),
            Limit("queue-delay-ms", 1...30_000, \.queueDelayMilliseconds),
            Limit("timeout-ms", 1...600_000, \.defaultTimeoutMilliseconds),
            Limit("longest-timeout-ms", 1...600_000, \.longestTimeoutMilliseconds),
            Limit("fetches", 1...10_000, \.fetches),
            // The largest answer, which the verifier accepts.
            Limit("fetch-bytes", Limits.serverAnswerBytes...1 << 30, \.fetchBytes),
            Limit("fetch-pages", 1...1_000, \.fetchPages),
            Limit("fetch-timeout-ms", 1...600_000, \.fetchTimeoutMilliseconds),
            Limit("longest-fetch-timeout-ms", 1...600_000, \.longestFetchTimeoutMilliseconds),
            Limit("unseen-chains-per-second", 1...100_000, \.unknownChainsPerSecond),
            Limit("unseen-chains-waiting", 1...1_000_000, \.unknownChainsWaiting),
            Limit("idle-seconds", 1...86_400, \.idleMilliseconds, unit: 1000),
            Limit("frame-grace-seconds", 1...3600, \.frameGraceMilliseconds, unit: 1000),
            Limit("frame-bytes-per-second", 1...1 << 30, \.frameBytesPerSecond),
            Limit("write-stall-seconds", 1...3600, \.writeStallMilliseconds, unit: 1000),
            Limit("worker-stall-seconds", 1...3600, \.workerStallMilliseconds, unit: 1000),
            Limit("handshake-percent", 1...100, \.handshakePercent),
            Limit("handshake-seconds", 1...300, \.handshakeMilliseconds, unit: 1000),
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
        if server.fetchTimeoutMilliseconds > server.longestFetchTimeoutMilliseconds {
            table.note(
                "fetch-timeout-ms",
                "\(server.fetchTimeoutMilliseconds) is above longest-fetch-timeout-ms",
                "write at most \(server.longestFetchTimeoutMilliseconds), or raise "
                    + "longest-fetch-timeout-ms")
        }
        table.finish()
    }
}
