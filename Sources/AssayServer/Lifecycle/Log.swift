import Assay
import AssayIO
import AssayModels

/// Receives the server's log, one JSON object per line.
public protocol LogSink: Sendable {
    /// Writes a line, which ends with a newline. Called from any thread, which waits for the
    /// call.
    func write(_ line: String)
}

/// Writes the log to standard error.
public struct StandardErrorLog: LogSink {
    public init() {}
    public func write(_ line: String) { StandardError.write(line) }
}

/// Formats log lines. A line contains nothing that a client chose: no evidence, no id, no name.
struct Log: Sendable {
    let sink: any LogSink
    let clock: @Sendable () -> Timestamp

    enum Level: String { case info, warning, error }

    enum Value {
        case text(String)
        case number(Int)
    }

    func write(
        _ level: Level, _ event: StaticString, _ fields: KeyValuePairs<StaticString, Value> = [:]
    ) {
        var line = "{\"time\":\"\(Self.time(clock()))\",\"level\":\"\(level.rawValue)\""
        line += ",\"event\":\"\(event)\""
        for (name, value) in fields {
            line += ",\"\(name)\":"
            switch value {
            case .text(let text): Self.append(text, to: &line)
            case .number(let number): line += String(number)
            }
        }
        sink.write(line + "}\n")
    }

    /// Formats a time by RFC 3339, with milliseconds.
    static func time(_ time: Timestamp) -> String {
        let civil = CivilTime(secondsSince1970: time.seconds)
        let milliseconds = Int(time.milliseconds - time.seconds * 1000)
        return "\(digits(civil.year, 4))-\(digits(civil.month, 2))-\(digits(civil.day, 2))T"
            + "\(digits(civil.hour, 2)):\(digits(civil.minute, 2)):\(digits(civil.second, 2))."
            + "\(digits(milliseconds, 3))Z"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(count - text.count, 0)) + text
    }

    private static func append(_ text: String, to line: inout String) {
        line += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": line += "\\\(scalar)"
            // Control characters, and characters that change the direction or break a line,
            // because logs are read in terminals.
            case "\u{0}"..<" ", "\u{7f}"..."\u{9f}", "\u{200e}"..."\u{200f}",
                "\u{2028}"..."\u{202e}", "\u{2066}"..."\u{2069}":
                let hex = String(scalar.value, radix: 16)
                line += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: line.unicodeScalars.append(scalar)
            }
        }
        line += "\""
    }
}

/// Logs connection faults at a bounded rate, because clients cause them: the first few of each
/// second, and the number of the others.
struct FaultLog {
    /// Enough to diagnose a problem.
    private static let linesPerSecond = 10

    private var second: UInt64 = 0
    private var count = 0

    mutating func write(_ reason: String, to log: Log, now: UInt64) {
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
    mutating func flush(to log: Log) {
        if count > Self.linesPerSecond {
            log.write(
                .warning, "connection_faults_suppressed",
                ["count": .number(count - Self.linesPerSecond)])
        }
        count = 0
    }
}
