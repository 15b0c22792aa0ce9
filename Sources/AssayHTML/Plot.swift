/// A line plot for a page: HTML with an inline SVG drawing, without scripts or external
/// resources.
///
/// The drawing stretches with the page, but its strokes keep their width. Labels are text of the
/// page around the drawing. The page includes `css`, and defines the colours `--line` (the grid),
/// `--soft` (labels), `--shade` and `--s0` to `--s8` (lines).
package struct Plot {
    package struct Line {
        var name: String
        /// Connected points. A gap in the values separates two runs.
        var runs: [[(x: Double, y: Double)]]
        /// The value that the legend shows beside the name.
        var value: String?
        /// The index of the line's colour; nil for the line's own index.
        var color: Int?
        /// Draws a dot at each point, for lines whose points are individual results.
        var hasDots = false
        /// Fills the area below the line.
        var isFilled = false
        /// Draws a thin dashed line, for a bound or an aim. It has no values to point at.
        var isReference = false

        package var points: [(x: Double, y: Double)] { runs.flatMap { $0 } }

        package init(
            _ name: String, _ points: [(x: Double, y: Double)], hasDots: Bool = false,
            color: Int? = nil
        ) {
            self.init(name, gaps: points.map { ($0.x, $0.y) }, color: color)
            self.hasDots = hasDots
        }

        /// A reference line at one height.
        package static func reference(
            _ name: String, at y: Double, over range: ClosedRange<Double>, color: Int
        ) -> Line {
            var line = Line(
                name, gaps: [(range.lowerBound, y), (range.upperBound, y)], color: color)
            line.isReference = true
            return line
        }

        /// - Parameter points: the points, and nil where there is no value.
        package init(
            _ name: String, gaps points: [(x: Double, y: Double?)], value: String? = nil,
            color: Int? = nil, isFilled: Bool = false
        ) {
            self.name = name
            self.value = value
            self.color = color
            self.isFilled = isFilled
            let parts = points.split { $0.y?.isFinite != true }
            runs = parts.map { part in part.map { ($0.x, $0.y ?? 0) } }
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

    private let title: String
    private let xLabel: String?
    private let yLabel: String
    private let xTicks: [Tick]
    private let yTicks: [Tick]
    private let xRange: ClosedRange<Double>
    private let lines: [Line]
    private let isLogarithmic: Bool
    private let xText: ((Double) -> String)?
    private let shaded: (range: ClosedRange<Double>, label: String)?

    /// - Parameters:
    ///   - x: the label below the x axis.
    ///   - y: the unit of the values.
    ///   - isLogarithmic: uses a logarithmic y axis, for values of very different sizes.
    ///   - shaded: a part of the plot that is marked, such as the warm-up.
    ///   - xText: what an x value means, shown above the values that one points at.
    package init(
        _ title: String, x: String? = nil, ticks: [Tick], range: ClosedRange<Double>, y: String,
        isLogarithmic: Bool = false, _ lines: [Line],
        shaded: (range: ClosedRange<Double>, label: String)? = nil,
        xText: ((Double) -> String)? = nil
    ) {
        self.title = title
        xLabel = x
        yLabel = y
        xRange = range
        xTicks = ticks.filter { range.contains($0.value) }
        self.lines = lines
        self.isLogarithmic = isLogarithmic
        self.shaded = shaded
        self.xText = xText
        let values = lines.flatMap(\.points).map(\.y).filter { $0 > 0 }
        let highest = values.max() ?? 1
        yTicks =
            isLogarithmic ? Self.decades(values.min() ?? highest, highest) : Self.steps(highest)
    }

    // MARK: Coordinates

    private static let (width, height) = (1000.0, 300.0)
    /// The number of line colours, which the page defines as `--s0`, `--s1` and so on.
    package static let colors = 9

    private func x(_ value: Double) -> Double {
        let span = max(xRange.upperBound - xRange.lowerBound, 1e-9)
        return (value - xRange.lowerBound) / span
    }

    /// The height of a value as a share of the drawing's.
    private func y(_ value: Double) -> Double {
        let (lowest, highest) = (yTicks[0].value, yTicks[yTicks.count - 1].value)
        return isLogarithmic
            ? Double.log(max(value, lowest) / lowest) / Double.log(highest / lowest)
            : value / highest
    }

    private func point(_ point: (x: Double, y: Double)) -> String {
        (x(point.x) * Self.width).tenths + " " + ((1 - y(point.y)) * Self.height).tenths
    }

    /// Ticks from 0 to at least `highest`, in steps of 1, 2 or 5 times a power of ten.
    private static func steps(_ highest: Double) -> [Tick] {
        let power = Double.exp10(Double.log10(highest).rounded(.down))
        let step =
            [0.1, 0.2, 0.5].map { $0 * power }.first { highest / $0 <= 8 } ?? power
        let count = Int((highest / step).rounded(.up))
        return (0...max(count, 1)).map { index in
            let value = Double(index) * step
            return Tick(value, value.grouped)
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
        return all[from...max(to, min(from + 1, all.count - 1))].map { Tick($0, $0.grouped) }
    }

    // MARK: HTML

    package var html: String {
        func label(_ tick: Tick, _ edge: String, _ share: Double, _ style: String = "") -> String {
            let offset = "\(edge):\((share * 100).tenths)%"
            return "<span style=\"\(offset)\"\(style)>\(tick.label.htmlEscaped)</span>"
        }
        let yLabels = yTicks.map { label($0, "bottom", y($0.value)) }
        let xLabels = xTicks.indices.map { index in
            label(xTicks[index], "left", x(xTicks[index].value), xStyle(index))
        }
        let below = xLabel.map { "<div class=\"unit\">\($0.htmlEscaped)</div>" } ?? ""
        return """
            <figure class="plot"><figcaption><strong>\(title.htmlEscaped)</strong> \
            <span class="unit">\(yLabel.htmlEscaped)</span>\(legend)</figcaption>
            <div class="frame"><div class="y">\(yLabels.joined())</div>
            \(svg)
            \(values)
            <div class="x">\(xLabels.joined())</div></div>\(below)</figure>

            """
    }

    /// The class of a label below the x axis: one at the right edge ends there, and a phone shows
    /// every second label where all are too long for it.
    private func xStyle(_ index: Int) -> String {
        let length = xTicks.reduce(0) { $0 + $1.label.count }
        let isHidden = length > Self.narrowLetters && (xTicks.count - 1 - index) % 2 == 1
        if isHidden { return " class=\"second\"" }
        return x(xTicks[index].value) > Self.rightEdge ? " class=\"end\"" : ""
    }

    /// The letters of the labels below the x axis that fit a phone: at 12 px, 40 take 260 px, and
    /// the last label is shifted to the left.
    private static let narrowLetters = 32
    /// From here on, a label that is centred on its tick can leave the page.
    private static let rightEdge = 0.94

    private var legend: String {
        var keys = lines.enumerated().map { index, line in
            let value = line.value.map { " <b>\($0.htmlEscaped)</b>" } ?? ""
            return "<span class=\"key \(style(index))\">\(line.name.htmlEscaped)\(value)</span>"
        }
        if lines.count == 1, lines[0].value == nil { keys = [] }
        if let label = shaded?.label {
            keys.append("<span class=\"key shade\">\(label.htmlEscaped)</span>")
        }
        return keys.isEmpty ? "" : "<span class=\"legend\">\(keys.joined())</span>"
    }

    /// The class of a line's colour.
    private func style(_ index: Int) -> String { "s\((lines[index].color ?? index) % Self.colors)" }

    /// The most columns of values: on a narrow screen, each is still as wide as a pointer.
    private static let columns = 60

    /// Columns over the drawing that show their values where one points, taps or has the focus.
    /// Without scripts, so each is an element of its own, and each value is that of the point next
    /// to the column's middle.
    private var values: String {
        let shown = lines.enumerated().filter { !$0.element.isReference }
        let positions = Set(shown.flatMap { $0.element.points.map(\.x) }).filter(xRange.contains)
        guard positions.count > 1 else { return "" }
        let count = min(positions.count, Self.columns)
        let columns = (0..<count).map { column -> String in
            let middle = (Double(column) + 0.5) / Double(count)
            guard let position = positions.min(by: { abs(x($0) - middle) < abs(x($1) - middle) })
            else { return "<span></span>" }
            let texts = shown.compactMap { index, line -> String? in
                guard let point = line.points.first(where: { $0.x == position }) else { return nil }
                return "<i class=\"key \(style(index))\">\(line.name.htmlEscaped) "
                    + "<b>\(point.y.readable)</b></i>"
            }
            let edge = column * 2 < count ? "left" : "right"
            let head = xText?(position) ?? ""
            return "<span tabindex=\"0\"><em class=\"\(edge)\">\(head.htmlEscaped)"
                + "\(texts.joined())</em></span>"
        }
        return "<div class=\"values\">\(columns.joined())</div>"
    }

    private var svg: String {
        let (width, height) = (Int(Self.width), Int(Self.height))
        var text =
            "<svg viewBox=\"0 0 \(width) \(height)\" preserveAspectRatio=\"none\" role=\"img\" "
            + "aria-label=\"\(title.htmlEscaped), \(yLabel.htmlEscaped)\">\n"
        if let range = shaded?.range {
            let (from, to) = (x(range.lowerBound) * Self.width, x(range.upperBound) * Self.width)
            text += "<path class=\"shade\" d=\"M\(from.tenths) 0H\(to.tenths)V\(height)"
            text += "H\(from.tenths)Z\"/>\n"
        }
        for tick in yTicks {
            let y = ((1 - y(tick.value)) * Self.height).tenths
            text += "<path class=\"grid\" d=\"M0 \(y)H\(width)\"/>\n"
        }
        for tick in xTicks {
            let x = (x(tick.value) * Self.width).tenths
            text += "<path class=\"grid\" d=\"M\(x) 0V\(height)\"/>\n"
        }
        for (index, line) in lines.enumerated() { text += drawing(line, style(index)) }
        return text + "</svg>"
    }

    private func drawing(_ line: Line, _ style: String) -> String {
        var text = ""
        for run in line.runs {
            let path = run.map(point).joined(separator: "L")
            if line.isFilled, let first = run.first {
                text += "<path class=\"area \(style)\" d=\"M\(path)V\(Int(Self.height))"
                text += "H\((x(first.x) * Self.width).tenths)Z\"/>\n"
            }
            // A path without length is drawn as a dot of the stroke's width.
            let kind = line.isReference ? "line reference" : "line"
            text += "<path class=\"\(kind) \(style)\" "
            text += "d=\"M\(path)\(run.count == 1 ? "h0" : "")\"/>\n"
            for dot in line.hasDots ? run : [] {
                text += "<path class=\"dot \(style)\" d=\"M\(point(dot))h0\"/>\n"
            }
        }
        return text
    }

    /// The style of plots.
    package static let css = """
        .plot{margin:1.5em 0}
        .plot figcaption{display:flex;flex-wrap:wrap;gap:2px 8px;align-items:baseline;\
        margin-bottom:14px}
        .plot .unit{color:var(--soft);font-size:13px}.plot>.unit{text-align:center}
        .legend{margin-left:auto;display:flex;flex-wrap:wrap;gap:2px 14px;font-size:13px}
        .key::before{content:"";display:inline-block;width:10px;height:10px;border-radius:3px;\
        margin-right:6px;background:var(--c)}
        .frame{display:grid;grid-template-columns:44px 1fr;grid-template-rows:auto 24px;\
        column-gap:8px;padding-right:10px;font-size:12px;line-height:1;color:var(--soft);\
        font-variant-numeric:tabular-nums}
        .frame svg{display:block;width:100%;height:260px;overflow:visible}
        .x,.y{position:relative}.x{grid-column:2}
        .x span,.y span{position:absolute;white-space:nowrap}
        .x span{top:8px;transform:translateX(-50%)}
        .x .end{margin-left:10px;transform:translateX(-100%)}
        @media(max-width:500px){.x .second{display:none}}
        .y span{right:0;transform:translateY(50%)}
        .frame path{fill:none;vector-effect:non-scaling-stroke;stroke-linejoin:round;\
        stroke-linecap:round}
        .frame .grid{stroke:var(--line)}.frame .line{stroke:var(--c);stroke-width:2}
        .frame .dot{stroke:var(--c);stroke-width:7}.frame .area{fill:var(--c);opacity:.14}
        .frame .reference{stroke-width:1.5;stroke-dasharray:6 5}
        .frame svg,.values{grid-column:2;grid-row:1}.frame .y{grid-row:1}.frame .x{grid-row:2}
        .values{display:flex;position:relative}.values span{flex:1;outline:0}
        .values span:hover,.values span:focus{background:linear-gradient(var(--soft),var(--soft)) \
        50%/1px 100% no-repeat}
        .values em{display:none;position:absolute;top:0;z-index:1;font-style:normal;\
        padding:7px 9px;border-radius:6px;background:var(--ink);color:var(--bg,var(--paper));\
        line-height:1.5;pointer-events:none;white-space:nowrap}
        .values span:hover em,.values span:focus em{display:block}
        .values:hover span:focus:not(:hover) em{display:none}
        .values .left{right:0}.values .right{left:0}.values i{display:block;font-style:normal}
        .shade{--c:var(--shade)}.frame .shade{fill:var(--c)}
        .key.shade::before{outline:1px solid var(--soft)}
        \((0..<colors).map { ".s\($0){--c:var(--s\($0))}" }.joined())
        """
}
