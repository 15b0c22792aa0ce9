import AssayHTML
import Testing

@Suite("Plots and bars")
struct PlotTests {
    private func plot(
        _ lines: [Plot.Line], isLogarithmic: Bool = false,
        shaded: (range: ClosedRange<Double>, label: String)? = nil
    ) -> String {
        Plot(
            "Title", x: "below", ticks: [0, 5, 10, 11].map { Plot.Tick($0, "\(Int($0)) s") },
            range: 0...10, y: "unit", isLogarithmic: isLogarithmic, lines, shaded: shaded
        ).html
    }

    private func paths(_ style: String, in html: String) -> [String] {
        html.split(separator: "\n").filter { $0.hasPrefix("<path class=\"\(style)") }
            .compactMap { $0.split(separator: "\"").dropFirst(3).first.map(String.init) }
    }

    private func labels(_ edge: String, in html: String) -> [String] {
        html.components(between: "<span style=\"\(edge):", and: "</span>")
            .map { $0.replacing("\" class=\"end", with: "").replacing("\">", with: " ") }
    }

    @Test("the last label ends at the edge, and a phone shows every second of long ones")
    func narrow() {
        func styles(_ labels: [String], last: Double = 1) -> [String] {
            let ticks = labels.indices.map {
                Plot.Tick(last * Double($0) / Double(labels.count - 1), labels[$0])
            }
            let html = Plot("a", ticks: ticks, range: 0...1, y: "unit", []).html
            return html.components(between: "<span style=\"left:", and: "</span>").map { label in
                label.components(between: "class=\"", and: "\"").first ?? ""
            }
        }
        #expect(styles(["0", "1", "2"]) == ["", "", "end"])
        #expect(styles(["0", "1", "2"], last: 0.95) == ["", "", "end"])
        #expect(styles(["0", "1", "2"], last: 0.93) == ["", "", ""])
        let (long, short) = (String(repeating: "1", count: 12), "12345678")
        #expect(styles([long, short, long]) == ["", "", "end"])
        #expect(styles([long, short + "1", long]) == ["", "second", "end"])
        #expect(styles([long, long, long, long]) == ["second", "", "second", "end"])
    }

    @Test("points are at their position in the ranges of the ticks")
    func points() {
        let html = plot([Plot.Line("a", [(0, 0), (5, 50), (10, 100)])])
        #expect(paths("line s0", in: html) == ["M0.0 300.0L500.0 150.0L1000.0 0.0"])
        #expect(labels("left", in: html) == ["0.0% 0 s", "50.0% 5 s", "100.0% 10 s"])
        #expect(
            labels("bottom", in: html)
                == ["0.0% 0", "20.0% 20", "40.0% 40", "60.0% 60", "80.0% 80", "100.0% 100"])
    }

    @Test("a logarithmic axis has a position for the lowest value")
    func logarithmic() {
        let html = plot([Plot.Line("a", [(0, 1), (10, 100)])], isLogarithmic: true)
        #expect(paths("line s0", in: html) == ["M0.0 300.0L1000.0 0.0"])
        #expect(
            labels("bottom", in: html).map { $0.split(separator: " ")[1] }
                == ["1", "2", "5", "10", "20", "50", "100"])
    }

    @Test("a gap separates runs, and a single value is a dot")
    func gaps() {
        let values: [Double?] = [nil, 4, 8, nil, .nan, 2, nil]
        let points = values.enumerated().map { (x: Double($0.offset), y: $0.element) }
        let html = plot([Plot.Line("a", gaps: points, isFilled: true)])
        #expect(
            paths("line s0", in: html) == ["M100.0 150.0L200.0 0.0", "M500.0 225.0h0"])
        #expect(
            paths("area s0", in: html)
                == ["M100.0 150.0L200.0 0.0V300H100.0Z", "M500.0 225.0V300H500.0Z"])
    }

    @Test("lines without a value leave a whole plot", arguments: [false, true])
    func empty(isLogarithmic: Bool) {
        for lines in [[], [Plot.Line("a", [])], [Plot.Line("a", [(0, 0)])]] {
            let html = plot(lines, isLogarithmic: isLogarithmic)
            #expect(html.contains("</svg>") && !html.contains("nan") && !html.contains("inf"))
        }
    }

    @Test("lines have colours and names; a line alone needs none, unless it shows a value")
    func legend() {
        #expect(!plot([Plot.Line("a", [])]).contains("class=\"key"))
        #expect(
            plot([Plot.Line("a", gaps: [], value: "7")])
                .contains("<span class=\"key s0\">a <b>7</b></span>"))
        let two = plot([Plot.Line("a", gaps: [], color: 1), Plot.Line("b", [])])
        #expect(two.contains("<span class=\"key s1\">a</span><span class=\"key s1\">b</span>"))
        let shaded = plot([Plot.Line("a", [])], shaded: (0...2, "warm-up"))
        #expect(shaded.contains("<span class=\"key shade\">warm-up</span>"))
        #expect(paths("shade", in: shaded) == ["M0.0 0H200.0V300H0.0Z"])
    }

    @Test("text is escaped, whatever follows a character")
    func escapes() {
        #expect("<a b='c'> & \"d\"".htmlEscaped == "&lt;a b=&#39;c&#39;&gt; &amp; &quot;d&quot;")
        // A combining mark makes one Character with what it follows.
        #expect("<\u{338}>\u{301}".htmlEscaped == "&lt;\u{338}&gt;\u{301}")
        let html = plot([Plot.Line("<i>", gaps: [], value: "<b>")])
        #expect(html.contains("&lt;i&gt; <b>&lt;b&gt;</b>") && !html.contains("<i>"))
    }

    @Test(
        "bars end at their ends",
        arguments: [(-1, "0.0"), (0, "0.0"), (0.123, "12.3"), (1, "100.0"), (7, "100.0")]
            as [(Double, String)])
    func bars(share: Double, width: String) {
        let bar = HTML.bar(share, style: "a", mark: share)
        #expect(
            bar == "<span class=\"bar\"><i class=\"a\" style=\"width:\(width)%\"></i>"
                + "<b style=\"left:\(width)%\"></b></span>")
    }

    @Test(
        "numbers have only the digits that they need",
        arguments: [
            (0, "0"), (1, "1"), (0.5, "0.5"), (0.0001, "0.0001"), (0.00001, "0"), (-2.05, "-2.05"),
            (1e6, "1000000"), (.nan, "-"), (.infinity, "-"),
        ] as [(Double, String)])
    func plain(value: Double, text: String) { #expect(value.plain == text) }
}

extension String {
    fileprivate func components(between start: String, and end: String) -> [String] {
        split(separator: start).dropFirst().compactMap { part in
            part.firstRange(of: end).map { String(part[..<$0.lowerBound]) }
        }
    }
}
