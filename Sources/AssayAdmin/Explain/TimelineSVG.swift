import Assay
import AssayHTML
import AssayModels

/// The in-app records of a receipt over time: a line for each product, a bar for each period.
struct TimelineSVG {
    let records: InAppPurchases
    let now: Timestamp

    /// Products with the most recent purchases. More lines would not fit a page.
    private static let productLimit = 12
    private static let width = 720.0
    private static let lineHeight = 40.0
    /// A purchase without an end has this width.
    private static let markWidth = 4.0

    private struct Period {
        let start: Int64
        let end: Int64?
        let isRefunded: Bool
        let title: String
    }

    var html: String {
        let lines = products
        let dates = lines.flatMap { $0.periods.flatMap { [$0.start, $0.end ?? $0.start] } }
        guard let first = dates.min(), let last = dates.max() else { return "" }
        let length = max(Double(last) - Double(first), 1)
        func x(_ date: Int64) -> Double {
            ((Double(date) - Double(first)) / length * (Self.width - Self.markWidth)).rounded()
        }
        let height = Double(lines.count) * Self.lineHeight + 20
        var svg =
            "<svg viewBox=\"0 0 \(Int(Self.width)) \(Int(height))\" role=\"img\" "
            + "aria-label=\"purchases over time\">"
        for (index, line) in lines.enumerated() {
            let y = Double(index) * Self.lineHeight
            svg +=
                "<text x=\"0\" y=\"\(y + 15)\">\(line.product.htmlEscaped)</text>"
                + "<line x1=\"0\" y1=\"\(y + 25)\" x2=\"\(Self.width)\" y2=\"\(y + 25)\"/>"
            for period in line.periods {
                let start = x(period.start)
                let end = max(x(period.end ?? period.start), start + Self.markWidth)
                svg +=
                    "<rect class=\"\(period.isRefunded ? "refund" : "period")\" x=\"\(start)\" "
                    + "y=\"\(y + 20)\" width=\"\(max(end - start - 1, 2))\" height=\"9\" rx=\"2\">"
                    + "<title>\(period.title.htmlEscaped)</title></rect>"
            }
        }
        svg +=
            "<text x=\"0\" y=\"\(height - 4)\">\(Self.date(first))</text>"
            + "<text x=\"\(Self.width)\" y=\"\(height - 4)\" text-anchor=\"end\">"
            + "\(Self.date(last))</text></svg>"
        return "<div class=\"timeline\">\(svg)</div>"
    }

    /// The products in the order of their first record, the latest ones if there are many.
    private var products: [(product: String, periods: [Period])] {
        var lines: [(product: String, periods: [Period])] = []
        var places: [String: Int] = [:]
        for record in records {
            guard let date = record.purchaseDate else { continue }
            let product = String((record.productId ?? "?").prefix(80))
            if places[product] == nil {
                places[product] = lines.count
                lines.append((product, []))
            }
            let end = record.expiresDate.flatMap { $0 > date ? $0.milliseconds : nil }
            let until = end.map { " to " + Timestamp(milliseconds: $0).rfc3339 } ?? ""
            lines[places[product]!].periods.append(
                Period(
                    start: date.milliseconds, end: end,
                    isRefunded: record.cancellationDate != nil,
                    title: "\(product) \(date.rfc3339)\(until)"))
        }
        return Array(lines.suffix(Self.productLimit))
    }

    private static func date(_ milliseconds: Int64) -> String {
        Timestamp(milliseconds: milliseconds).rfc3339
    }
}
