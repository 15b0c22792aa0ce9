import Assay
import AssayBytes
import AssayHTML
import AssayModels

/// The in-app records of a receipt over time: a row for each product, a bar for each period.
///
/// The drawings stretch with the page. Labels are text of the page.
struct PurchaseChart {
    let records: InAppPurchases

    /// Products with the most recent purchases. More rows would not fit a page.
    private static let productLimit = 12
    private static let width = 1000.0
    /// A purchase without an end has this width.
    private static let markWidth = 5.0

    private struct Period {
        let start: Int64
        let end: Int64?
        let isRefunded: Bool
        let title: String
    }

    var html: String {
        let rows = products
        let dates = rows.flatMap { $0.periods.flatMap { [$0.start, $0.end ?? $0.start] } }
        guard let first = dates.min(), let last = dates.max() else { return "" }
        let length = max(Double(last) - Double(first), 1)
        func x(_ date: Int64) -> Double {
            ((Double(date) - Double(first)) / length * (Self.width - Self.markWidth)).rounded()
        }
        var text = "<div class=\"timeline\">"
        for row in rows {
            text +=
                "<p>\(row.product.htmlEscapedIdentifier)</p>"
                + "<svg viewBox=\"0 0 \(Self.width) 9\" preserveAspectRatio=\"none\" role=\"img\" "
                + "aria-label=\"purchases over time\">"
                + "<rect class=\"axis\" y=\"4\" width=\"\(Self.width)\" height=\"1\"/>"
            for period in row.periods {
                let start = x(period.start)
                let end = max(x(period.end ?? period.start), start + Self.markWidth)
                text +=
                    "<rect class=\"\(period.isRefunded ? "refund" : "period")\" x=\"\(start)\" "
                    + "width=\"\(max(end - start - 2, 3))\" height=\"9\">"
                    + "<title>\(period.title.htmlEscaped)</title></rect>"
            }
            text += "</svg>"
        }
        return text + "<p class=\"ends\"><span>\(Self.date(first))</span>"
            + "<span>\(Self.date(last))</span></p></div>"
    }

    /// The products in the order of their first record, the latest ones if there are many.
    private var products: [(product: String, periods: [Period])] {
        var rows: [(product: String, periods: [Period])] = []
        var indices: [String: Int] = [:]
        for record in records {
            guard let date = record.purchaseDate else { continue }
            let product = String((record.productId ?? "?").prefix(80))
            if indices[product] == nil {
                indices[product] = rows.count
                rows.append((product, []))
            }
            let end = record.expiresDate.flatMap { $0 > date ? $0.milliseconds : nil }
            let until = end.map { " to " + Timestamp(milliseconds: $0).rfc3339 } ?? ""
            rows[indices[product]!].periods.append(
                Period(
                    start: date.milliseconds, end: end,
                    isRefunded: record.cancellationDate != nil,
                    title: "\(product) \(date.rfc3339)\(until)"))
        }
        return Array(rows.suffix(Self.productLimit))
    }

    private static func date(_ milliseconds: Int64) -> String {
        Timestamp(milliseconds: milliseconds).rfc3339
    }
}
