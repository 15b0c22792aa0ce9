/// The spans of one worker until it hands them over: JSON objects with commas between them.
/// Belongs to the loop's thread.
final class SpanBatch {
    let queue: RecordQueue
    private var buffer: RecordBuffer

    init(_ queue: RecordQueue) {
        self.queue = queue
        buffer = RecordBuffer(for: queue)
    }

    func add(_ span: ServerSpan) {
        let isFirst = buffer.isEmpty
        var text = buffer.begin()
        if !isFirst { text.append(UInt8(ascii: ",")) }
        text += span.json
        buffer.end(text)
    }

    /// Hands the spans over.
    func flush() { buffer.flush() }
}
