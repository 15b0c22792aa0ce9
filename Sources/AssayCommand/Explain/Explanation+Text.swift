import Assay
import AssayAdmin
import AssayEntitlements
import AssayModels
import AssayServer

extension ExplanationSet {
    /// The readable explanation.
    var text: String {
        var lines: [String] = []
        for item in items {
            lines += item.explanation.lines(item.label)
            lines.append("")
        }
        if omitted > 0 {
            lines.append(
                "\(omitted) more items are left out; 'assay entitlements' takes any number")
            lines.append("")
        }
        if let entitlements {
            let evidence = items.map {
                EvidenceItem($0.explanation.verification, label: $0.label)
            }
            lines.append("WHAT THE CUSTOMER OWNS, by the items that are VALID")
            lines.append(entitlements.text(evidence))
            if omittedEntries > 0 {
                lines.append(
                    "\(omittedEntries) more entries are left out; 'assay entitlements' prints all")
            }
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}

extension Explanation {
    func lines(_ label: String) -> [String] {
        let kind = verification.kind?.name ?? "of no known kind"
        var lines = [
            "\(verification.verdict.name): \(TerminalText.escaped(label)), \(kind)",
            "  " + TerminalText.escaped(verification.detail),
        ]
        for (name, key) in [
            ("dedupKey", verification.dedupKey), ("evidenceKey", verification.evidenceKey),
        ] {
            guard let key = key?.prefix(ExplanationLimits.valueLength) else { continue }
            lines.append("  \(name) " + TerminalText.escaped(String(key)))
        }
        for section in sections { lines += section.lines }
        if omittedSections > 0 {
            lines.append("  the checks of \(omittedSections) more members are left out")
        }
        lines += ["", "CERTIFICATES", "  " + TerminalText.escaped(trust)]
        let certificates = certificates
        for (index, certificate) in certificates.enumerated() {
            lines.append("  certificate \(index + 1) of \(certificates.count)")
            lines += Self.table(certificate.rows, indent: "    ")
        }
        for content in contents { lines += content.lines }
        if !inspection.problems.isEmpty {
            lines += ["", "WHAT LOOKS WRONG"]
            lines += inspection.problems.prefix(ExplanationLimits.problems).map {
                "  " + TerminalText.escaped($0)
            }
        }
        return lines
    }

    fileprivate static func table(
        _ rows: [(name: String, value: String)], indent: String
    ) -> [String] {
        let rows = rows.map { (TerminalText.escaped($0.name), TerminalText.escaped($0.value)) }
        let width = min(rows.map(\.0.count).max() ?? 0, 32)
        return rows.map { "\(indent)\($0.0.padded(to: width))  \($0.1)" }
    }
}

extension Explanation.Section {
    fileprivate var lines: [String] {
        let place = member.isEmpty ? "" : " OF " + TerminalText.escaped(member)
        var lines = ["", "CHECKS\(place)"]
        for step in checks {
            let outcome = step.outcome == .failed ? "FAILED" : step.outcome.rawValue
            lines.append("  \(outcome.padded(to: 11))  \(step.check.statement)")
            var compared: [String] = []
            if let found = step.found { compared.append("found \(found)") }
            if let expected = step.expected { compared.append("accepted \(expected)") }
            guard !compared.isEmpty else { continue }
            let text = TerminalText.escaped(compared.joined(separator: "; "))
            lines.append("               " + text)
        }
        return lines
    }
}

extension Explanation.Content {
    fileprivate var lines: [String] {
        let mark = isVerified ? "verified" : "NOT VERIFIED: trust nothing here"
        var lines = ["", "\(TerminalText.escaped(title).uppercased()) (\(mark))"]
        if let fields {
            lines += Explanation.table(
                fields.shown.map { ($0.name, $0.value + ($0.meaning.map { "  (\($0))" } ?? "")) },
                indent: "  ")
            if fields.omitted > 0 { lines.append("  \(fields.omitted) more fields are left out") }
        }
        if let text { lines.append("  " + TerminalText.escaped(text)) }
        guard recordCount > 0 else { return lines }
        lines.append("  in-app records: \(recordCount)")
        if recordCount > records.count {
            lines.append(
                "  the newest \(records.count); \(recordCount - records.count) are left out")
        }
        for record in records {
            let words = [
                record.productId ?? "?", record.transactionId ?? "?",
                "bought " + (record.purchaseDate?.rfc3339 ?? "?"),
                record.expiresDate.map { "expires " + $0.rfc3339 } ?? "", record.remarks,
            ]
            let text = words.filter { !$0.isEmpty }.joined(separator: ", ")
            lines.append("    " + TerminalText.escaped(text))
        }
        lines.append("  timeline")
        for event in TimelineEvent.all(of: records) {
            lines.append("    \(event.date.rfc3339)  \(TerminalText.escaped(event.text))")
        }
        return lines
    }
}
