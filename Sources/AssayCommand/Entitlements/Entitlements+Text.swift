import Assay
import AssayAdmin
import AssayEntitlements
import AssayModels

/// The answer as a table with one line per product. Labels are file names, and a server can have
/// decided: each text is escaped.
extension Entitlements {
    func text(_ items: [EvidenceItem]) -> String {
        var lines: [String] = []
        for (index, item) in items.enumerated() where item.verification.verdict != .valid {
            let label = TerminalText.escaped(item.label ?? "item \(index)")
            lines.append(
                "refused: \(label): \(item.verification.verdict.name): "
                    + TerminalText.escaped(item.verification.detail))
        }
        if !lines.isEmpty { lines.append("") }
        for app in apps {
            let name = TerminalText.escaped("\(app.bundleId) (\(app.environment))")
            lines.append("\(name) at \(at.rfc3339)")
            let rows = app.rows.map { row in
                let product = row.product.shortened(to: ExplanationLimits.valueLength)
                return (
                    name: TerminalText.escaped(product), value: TerminalText.escaped(row.state)
                )
            }
            lines += ReportFields.table(rows)
            if rows.isEmpty { lines.append("  no purchases") }
            if app.customers.isConflicting {
                lines.append("  CONFLICT: the evidence is of several customers")
            }
            lines.append("")
        }
        if apps.isEmpty { lines += ["no evidence of a purchase", ""] }
        if isStale { lines.append("stale: the newest evidence is older than --max-age") }
        if let nextChange { lines.append("ask again at \(nextChange.rfc3339)") }
        for moment in refresh {
            let transaction = TerminalText.escaped(moment.transactionId)
            lines.append(
                "ask the App Store about \(transaction) at \(moment.at.rfc3339): "
                    + TerminalText.escaped(moment.reason.rawValue))
        }
        for warning in warnings {
            lines.append("warning: " + TerminalText.escaped(warning.message))
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}
