import AssayBytes

/// Parts of self-contained pages.
package enum HTML {
    /// A horizontal bar that is filled up to a share of its width, from 0 to 1.
    ///
    /// - Parameters:
    ///   - style: the class that defines the colour of the filled part, as `--c`.
    ///   - mark: the share at which a mark is drawn.
    package static func bar(_ share: Double, style: String, mark: Double? = nil) -> String {
        func percent(_ share: Double) -> String { (min(max(share, 0), 1) * 100).tenths + "%" }
        let line = mark.map { "<b style=\"left:\(percent($0))\"></b>" } ?? ""
        return "<span class=\"bar\"><i class=\"\(style)\" style=\"width:\(percent(share))\"></i>"
            + line + "</span>"
    }

    /// The style of bars. The page defines the colours `--line` (the bar) and `--ink` (the mark).
    package static let barCSS = """
        .bar{display:block;position:relative;min-width:70px;height:8px;border-radius:4px;\
        background:var(--line);overflow:hidden}
        .bar i{display:block;height:100%;background:var(--c);border-radius:4px}
        .bar b{position:absolute;top:0;width:2px;height:100%;background:var(--ink)}
        """
}

extension String {
    /// The text escaped for HTML text and attribute values.
    package var htmlEscaped: String {
        var escaped = ""
        // Scalars, because `<` and a combining mark are one Character.
        for scalar in unicodeScalars {
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

    /// The escaped text of an identifier, which may continue on another line after each dot.
    package var htmlEscapedIdentifier: String { htmlEscaped.replacing(".", with: ".<wbr>") }
}

extension BinaryInteger {
    /// The number with commas between thousands.
    package var grouped: String {
        let digits = String(magnitude)
        var text = self < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }
}

extension Double {
    /// The number with as few digits as possible, and up to four after the decimal point.
    package var plain: String {
        guard isFinite, abs(self) < 1e14 else { return "-" }
        let units = Int((self * 10_000).rounded())
        var fraction = String(abs(units) % 10_000, width: 4)
        while fraction.last == "0" { fraction.removeLast() }
        let whole = (units < 0 ? "-" : "") + String(abs(units) / 10_000)
        return fraction.isEmpty ? whole : whole + "." + fraction
    }

    /// The number as `plain`, with commas between thousands.
    package var grouped: String {
        let parts = plain.split(separator: ".", maxSplits: 1)
        guard let whole = parts.first.flatMap({ Int($0) }) else { return plain }
        // A negative number above -1 has its sign in its whole part, which is 0.
        let sign = whole == 0 && self < 0 && plain != "0" ? "-" : ""
        return sign + whole.grouped + (parts.count > 1 ? "." + parts[1] : "")
    }

    /// The number with about three digits, and commas between thousands.
    package var readable: String {
        guard isFinite, abs(self) < 1e14 else { return "-" }
        let digits = abs(self) >= 100 ? 1.0 : abs(self) >= 10 ? 10 : abs(self) >= 1 ? 100 : 1000
        return ((self * digits).rounded() / digits).grouped
    }

    /// The number with one digit after the decimal point.
    var tenths: String {
        guard isFinite, abs(self) < 1e14 else { return "0" }
        let units = Int((self * 10).rounded())
        return "\(units < 0 ? "-" : "")\(abs(units) / 10).\(abs(units) % 10)"
    }
}
