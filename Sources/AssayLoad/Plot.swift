/// A line plot as SVG, without a script and without anything from elsewhere.
struct Plot {
    struct Line {
        var name: String
        var color: String
        var points: [(x: Double, y: Double)]
    }

    struct Tick {
        var value: Double
        var label: String
    }

    var title: String
    var xLabel: String
    var yLabel: String
    var xTicks: [Tick]
    var xRange: ClosedRange<Double>
    var lines: [Line]
    /// Parts of the plot that are shaded, such as the warm-up.
    var shaded: (range: ClosedRange<Double>, label: String)?

    private static let (width, height) = (860.0, 340.0)
    private static let (left, right, top, bottom) = (70.0, 20.0, 34.0, 50.0)

    var svg: String {
        let highest = max(lines.flatMap(\.points).map(\.y).max() ?? 1, 1e-9)
        let step = Self.step(for: highest)
        let yMost = (highest / step).rounded(.up) * step
        func x(_ value: Double) -> String {
            let span = max(xRange.upperBound - xRange.lowerBound, 1e-9)
            let share = (value - xRange.lowerBound) / span
            return (Self.left + share * (Self.width - Self.left - Self.right)).svg
        }
        func y(_ value: Double) -> String {
            (Self.height - Self.bottom - value / yMost * (Self.height - Self.top - Self.bottom)).svg
        }
        var text = "<svg viewBox=\"0 0 \(Self.width.svg) \(Self.height.svg)\" role=\"img\" "
        text += "aria-label=\"\(title)\">\n"
        text += Self.text(Self.left.svg, "18", title, "title")
        if let shaded {
            let (from, to) = (shaded.range.lowerBound, shaded.range.upperBound)
            text += "<polygon class=\"shade\" points=\"\(x(from)),\(y(0)) \(x(from)),\(y(yMost)) "
            text += "\(x(to)),\(y(yMost)) \(x(to)),\(y(0))\"/>\n"
            text += Self.text(x(from), "\(Self.top + 12)", shaded.label, "tick")
        }
        for index in 0...Int((yMost / step).rounded()) {
            let value = Double(index) * step
            text += "<line class=\"grid\" x1=\"\(x(xRange.lowerBound))\" y1=\"\(y(value))\" "
            text += "x2=\"\(x(xRange.upperBound))\" y2=\"\(y(value))\"/>\n"
            text += Self.text("\(Self.left - 8)", y(value), value.short, "tick end")
        }
        for tick in xTicks where xRange.contains(tick.value) {
            text += "<line class=\"grid\" x1=\"\(x(tick.value))\" y1=\"\(y(0))\" "
            text += "x2=\"\(x(tick.value))\" y2=\"\(y(yMost))\"/>\n"
            text += Self.text(
                x(tick.value), "\(Self.height - Self.bottom + 16)", tick.label, "tick mid")
        }
        for line in lines where !line.points.isEmpty {
            let points = line.points.map { x($0.x) + "," + y($0.y) }.joined(separator: " ")
            text += "<polyline fill=\"none\" stroke=\"\(line.color)\" stroke-width=\"2\" "
            text += "points=\"\(points)\"/>\n"
        }
        return text + legend + "</svg>\n"
    }

    private var legend: String {
        var text = Self.text("\(Self.width / 2)", "\(Self.height - 8)", xLabel, "label mid")
        text += "<text class=\"label mid\" transform=\"translate(14 \(Self.height / 2)) "
        text += "rotate(-90)\">\(yLabel)</text>\n"
        guard lines.count > 1 else { return text }
        for (index, line) in lines.enumerated() {
            let x = Self.width - Self.right - 130 * Double(lines.count - index)
            text +=
                "<rect x=\"\(x.svg)\" y=\"9\" width=\"10\" height=\"10\" fill=\"\(line.color)\"/>"
            text += Self.text((x + 15).svg, "18", line.name, "tick")
        }
        return text
    }

    private static func text(
        _ x: String, _ y: String, _ text: String, _ classes: String
    ) -> String {
        "<text class=\"\(classes)\" x=\"\(x)\" y=\"\(y)\">\(text)</text>\n"
    }

    /// A step of 1, 2 or 5 times a power of ten, for four to ten grid lines.
    private static func step(for highest: Double) -> Double {
        var power = 1.0
        while power * 10 <= highest { power *= 10 }
        while power > highest { power /= 10 }
        for factor in [0.1, 0.2, 0.5] where highest / (power * factor) <= 10 {
            return power * factor
        }
        return power
    }
}

extension Double {
    /// With one digit behind the point.
    fileprivate var svg: String {
        let tenths = Int((self * 10).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}
