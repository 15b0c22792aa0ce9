/// The text formats of metrics.
enum MetricsFormat: Int, CaseIterable {
    /// Prometheus' text format 0.0.4.
    case prometheus
    /// OpenMetrics 1.0.0, which has exemplars.
    case openMetrics

    var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// The format that a client prefers, by the value of `Accept` (RFC 9110, section 12.5.1).
    /// OpenMetrics only for a client that names it.
    init(accepted list: String?) {
        var (openMetrics, text) = (0.0, 0.0)
        for range in (list ?? "").split(separator: ",") {
            let parts = range.split(separator: ";").map(Self.trimmed)
            var (weight, version) = (1.0, Self.version)
            for part in parts.dropFirst() {
                if part.hasPrefix("q=") { weight = Double(part.dropFirst(2)) ?? 0 }
                if part.hasPrefix("version=") { version = String(part.dropFirst(8)) }
            }
            switch parts.first {
            case "application/openmetrics-text" where version == Self.version:
                openMetrics = max(openMetrics, weight)
            case "text/plain": text = max(text, weight)
            default: break
            }
        }
        self = openMetrics > 0 && openMetrics >= text ? .openMetrics : .prometheus
    }

    private static let version = "1.0.0"

    /// Media types and names of parameters have no case.
    private static func trimmed(_ part: Substring) -> String {
        let blanks: Set<Character> = [" ", "\t"]
        var part = part.drop { blanks.contains($0) }
        while let last = part.last, blanks.contains(last) { part.removeLast() }
        return part.lowercased()
    }
}
