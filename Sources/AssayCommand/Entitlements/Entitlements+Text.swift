import Assay
import AssayAdmin
import AssayEntitlements
import AssayModels

/// The answer as a table with one line per product.
extension Entitlements {
    func text(_ items: [EvidenceItem]) -> String {
        var lines: [String] = []
        for (index, item) in items.enumerated() where item.verification.verdict != .valid {
            lines.append(
                "refused: \(item.label ?? "item \(index)"): \(item.verification.verdict.name): "
                    + item.verification.detail)
        }
        if !lines.isEmpty { lines.append("") }
        for app in apps {
            lines.append("\(app.bundleId) (\(app.environment)) at \(at.rfc3339)")
            let rows = app.rows
            let width = rows.map(\.product.count).max() ?? 0
            for row in rows { lines.append("  \(row.product.padded(to: width))  \(row.state)") }
            if rows.isEmpty { lines.append("  no purchases") }
            if app.customers.isConflicting {
                lines.append("  CONFLICT: the evidence is of several customers")
            }
            lines.append("")
        }
        if apps.isEmpty { lines += ["no evidence of a purchase", ""] }
        if isStale { lines.append("stale: the newest evidence is older than --max-age") }
        if let nextChange { lines.append("ask again at \(nextChange.rfc3339)") }
        for warning in warnings { lines.append("warning: \(warning.message)") }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}
