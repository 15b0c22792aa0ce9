import AssayServer
import AssayWire

/// Writes metrics as text. Metric names, help texts and label names come from this source code;
/// label values are escaped.
struct MetricsText {
    private(set) var bytes: [UInt8] = []
    private let format: MetricsFormat
    /// Names of the metrics so far. In OpenMetrics that of a counter has no `_total`.
    private var families: Set<String> = []

    typealias Labels = [(name: String, value: String)]

    enum Kind: String { case counter, gauge, histogram }

    init(_ format: MetricsFormat) {
        self.format = format
        bytes.reserveCapacity(16 * 1024)
    }

    /// Writes one metric with all of its samples.
    mutating func metric(
        _ name: String, _ kind: Kind, _ help: String,
        _ samples: [(labels: Labels, value: Double)]
    ) {
        head(name, kind, help)
        for sample in samples { line(name, sample.labels, Self.number(sample.value)) }
    }

    mutating func metric(
        _ name: String, _ kind: Kind, _ help: String, _ value: Double
    ) {
        metric(name, kind, help, [([], value)])
    }

    /// - Parameter scale: The number of the distribution's units in one unit of the metric.
    mutating func histogram(
        _ name: String, _ help: String, _ labels: Labels, _ values: Distribution,
        scale: Double
    ) {
        histogram(name, help, [(labels, values)], scale: scale)
    }

    /// Writes one histogram with all of its label sets.
    mutating func histogram(
        _ name: String, _ help: String, _ samples: [(labels: Labels, values: Distribution)],
        scale: Double
    ) {
        head(name, .histogram, help)
        for sample in samples { buckets(name, sample.labels, sample.values, scale) }
    }

    /// Ends the text.
    mutating func end() {
        if format == .openMetrics { bytes += "# EOF\n".utf8 }
    }

    private mutating func buckets(
        _ name: String, _ labels: Labels, _ values: Distribution, _ scale: Double
    ) {
        var below: UInt64 = 0
        for (index, bound) in values.bounds.enumerated() {
            below &+= values.counts[index]
            line(
                "\(name)_bucket", labels + [("le", edge(Double(bound) / scale))], String(below),
                exemplar(of: values, index, scale))
        }
        let count = String(values.count)
        line(
            "\(name)_bucket", labels + [("le", "+Inf")], count,
            exemplar(of: values, values.bounds.count, scale))
        line("\(name)_sum", labels, Self.number(Double(values.sum) / scale))
        line("\(name)_count", labels, count)
    }

    /// The value of `le`: of OpenMetrics always a number with a point or an exponent.
    private func edge(_ bound: Double) -> String {
        switch format {
        case .prometheus: Self.number(bound)
        case .openMetrics: "\(bound)"
        }
    }

    /// The last traced value of a bucket, which OpenMetrics has after the number of values.
    private func exemplar(of values: Distribution, _ bucket: Int, _ scale: Double) -> String {
        guard format == .openMetrics, bucket < values.exemplars.count,
            let exemplar = values.exemplars[bucket]
        else { return "" }
        let labels = Self.text([
            ("trace_id", exemplar.trace.traceId), ("span_id", exemplar.spanId),
        ])
        let value = Self.number(Double(exemplar.value) / scale)
        return " # \(labels) \(value) \(Double(exemplar.time.milliseconds) / 1000)"
    }

    private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
        var (family, type) = (name, kind.rawValue)
        if format == .openMetrics, kind == .counter, name.hasSuffix("_total") {
            let stem = String(name.dropLast("_total".count))
            // A gauge that came before has the name. Without a type a counter keeps its own.
            if families.contains(stem) { type = "unknown" } else { family = stem }
        }
        families.insert(family)
        bytes += "# HELP \(family) \(help)\n# TYPE \(family) \(type)\n".utf8
    }

    private mutating func line(
        _ name: String, _ labels: Labels, _ value: String, _ exemplar: String = ""
    ) {
        bytes += name.utf8
        if !labels.isEmpty { bytes += Self.text(labels).utf8 }
        bytes += " \(value)\(exemplar)\n".utf8
    }

    private static func text(_ labels: Labels) -> String {
        let pairs = labels.map { "\($0.name)=\"\(escaped($0.value))\"" }
        return "{\(pairs.joined(separator: ","))}"
    }

    static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
