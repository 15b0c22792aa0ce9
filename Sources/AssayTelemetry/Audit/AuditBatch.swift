import AssayBytes
import AssayModels
import AssayWire

/// The lines of one worker until it hands them over. Belongs to the loop's thread.
final class AuditBatch {
    let log: AuditLog
    private var buffer: RecordBuffer
    /// The second of the last line, which is mostly that of the next one, in seconds since 1970;
    /// and its text up to the point.
    private var second: (number: Int64, text: [UInt8])?

    init(_ log: AuditLog) {
        self.log = log
        buffer = RecordBuffer(for: log)
    }

    /// Adds a line, with its place: the number of a connection, if it is known, the request's, and
    /// the trace to which it belongs. Of what a client says about a trace, the line has the id.
    func add(
        _ line: AuditLine, connection: UInt64?, request: UInt64, _ trace: TraceContext?
    ) {
        var text = buffer.begin()
        text.append("{\"time\":\"")
        append(line.time, to: &text)
        if let connection {
            text.append("\",\"connection\":")
            text.append(connection)
            text.append(",\"request\":")
        } else {
            text.append("\",\"request\":")
        }
        text.append(request)
        if let trace {
            text.append(",\"trace\":\"")
            text += trace.traceId.utf8
            text.append("\"")
        }
        text.append(",")
        // The members without their brace.
        line.json.span.extracting(1..<line.json.count).copy(to: &text, at: text.count)
        text.append("\n")
        buffer.end(text)
    }

    /// Hands the lines over.
    func flush() { buffer.flush() }

    /// Appends a time of RFC 3339 with milliseconds.
    private func append(_ time: Timestamp, to text: inout [UInt8]) {
        let (number, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 1000)
        // No clock of a server shows a time before 1970.
        guard rest >= 0 else { return text.append(contentsOf: time.rfc3339Milliseconds.utf8) }
        if second?.number != number {
            second = (number, Array(time.rfc3339Milliseconds.utf8.dropLast(4)))
        }
        if let second { text += second.text }
        text.append(UInt8(ascii: "0") + UInt8(rest / 100))
        text.append(UInt8(ascii: "0") + UInt8(rest / 10 % 10))
        text.append(UInt8(ascii: "0") + UInt8(rest % 10))
        text.append(UInt8(ascii: "Z"))
    }
}

extension [UInt8] {
    @inline(__always)
    fileprivate mutating func append(_ text: StaticString) { text.bytes.copy(to: &self, at: count) }

    fileprivate mutating func append(_ number: UInt64) {
        let text = String(number)
        text.utf8Span.span.copy(to: &self, at: count)
    }
}
