import Assay
import AssayModels

extension Inspection {
    /// The readable inspection. Each section begins with UNVERIFIED.
    var text: String { ([Self.warning] + lines).joined(separator: "\n") }

    private var lines: [String] {
        var lines = ["", Self.title("evidence", in: member)]
        lines += Self.table([
            ("format", format?.name ?? "unknown"),
            ("seems to be", likelyKind?.name ?? "of no known kind"),
            ("bytes", "\(byteCount)"),
        ])
        if !problems.isEmpty {
            lines.append("  problems")
            lines += problems.map { "    " + TerminalText.escaped($0) }
        }
        if let header { lines += section("header", header.root) }
        for (index, certificate) in certificates.enumerated() {
            let name = "certificate \(index + 1) of \(certificates.count)"
            lines += ["", Self.title(name, in: member)] + Self.table(certificate.fieldTexts)
        }
        if let payload { lines += section("payload", payload.root) }
        if let payloadText {
            lines += ["", Self.title("payload that can't be read", in: member)]
            lines.append("  " + TerminalText.escaped(payloadText))
        }
        for inspection in nested { lines += inspection.lines }
        return lines
    }

    private func section(_ name: String, _ value: JSONValue) -> [String] {
        var fields = VerificationReport.fields(of: value, "")
        // The records of a receipt, and other lists of objects.
        for (name, value) in value.members?.pairs ?? [] {
            let elements = value.elements.map(Array.init) ?? []
            for (index, element) in elements.enumerated() {
                let prefix = TerminalText.escaped(name) + "[\(index)]"
                fields += VerificationReport.fields(of: element, prefix + ".")
            }
        }
        return ["", Self.title(name, in: member)] + Self.table(fields)
    }

    private static func title(_ name: String, in member: String) -> String {
        "UNVERIFIED " + name + (member.isEmpty ? "" : " in " + TerminalText.escaped(member))
    }

    private static func table(_ fields: [(name: String, value: String)]) -> [String] {
        let width = fields.map(\.name.count).max() ?? 0
        return fields.map { "  \($0.name.padded(to: width))  \($0.value)" }
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
