import AssayServer

/// Writes Prometheus text format 0.0.4. Metric names, help texts and label names come from this
/// source code; label values are escaped.
struct PrometheusText {
    private(set) var bytes: [UInt8] = []

    typealias Labels = [(name: String, value: String)]

    enum Kind: String { case counter, gauge, histogram }

    init() { bytes.reserveCapacity(16 * 1024) }

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

    private mutating func buckets(
        _ name: String, _ labels: Labels, _ values: Distribution, _ scale: Double
    ) {
        var below: UInt64 = 0
        for (bound, count) in zip(values.bounds, values.counts) {
            below &+= count
            let edge = Self.number(Double(bound) / scale)
            line("\(name)_bucket", labels + [("le", edge)], String(below))
        }
        let count = String(values.count)
        line("\(name)_bucket", labels + [("le", "+Inf")], count)
        line("\(name)_sum", labels, Self.number(Double(values.sum) / scale))
        line("\(name)_count", labels, count)
    }

    private mutating func head(_ name: String, _ kind: Kind, _ help: String) {
        bytes += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n".utf8
    }

    private mutating func line(_ name: String, _ labels: Labels, _ value: String) {
        bytes += name.utf8
        if !labels.isEmpty {
            let pairs = labels.map { "\($0.name)=\"\(Self.escaped($0.value))\"" }
            bytes += "{\(pairs.joined(separator: ","))}".utf8
        }
        bytes += " \(value)\n".utf8
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
