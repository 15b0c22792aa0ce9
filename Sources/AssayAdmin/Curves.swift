/// Curves over the last minutes as inline SVG. The page needs no script.
///
/// The drawing stretches with the page, but its strokes keep their width. Labels are text of the
/// page beside the drawing.
struct Curves {
    struct Curve {
        let name: String
        /// The curve's class in the style sheet: `a` or `b`.
        let style: String
        let filled: Bool
        /// One value per sample, the oldest first; nil where a sample has no value.
        let values: [Double?]
    }

    let title: String
    let unit: String
    let curves: [Curve]
    /// The interval between samples in seconds.
    let seconds: Int
    /// The number of samples that fit the width.
    let slots: Int

    private static let (width, height) = (1000.0, 200.0)

    var html: String {
        let top = Self.niceTop(curves.flatMap(\.values).compactMap(\.self).max() ?? 0)
        let legend = curves.map { curve in
            let last = curve.values.last.flatMap { $0 }.map { Format.short($0) } ?? "–"
            return "<span class=\"key \(curve.style)\">\(curve.name) <b>\(last)</b></span>"
        }
        return """
            <figure><figcaption><strong>\(title)</strong> <span class="unit">\(unit)</span>\
            <span class="legend">\(legend.joined())</span></figcaption>
            <div class="plot"><div class="y"><span>\(Format.short(top))</span>\
            <span>\(Format.short(top / 2))</span><span>0</span></div>
            \(svg(top))
            <div class="x">\(timeLabels)</div></div></figure>

            """
    }

    private var timeLabels: String {
        let minutes = slots * seconds / 60
        let half = Format.short(Double(minutes) / 2)
        return "<span>\(minutes) min ago</span><span>\(half) min ago</span><span>now</span>"
    }

    private func svg(_ top: Double) -> String {
        var text =
            "<svg viewBox=\"0 0 \(Int(Self.width)) \(Int(Self.height))\" "
            + "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"\(title), \(unit)\">"
        for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let y = Format.short(Self.height * share)
            text += "<path class=\"grid\" d=\"M0 \(y)H\(Int(Self.width))\"/>"
        }
        for curve in curves { text += drawing(curve, top) }
        return text + "</svg>"
    }

    private func drawing(_ curve: Curve, _ top: Double) -> String {
        var text = ""
        for run in runs(curve.values) {
            let points = run.map { place, value in
                (
                    x: Self.width * Double(place) / Double(max(slots - 1, 1)),
                    y: Self.height * (1 - min(value / top, 1))
                )
            }
            let line = points.map { "\(Self.tenths($0.x)) \(Self.tenths($0.y))" }
            let path = line.joined(separator: "L")
            if curve.filled, let first = points.first {
                text +=
                    "<path class=\"area \(curve.style)\" d=\"M\(path)V\(Int(Self.height))"
                    + "H\(Self.tenths(first.x))Z\"/>"
            }
            // A single point is drawn as a dot of the stroke's width.
            let dot = points.count == 1 ? "h0" : ""
            text += "<path class=\"line \(curve.style)\" d=\"M\(path)\(dot)\"/>"
        }
        return text
    }

    /// Runs of consecutive values with their slots. The newest value is in the last slot.
    private func runs(_ values: [Double?]) -> [[(place: Int, value: Double)]] {
        let shown = values.suffix(slots)
        var runs: [[(place: Int, value: Double)]] = [[]]
        for (offset, value) in shown.enumerated() {
            if let value {
                runs[runs.count - 1].append((slots - shown.count + offset, value))
            } else if !runs[runs.count - 1].isEmpty {
                runs.append([])
            }
        }
        return runs.filter { !$0.isEmpty }
    }

    /// The smallest of 1, 2 and 5 times a power of ten that is not below `value`.
    static func niceTop(_ value: Double) -> Double {
        guard value > 0 else { return 1 }
        var power = 0.001
        while power * 10 <= value { power *= 10 }
        return [1, 2, 5].map { $0 * power }.first { $0 >= value } ?? power * 10
    }

    private static func tenths(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}

/// Formats numbers for display.
enum Format {
    /// The number with about three digits: 0.12, 3.4, 56, 7,890.
    static func short(_ value: Double) -> String {
        let magnitude = abs(value)
        if magnitude >= 100 || value == value.rounded() { return count(Int(value.rounded())) }
        let scale = magnitude >= 10 ? 10.0 : magnitude >= 1 ? 100 : 1000
        return "\((value * scale).rounded() / scale)"
    }

    static func milliseconds(_ value: Double?) -> String {
        value.map { short($0) + " ms" } ?? "–"
    }

    /// The number with commas between thousands.
    static func count(_ value: some BinaryInteger) -> String {
        let digits = String(value.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return (value < 0 ? "−" : "") + text
    }

    static func bytes(_ value: some BinaryInteger) -> String {
        var (size, index) = (Double(value), 0)
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while size >= 1024, index < units.count - 1 {
            size /= 1024
            index += 1
        }
        return "\(short(size >= 100 ? size.rounded() : (size * 10).rounded() / 10)) \(units[index])"
    }

    static func duration(_ seconds: Double) -> String {
        let whole = Int(max(seconds, 0))
        let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60)
        if days > 0 { return "\(days) d \(hours) h" }
        if hours > 0 { return "\(hours) h \(minutes) min" }
        return minutes > 0 ? "\(minutes) min \(whole % 60) s" : "\(whole) s"
    }

    static func percent(_ part: some BinaryInteger, of whole: some BinaryInteger) -> String {
        guard whole > 0 else { return "–" }
        let share = Double(part) / Double(whole) * 100
        return share > 99.9 && part != whole ? "99.9 %" : "\(short((share * 10).rounded() / 10)) %"
    }

    /// The text escaped for HTML text and attribute values.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
