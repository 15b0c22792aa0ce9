import Assay
import AssayAdmin
import AssayBytes
import AssayCommandLine
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
        return (lines + self.lines(withOwners: false)).joined(separator: "\n")
    }

    /// The lines about what the customer owns.
    ///
    /// - Parameter withOwners: whether each entry has its date, account and app transaction.
    func lines(withOwners: Bool) -> [String] {
        var lines: [String] = []
        for app in apps {
            let name = TerminalText.escaped(app.title)
            lines.append("\(name) at \(at.rfc3339)")
            let rows = app.rows.flatMap { row in
                let product = row.product.shortened(to: ExplanationLimits.valueLength)
                let line = (
                    name: TerminalText.escaped(product), value: TerminalText.escaped(row.state)
                )
                return withOwners && !row.owner.isEmpty
                    ? [line, (name: "", value: TerminalText.escaped(row.owner))] : [line]
            }
            lines += ReportFields.table(rows)
            if rows.isEmpty { lines.append("  no purchases") }
            if app.customers.isConflicting {
                lines.append("  CONFLICT: the evidence is of several customers")
            }
            lines.append("")
        }
        if apps.isEmpty { lines += ["no evidence of a purchase", ""] }
        lines += remarks.map { TerminalText.escaped($0) }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }
}
