import AssayCommandLine
import AssayModels
import AssayServer

/// `[trace]`: where spans of traced requests go; nowhere by default.
struct TraceTable {
    /// The URL of a collector of OTLP over HTTP.
    var otlp: String?

    init() {}

    /// Reads the table; notes problems in it.
    init(_ table: ConfigurationTable?) {
        guard let table else { return }
        if let text = table.string("otlp") {
            if Self.isURL(text) {
                otlp = text
            } else {
                table.note("otlp", "\"\(text)\" is not a URL of HTTP", Self.remedy)
            }
        } else if !table.has("otlp") {
            table.note("otlp", "missing", Self.remedy)
        }
        table.finish()
    }

    private static let remedy =
        "write the collector's URL, such as \"http://127.0.0.1:4318/v1/traces\""

    /// Whether a text is a URL of HTTP with a host and a path, and without a user, whose password
    /// `--check` would print.
    static func isURL(_ text: String) -> Bool {
        guard let scheme = ["http://", "https://"].first(where: { text.hasPrefix($0) }) else {
            return false
        }
        let rest = text.dropFirst(scheme.count)
        guard let slash = rest.firstIndex(of: "/") else { return false }
        let isPlain = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return isPlain && slash > rest.startIndex && !rest[..<slash].contains("@")
    }

    /// The same, with what a flag or a variable says instead.
    func sending(to url: String?) throws(Failure) -> TraceTable {
        guard let url else { return self }
        guard Self.isURL(url) else {
            throw Failure("--trace-otlp \"\(url)\" is not a URL of HTTP: " + Self.remedy)
        }
        var table = self
        table.otlp = url
        return table
    }

    /// Exports spans, by these settings: an earlier service goes on.
    ///
    /// - Returns: nil where there is no collector.
    func service(
        reusing earlier: SpanService?, _ sink: any LogSink
    ) throws(Failure) -> SpanService? {
        guard let otlp else { return nil }
        let transport = try CurlSpanTransport(otlp)
        do throws(ServerError) {
            let service = if let earlier { earlier } else { try SpanService(log: sink) }
            try service.apply(sendingBy: transport, version: AssayVersion.current)
            return service
        } catch {
            throw Failure("trace: \(error)")
        }
    }

    /// What `serve --check` says about it.
    var summary: String { otlp.map { "spans to \($0)" } ?? "no spans" }
}
