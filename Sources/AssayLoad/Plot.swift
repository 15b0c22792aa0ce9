import RealModule

/// A line plot as SVG, without scripts or external resources. Uses the colours of `ReportStyle`.
package struct Plot {
    package struct Line {
        var name: String
        var points: [(x: Double, y: Double)]
        /// Draws a dot at each point, for lines whose points are individual results.
        var hasDots: Bool

        package init(_ name: String, _ points: [(x: Double, y: Double)], hasDots: Bool = false) {
            self.name = name
            self.points = points
            self.hasDots = hasDots
        }
    }

    package struct Tick {
        var value: Double
        var label: String

        package init(_ value: Double, _ label: String) {
            self.value = value
            self.label = label
        }
    }

    var title: String
    var xLabel: String
    var yLabel: String
    var xTicks: [Tick]
    var lines: [Line]
    /// Uses a logarithmic y axis, for values of very different sizes.
    var isLogarithmic: Bool
    /// A shaded range of the plot, such as the warm-up.
    var shaded: (range: ClosedRange<Double>, label: String)?
    private let xRange: ClosedRange<Double>
    private let yTicks: [Tick]
    /// The position of each line's name in the legend.
    private let legendPlaces: [(x: Double, row: Int)]

    package init(
        _ title: String, x: String, ticks: [Tick], range: ClosedRange<Double>, y: String,
        isLogarithmic: Bool = false, _ lines: [Line],
        shaded: (range: ClosedRange<Double>, label: String)? = nil
    ) {
        self.title = title
        xLabel = x
        yLabel = y
        xTicks = ticks
        xRange = range
        self.lines = lines
        self.isLogarithmic = isLogarithmic
        self.shaded = shaded
        let values = lines.flatMap(\.points).map(\.y).filter(\.isFinite)
        let highest = max(values.max() ?? 1, 1e-6)
        let lowest = values.filter { $0 > 0 }.min() ?? highest
        yTicks = isLogarithmic ? Self.decades(lowest, highest) : Self.steps(highest)
        legendPlaces = Self.legendPlaces(lines.map(\.name))
    }

    private static let width = 860.0
    private static let (left, right, bottom) = (70.0, 34.0, 50.0)
    private static let legendRow = 16.0

    /// Includes the height of further legend rows beyond the first.
    private var height: Double { 350 + legendHeight }
    private var top: Double { 54 + legendHeight }
    private var legendHeight: Double { Double(legendPlaces.last?.row ?? 0) * Self.legendRow }

    /// Places the names side by side and wraps them to further rows.
    private static func legendPlaces(_ names: [String]) -> [(x: Double, row: Int)] {
        var (place, row) = (left, 0)
        return names.map { name in
            // A letter of this size is about 6.5 units wide; the rest is for the square and the
            // gaps.
            let size = Double(name.count) * 6.5 + 30
            if place + size > width, place > left { (place, row) = (left, row + 1) }
            defer { place += size }
            return (place, row)
        }
    }

    // MARK: Coordinates

    private func x(_ value: Double) -> String {
        let span = max(xRange.upperBound - xRange.lowerBound, 1e-9)
        let share = (value - xRange.lowerBound) / span
        return (Self.left + share * (Self.width - Self.left - Self.right)).svg
    }

    private func y(_ value: Double) -> String {
        let (lowest, highest) = (yTicks[0].value, yTicks[yTicks.count - 1].value)
        let share =
            isLogarithmic
            ? Double.log(max(value, lowest) / lowest) / Double.log(highest / lowest)
            : value / highest
        return (height - Self.bottom - share * (height - top - Self.bottom)).svg
    }

    /// Ticks from 0 to at least `highest`, in steps of 1, 2 or 5 times a power of ten.
    private static func steps(_ highest: Double) -> [Tick] {
        let power = Double.exp10(Double.log10(highest).rounded(.down))
        let step =
            [0.1, 0.2, 0.5].map { $0 * power }.first { highest / $0 <= 8 } ?? power
        let count = Int((highest / step).rounded(.up))
        return (0...max(count, 1)).map { index in
            let value = Double(index) * step
            return Tick(value, value.plain)
        }
    }

    /// Ticks around both values, at 1, 2 and 5 times powers of ten, or at powers of ten alone if
    /// there are many.
    private static func decades(_ lowest: Double, _ highest: Double) -> [Tick] {
        let first = Int(Double.log10(lowest).rounded(.down))
        let last = Int(Double.log10(highest).rounded(.up))
        let factors = last - first > 3 ? [1.0] : [1.0, 2, 5]
        let all = (first...max(last, first + 1)).flatMap { power in
            factors.map { $0 * Double.exp10(Double(power)) }
        }
        let from = all.lastIndex { $0 <= lowest * 1.0001 } ?? 0
        let to = all.firstIndex { $0 >= highest * 0.9999 } ?? all.count - 1
        return all[from...max(to, min(from + 1, all.count - 1))].map { Tick($0, $0.plain) }
    }

    // MARK: SVG

    package var svg: String {
        var text = "<svg viewBox=\"0 0 \(Self.width.svg) \(height.svg)\" role=\"img\" "
        text += "aria-label=\"\(title.escaped)\">\n"
        text += Self.text(Self.left.svg, "18", title, "title")
        text += grid
        for (index, line) in lines.enumerated() where !line.points.isEmpty {
            let points = line.points.map { x($0.x) + "," + y($0.y) }
            text += "<polyline class=\"line s\(index % ReportStyle.colors)\" "
            text += "points=\"\(points.joined(separator: " "))\"/>\n"
            for point in line.hasDots ? line.points : [] {
                text += "<circle class=\"dot s\(index % ReportStyle.colors)\" r=\"3.5\" "
                text += "cx=\"\(x(point.x))\" cy=\"\(y(point.y))\"/>\n"
            }
        }
        return text + legend + "</svg>\n"
    }

    private var grid: String {
        var text = ""
        let (from, to) = (x(xRange.lowerBound), x(xRange.upperBound))
        let (low, high) = (y(yTicks[0].value), y(yTicks[yTicks.count - 1].value))
        if let shaded {
            let (start, end) = (x(shaded.range.lowerBound), x(shaded.range.upperBound))
            text += "<polygon class=\"shade\" points=\"\(start),\(low) \(start),\(high) "
            text += "\(end),\(high) \(end),\(low)\"/>\n"
            text += Self.text(start, (top + 14).svg, " " + shaded.label, "tick")
        }
        for tick in yTicks {
            let place = y(tick.value)
            text += "<line class=\"grid\" x1=\"\(from)\" y1=\"\(place)\" x2=\"\(to)\" "
            text += "y2=\"\(place)\"/>\n"
            text += Self.text((Self.left - 8).svg, place, tick.label, "tick end")
        }
        for tick in xTicks where xRange.contains(tick.value) {
            let place = x(tick.value)
            text += "<line class=\"grid\" x1=\"\(place)\" y1=\"\(low)\" x2=\"\(place)\" "
            text += "y2=\"\(high)\"/>\n"
            text += Self.text(place, (height - Self.bottom + 17).svg, tick.label, "tick mid")
        }
        return text
    }

    private var legend: String {
        var text = Self.text((Self.width / 2).svg, (height - 8).svg, xLabel, "mid")
        text += "<text class=\"mid\" transform=\"translate(14 \((height / 2).svg)) "
        text += "rotate(-90)\">\(yLabel.escaped)</text>\n"
        guard lines.count > 1 else { return text }
        for (index, (line, place)) in zip(lines, legendPlaces).enumerated() {
            let y = 31 + Double(place.row) * Self.legendRow
            text += "<rect class=\"dot s\(index % ReportStyle.colors)\" x=\"\(place.x.svg)\" "
            text += "y=\"\(y.svg)\" width=\"10\" height=\"10\"/>"
            text += Self.text((place.x + 15).svg, (y + 9).svg, line.name, "tick")
        }
        return text
    }

    private static func text(
        _ x: String, _ y: String, _ text: String, _ classes: String
    ) -> String {
        "<text class=\"\(classes)\" x=\"\(x)\" y=\"\(y)\">\(text.escaped)</text>\n"
    }
}

extension Double {
    /// The number with as few digits as possible, and up to four after the decimal point.
    package var plain: String {
        guard isFinite, abs(self) < 1e15 else { return "-" }
        let units = Int((self * 10_000).rounded())
        let fraction = String(abs(units) % 10_000)
        var text = String(repeating: "0", count: 4 - fraction.count) + fraction
        while text.last == "0" { text.removeLast() }
        let whole = (units < 0 ? "-" : "") + String(abs(units) / 10_000)
        return text.isEmpty ? whole : whole + "." + text
    }

    /// The number with one digit after the decimal point.
    fileprivate var svg: String {
        guard isFinite else { return "0" }
        let tenths = Int((self * 10).rounded())
        return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}
