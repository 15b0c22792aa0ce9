import AssayBytes
import AssayIO
import AssayTelemetry

/// Exports spans by OTLP over HTTP: a chunk is a request. One thread uses it, which waits for the
/// collector.
final class SpanExporter: RecordSink {
    private let transport: any SpanTransport
    /// What is around the spans of a request.
    private let around: (start: [UInt8], end: [UInt8])

    /// Time for a request, in milliseconds. A collector beside the server needs a few; spans wait
    /// meanwhile, and answers do not.
    private static let timeoutMilliseconds: UInt64 = 5_000

    /// - Parameter version: the server's.
    init(_ transport: any SpanTransport, version: String) {
        self.transport = transport
        var resource = JSONWriter(escaping: .unprintable)
        resource.object { object in
            object.array("attributes") { list in
                list.attribute("service.name", "assay")
                list.attribute("service.version", version)
            }
        }
        var scope = JSONWriter(escaping: .unprintable)
        scope.object { $0.member("name", "assay") }
        around.start =
            Array(#"{"resourceSpans":[{"resource":"#.utf8) + resource.text
            + Array(#","scopeSpans":[{"scope":"#.utf8) + scope.text + Array(#","spans":["#.utf8)
        around.end = Array("]}]}]}".utf8)
    }

    deinit { transport.close() }

    func open() {}
    func prepare() {}

    /// - Parameter start: 0, because a chunk is taken whole or not at all.
    func write(_ bytes: [UInt8], from start: Int) throws(LoopError) -> Int {
        let reason = Locked<String?>(nil)
        let done = try Semaphore()
        let body = around.start + bytes[start...] + around.end
        transport.post(body, timeout: Self.timeoutMilliseconds) { problem in
            reason.withLock { $0 = problem }
            done.signal()
        }
        done.wait()
        if let reason = reason.withLock({ $0 }) { throw .other(reason) }
        return bytes.count - start
    }
}
