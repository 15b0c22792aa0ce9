import Assay
import AssayBytes

/// Names the option of `assay verify` that takes the evidence inside a file or a line that was
/// refused for its form: `--lines` or `--member`.
enum OptionHint {
    /// Members of an object that are looked at. Evidence is among the first.
    private static let members = 64

    /// The remedy for a file.
    static func text(file: String, _ content: [UInt8]) -> String? {
        let lines = firstLines(content)
        guard let first = lines.first else { return nil }
        if lines.count > 1, lines.allSatisfy({ isEvidence($0) }) {
            return "for one item on each line use --lines \(file)"
        }
        if let name = member(of: first) {
            return "for the evidence in the member \"\(name)\" use --lines \(file) --member \(name)"
        }
        // An object on several lines.
        guard lines.count > 1, let name = member(of: content[...]) else { return nil }
        return "the member \"\(name)\" has evidence: write the object on one line, and use --lines "
            + "\(file) --member \(name)"
    }

    /// The remedy for a line of `--lines`.
    static func text(line: [UInt8]) -> String? {
        member(of: line[...]).map { "for the evidence in the member \"\($0)\" use --member \($0)" }
    }

    /// The first member of an object that has evidence; nil if it has none.
    private static func member(of content: ArraySlice<UInt8>) -> String? {
        guard content.first == UInt8(ascii: "{"),
            let document = try? JSONDocument.parse(Array(content), limit: BulkLimits.lineBytes)
        else { return nil }
        return document.root.members?.pairs.prefix(members).first { _, value in
            value.string.map { isEvidence(Array($0.utf8)[...]) } == true
        }?.name
    }

    private static func isEvidence(_ content: ArraySlice<UInt8>) -> Bool {
        EvidenceForm.detect(Array(content).span).isEvidence
    }

    /// The first two lines that are not empty.
    private static func firstLines(_ content: [UInt8]) -> [ArraySlice<UInt8>] {
        // DER is no text.
        guard content.first != 0x30 || content.count < 2 || content[1] < 0x80 else { return [] }
        return content.split(
            maxSplits: 16, omittingEmptySubsequences: true,
            whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        ).prefix(2).map { $0.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }
    }
}

extension VerificationReport {
    /// Adds the remedy to a refusal for the form.
    func adding(_ hint: @autoclosure () -> String?) -> VerificationReport {
        guard verification.verdict == .malformed, let hint = hint() else { return self }
        var report = self
        report.verification.detail += "; " + hint
        return report
    }
}

extension BulkItem {
    /// The answer with the remedy for its form.
    ///
    /// - Parameter member: the member that had the evidence; nil where the item is the evidence.
    func hinted(_ answer: BulkAnswer, member: String?) -> BulkAnswer {
        guard member == nil, case .verified(let report) = answer,
            case .success(let content) = content
        else { return answer }
        switch source {
        case .line: return .verified(report.adding(OptionHint.text(line: content)))
        case .file(let path):
            return .verified(report.adding(OptionHint.text(file: path, content)))
        }
    }
}
