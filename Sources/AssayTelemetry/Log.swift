package import Assay
import AssayBytes
import AssayIO
package import AssayModels

/// Receives the server's log, one JSON object per line.
public protocol LogSink: Sendable {
    /// Writes a line, which ends with a newline. Called from any thread, which waits for the
    /// call.
    func write(_ line: String)
}

/// Writes the log to standard error.
public struct StandardErrorLog: LogSink {
    /// Creates a sink of standard error.
    public init() {}

    public func write(_ line: String) { StandardError.write(line) }
}

#if ServerSide
    /// Receives the server's log as events, with their levels and fields, instead of lines.
    package protocol EventSink: LogSink {
        func write(
            _ level: Log.Level, _ event: StaticString,
            _ fields: KeyValuePairs<StaticString, Log.Value>)
    }
#endif

/// Formats log lines. A line contains nothing that a client chose: no evidence, no id, no name.
/// Only a line at debug level can quote a character and the names of members.
package struct Log: Sendable {
    package let sink: any LogSink
    package let clock: @Sendable () -> Timestamp
    /// Whether lines at debug level are written.
    package let isVerbose: Bool

    package init(
        sink: any LogSink, clock: @escaping @Sendable () -> Timestamp, isVerbose: Bool = false
    ) {
        self.sink = sink
        self.clock = clock
        self.isVerbose = isVerbose
    }

    /// The clock of the system.
    package static let systemClock: @Sendable () -> Timestamp = {
        Timestamp(milliseconds: SystemClock.wallMilliseconds)
    }

    package enum Level: String { case debug, info, warning, error }

    package enum Value {
        case text(String)
        case number(Int)
    }

    package func write(
        _ level: Level, _ event: StaticString, _ fields: KeyValuePairs<StaticString, Value> = [:]
    ) {
        guard level != .debug || isVerbose else { return }
        #if ServerSide
            if let sink = sink as? any EventSink { return sink.write(level, event, fields) }
        #endif
        // Long enough for any line but one with a long reason.
        var line = JSONWriter(escaping: .unprintable, capacity: 256)
        line.object { object in
            object.member("time", clock().rfc3339Milliseconds)
            object.member("level", level.rawValue)
            object.member("event", "\(event)")
            for (name, value) in fields {
                switch value {
                case .text(let text): object.member("\(name)", text)
                case .number(let number): object.member("\(name)", Int64(number))
                }
            }
        }
        line.endLine()
        sink.write(String(decoding: line.text, as: UTF8.self))
    }
}

extension Log {
    /// Writes that a thread has exceeded the time limit of its work, or that none does any more.
    package func writeStall(_ isStalled: Bool, limit milliseconds: UInt64) {
        write(
            isStalled ? .error : .info, isStalled ? "worker_stalled" : "worker_is_back",
            ["limit_ms": .number(Int(milliseconds))])
    }

    /// Logs that OpenSSL verifies, because the engine failed before its first answer.
    package func writeFailedSelfTest(of engine: EngineInUse) {
        write(
            .error, "signature_engine_failed",
            [
                "engine": .text(engine.chosen.rawValue),
                "reason": .text("it failed its self-test; OpenSSL verifies"),
            ])
    }
}

/// Logs connection faults at a bounded rate, because clients cause them: the first few of each
/// second, and the number of the others.
package struct FaultLog {
    /// Enough to diagnose a problem.
    private static let linesPerSecond = 10

    private var second: UInt64 = 0
    private var count = 0

    package mutating func write(_ reason: String, to log: Log, now: UInt64) {
        if now / 1000 != second {
            flush(to: log)
            second = now / 1000
        }
        count += 1
        if count <= Self.linesPerSecond {
            log.write(.warning, "connection_fault", ["reason": .text(reason)])
        }
    }

    /// Logs the number of suppressed faults.
    package mutating func flush(to log: Log) {
        if count > Self.linesPerSecond {
            log.write(
                .warning, "connection_faults_suppressed",
                ["count": .number(count - Self.linesPerSecond)])
        }
        count = 0
    }
}
