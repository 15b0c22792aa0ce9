import Assay
import AssayAdmin
import AssayBytes
import AssayCommandLine
import AssayEntitlements
import AssayModels
import AssayServer

extension ExplanationSet {
    /// The readable explanation: the answer first.
    ///
    /// - Parameter showsAll: whether every check, the certificates and the payload follow.
    func text(showsAll: Bool) -> String {
        var lines: [String] = []
        for item in items { lines += item.explanation.answer(item.label) + [""] }
        if omitted > 0 {
            lines += [
                "\(omitted) more items are left out; 'assay entitlements' takes any number", "",
            ]
        }
        lines += owned + whatToDo + failedChecks + whatLooksWrong
        if showsAll {
            for item in items {
                if items.count > 1 { lines += ["ITEM " + TerminalText.escaped(item.label)] }
                lines += item.explanation.details + [""]
            }
        } else {
            lines.append(
                "'assay explain --all' shows every check, the certificates and the payload")
        }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }

    private var owned: [String] {
        guard let entitlements else { return [] }
        var lines = ["WHAT THE CUSTOMER OWNS, by the items that are VALID"]
        lines += entitlements.lines(withOwners: true)
        if let superseded { lines.append(TerminalText.escaped(superseded)) }
        if omittedEntries > 0 {
            lines.append(
                "\(omittedEntries) more entries are left out; 'assay entitlements' prints all")
        }
        return lines + [""]
    }

    private var whatToDo: [String] {
        let groups = next
        var lines = ["WHAT TO DO NEXT"]
        for (labels, texts) in groups {
            if groups.count > 1 { lines.append("  \(TerminalText.escaped(labels)):") }
            let indent = groups.count > 1 ? "    " : "  "
            lines += texts.map { indent + TerminalText.escaped($0) }
        }
        return lines + [""]
    }

    private var failedChecks: [String] {
        let failures = failures
        guard !failures.isEmpty else { return [] }
        var lines = [failures.count == 1 ? "FAILED CHECK" : "FAILED CHECKS"]
        for (label, member, step) in failures {
            let location = [items.count > 1 ? label : "", member].filter { !$0.isEmpty }
            lines += step.lines(at: TerminalText.escaped(location.joined(separator: ", ")))
        }
        return lines + [""]
    }

    /// What could not be read of refused items.
    private var whatLooksWrong: [String] {
        let lines = problems.map { label, text in
            "  " + TerminalText.escaped((items.count > 1 ? label + ": " : "") + text)
        }
        return lines.isEmpty ? [] : ["WHAT LOOKS WRONG"] + lines + [""]
    }
}

extension Explanation {
    /// The verdict in words, and the keys.
    fileprivate func answer(_ label: String) -> [String] {
        var lines = [
            "\(verification.verdict.name): "
                + TerminalText.escaped("\(label), \(subject)"),
            "  " + verification.verdict.meaning,
            "  " + TerminalText.escaped(verification.detail),
        ]
        for (name, value) in keys {
            let text = String(value.prefix(ExplanationLimits.valueLength))
            lines.append("  \(name) " + TerminalText.escaped(text))
        }
        return lines
    }

    /// Every check, the certificates, the contents and what could not be read.
    fileprivate var details: [String] {
        var lines: [String] = []
        for section in sections { lines += section.lines + [""] }
        if omittedSections > 0 {
            lines += ["the checks of \(omittedSections) more members are left out", ""]
        }
        lines += ["CERTIFICATES", "  " + TerminalText.escaped(trust)]
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
        let location = member.isEmpty ? "" : " OF " + TerminalText.escaped(member)
        return ["CHECKS\(location)"] + checks.flatMap { $0.lines(at: "") }
    }
}

extension Explanation.Step {
    /// The outcome, and what was compared.
    fileprivate func lines(at location: String) -> [String] {
        let outcome = outcome == .failed ? "FAILED" : outcome.rawValue
        let prefix = location.isEmpty ? "" : location + ": "
        var lines = ["  \(outcome.padded(to: 11))  \(prefix)\(check.statement)"]
        var compared: [String] = []
        if let found { compared.append("found \(found)") }
        if let expected { compared.append("accepted \(expected)") }
        guard !compared.isEmpty else { return lines }
        let text = TerminalText.escaped(compared.joined(separator: "; "))
        lines.append("               " + text)
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
