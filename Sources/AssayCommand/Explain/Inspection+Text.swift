import Assay
import AssayBytes
import AssayCommandLine
import AssayModels

extension Inspection {
    /// The readable inspection. Each section begins with UNVERIFIED.
    var text: String {
        var bytes = ExplanationLimits.contentBytes
        return ([Self.warning] + lines(within: &bytes)).joined(separator: "\n")
    }

    /// - Parameter bytes: what is left of the limit of names and values.
    private func lines(within bytes: inout Int) -> [String] {
        var lines = ["", Self.title("evidence", in: member)]
        lines += ReportFields.table([
            ("format", format?.name ?? "unknown"),
            ("seems to be", likelyKind?.name ?? "of no known kind"),
            ("bytes", "\(byteCount)"),
        ])
        if !problems.isEmpty {
            lines.append("  problems")
            lines += problems.prefix(ExplanationLimits.problems).map {
                "    " + TerminalText.escaped($0)
            }
        }
        if let header { lines += section("header", header.root, &bytes) }
        for (index, certificate) in certificates.enumerated() {
            let name = "certificate \(index + 1) of \(certificates.count)"
            lines +=
                ["", Self.title(name, in: member)] + ReportFields.table(certificate.fieldTexts)
        }
        if let payload { lines += section("payload", payload.root, &bytes) }
        if let receipt, recordCount > receipt.inApp.count {
            lines.append(
                "  the newest \(receipt.inApp.count) in-app records; "
                    + "\(recordCount - receipt.inApp.count) are left out")
        }
        if let payloadText {
            lines += ["", Self.title("payload that can't be read", in: member)]
            lines.append("  " + TerminalText.escaped(payloadText))
        }
        for inspection in nested { lines += inspection.lines(within: &bytes) }
        return lines
    }

    private func section(_ name: String, _ value: JSONValue, _ bytes: inout Int) -> [String] {
        // A record of a receipt has up to 20 fields.
        var fields = ReportFields(
            fields: ExplanationLimits.fields + 20 * (receipt?.inApp.count ?? 0), bytes: bytes,
            showsLongTexts: true)
        fields.add(value, "")
        fields.addAttributes(of: value)
        fields.addLists(of: value)
        bytes = fields.bytes
        let omitted = fields.omitted
        return ["", Self.title(name, in: member)] + ReportFields.table(fields.shown)
            + (omitted > 0 ? ["  \(omitted) more fields are left out"] : [])
    }

    private static func title(_ name: String, in member: String) -> String {
        "UNVERIFIED " + name + (member.isEmpty ? "" : " in " + TerminalText.escaped(member))
    }
}

extension InspectedCertificate {
    fileprivate var fieldTexts: [(name: String, value: String)] {
        var texts: [(String, String)] = []
        if let fault { texts.append(("fault", TerminalText.escaped(fault))) }
        if let fields {
            texts.append(("subject", TerminalText.escaped(fields.subject)))
            texts.append(("issuer", TerminalText.escaped(fields.issuer)))
            texts.append(("serial", fields.serial))
            texts.append(("valid", "\(fields.notBefore.rfc3339) to \(fields.notAfter.rfc3339)"))
            texts.append(("key", fields.key + (fields.isCA ? ", an authority" : "")))
            texts.append(("markers", fields.markers.isEmpty ? "none of Apple's" : fields.markers))
        }
        texts.append(("sha256", fingerprint.description))
        return texts
    }
}
