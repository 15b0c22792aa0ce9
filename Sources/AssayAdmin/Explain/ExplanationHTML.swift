import Assay
import AssayBytes
import AssayHTML
import AssayModels

/// One explanation as parts of a page.
struct ExplanationHTML {
    let explanation: Explanation

    /// Every check, the certificates, the contents and what could not be read.
    var details: String {
        "<div class=\"columns explain\">\n" + sections + trust
            + explanation.contents.map(content).joined() + problems + "</div>\n"
    }

    /// The verdict in words, and the keys.
    var verdict: String {
        let verification = explanation.verification
        let kind = verification.kind?.name ?? "of no known kind"
        let environment = verification.environment.map { ", " + $0.rawValue } ?? ""
        let subject = (explanation.subject + environment).htmlEscaped
        let seen = explanation.isVerified ? "" : " claimed"
        return """
            <section class="card verdict">\
            <span class="pill \(explanation.isVerified ? "good" : "bad")">\
            \(verification.verdict.name)</span>
            <span>\(subject), \(explanation.inspection.byteCount.grouped) bytes\
            \(explanation.inspection.likelyKind.map { $0.name == kind ? "" : ",\(seen) \($0.name)" }
                ?? "")</span>
            <p><b>\(verification.verdict.meaning.htmlEscaped)</b></p>\
            <p>\(verification.detail.htmlEscaped)</p>\(keys)</section>

            """
    }

    private var keys: String {
        explanation.keys.map { name, value in
            let text = String(value.prefix(ExplanationLimits.valueLength)).htmlEscaped
            return "<p>\(name) <code>\(text)</code></p>"
        }.joined()
    }

    // MARK: Checks

    private var sections: String {
        var text = ""
        for section in explanation.sections {
            let name = section.member.isEmpty ? "Checks" : "Checks of " + section.member.htmlEscaped
            let failed = section.checks.contains { $0.outcome == .failed }
            let passed = section.checks.count { $0.outcome == .passed }
            let count = "\(passed) of \(section.checks.count) passed"
            // Of many members only the failed one is open.
            let isOpen = section.member.isEmpty || failed
            text +=
                "<details class=\"card\"\(isOpen ? " open" : "")><summary><b>\(name)</b> "
                + "<small>\(count)</small></summary><ol class=\"checks\">"
            for step in section.checks { text += Self.item(step) }
            text += "</ol></details>\n"
        }
        if explanation.omittedSections > 0 {
            text +=
                "<p>The checks of \(explanation.omittedSections) more members are left "
                + "out.</p>\n"
        }
        return text
    }

    /// - Parameter location: the item and member; empty for none.
    static func item(_ step: Explanation.Step, at location: String = "") -> String {
        let outcome = step.outcome == .notReached ? "notreached" : step.outcome.rawValue
        let start = location.isEmpty ? "" : location.htmlEscaped + ": "
        var text = "<li class=\"\(outcome)\"><b>\(start)\(step.check.statement.htmlEscaped)"
        text += step.outcome == .passed ? "</b>" : ": \(step.outcome.rawValue)</b>"
        if step.found != nil || step.expected != nil {
            text += "<dl>"
            if let found = step.found { text += "<dt>found</dt><dd>\(found.htmlEscaped)</dd>" }
            if let expected = step.expected {
                text += "<dt>accepted</dt><dd>\(expected.htmlEscaped)</dd>"
            }
            text += "</dl>"
        }
        return text + "</li>"
    }

    // MARK: Certificates

    private var trust: String {
        let certificates = explanation.certificates
        var text =
            "<section class=\"card\"><h2>Certificates</h2>"
            + "<p>\(explanation.trust.htmlEscaped)</p>"
        if certificates.isEmpty { text += "<p class=\"empty\">none could be read</p>" }
        for certificate in certificates {
            text += "<table class=\"fields\">"
            for (name, value) in certificate.rows {
                text += "<tr><td class=\"name\">\(name)</td><td>\(value.htmlEscaped)</td></tr>"
            }
            text += "</table><br>"
        }
        return text + "</section>\n"
    }

    // MARK: Contents

    private func content(_ content: Explanation.Content) -> String {
        let mark =
            content.isVerified
            ? "<span class=\"mark good\">VERIFIED</span>"
            : "<span class=\"mark bad\">NOT VERIFIED</span>"
        var text =
            "<section class=\"card\(content.isVerified ? "" : " unverified")\">"
            + "<h2>\(content.title.htmlEscaped)\(mark)</h2>"
        if !content.isVerified {
            text += "<p>No signature that holds covers this. Trust nothing here.</p>"
        }
        if let fields = content.fields { text += table(fields) }
        if let raw = content.text { text += "<p><code>\(raw.htmlEscaped)</code></p>" }
        return text + records(of: content) + "</section>\n"
    }

    private func table(_ fields: ExplanationFields) -> String {
        var text = "<table class=\"fields\">"
        for field in fields.shown {
            let meaning = field.meaning.map { "<small>\($0.htmlEscaped)</small>" } ?? ""
            text +=
                "<tr><td class=\"name\">\(field.name.htmlEscaped)</td>"
                + "<td>\(field.value.htmlEscaped)\(meaning)</td></tr>"
        }
        text += "</table>"
        if fields.omitted > 0 {
            text += "<p>\(fields.omitted.grouped) more fields are left out.</p>"
        }
        return text
    }

    private func records(of content: Explanation.Content) -> String {
        guard content.recordCount > 0 else { return "" }
        let omitted = content.recordCount - content.records.count
        var text = "<h2>\(content.recordCount.grouped) in-app records</h2>"
        if omitted > 0 {
            text +=
                "<p>The newest \(content.records.count); \(omitted.grouped) are left out. "
                + "<code>assay verify</code> prints all.</p>"
        }
        text += PurchaseChart(records: content.records).html
        let head = ["product", "transaction", "bought", "expires", "remarks"]
        text +=
            "<div class=\"scroll\"><table class=\"wide records\"><tr class=\"head\">"
            + head.map { "<th>\($0)</th>" }.joined() + "</tr>"
        for record in content.records {
            let cells = [
                (record.productId ?? "").htmlEscapedIdentifier,
                (record.transactionId ?? "").htmlEscaped,
                record.purchaseDate?.rfc3339 ?? "", record.expiresDate?.rfc3339 ?? "",
                record.remarks.htmlEscaped,
            ]
            text += "<tr>"
            for (name, cell) in zip(head, cells) {
                text += "<td data-label=\"\(name)\">\(cell)</td>"
            }
            text += "</tr>"
        }
        return text + "</table></div>"
    }

    private var problems: String {
        let problems = explanation.inspection.problems.prefix(ExplanationLimits.problems)
        guard !problems.isEmpty else { return "" }
        let items = problems.map { "<li>\($0.htmlEscaped)</li>" }.joined()
        return "<section class=\"card\"><h2>What looks wrong</h2><ul>\(items)</ul></section>\n"
    }
}

extension InspectedCertificate {
    /// The fields of a certificate with their names.
    package var rows: [(name: String, value: String)] {
        var rows: [(String, String)] = []
        if let fault { rows.append(("fault", fault)) }
        if let fields {
            rows += [
                ("subject", fields.subject), ("issuer", fields.issuer), ("serial", fields.serial),
                ("valid", "\(fields.notBefore.rfc3339) to \(fields.notAfter.rfc3339)"),
                ("key", fields.key + (fields.isCA ? ", an authority" : "")),
                ("markers", fields.markers.isEmpty ? "none of Apple's" : fields.markers),
            ]
        }
        return rows + [("sha256", fingerprint.description)]
    }
}

extension InAppPurchaseReceipt {
    /// Trial, offer and refund.
    package var remarks: String {
        var remarks: [String] = []
        if isTrialPeriod == true { remarks.append("trial") }
        if isInIntroOfferPeriod == true { remarks.append("introductory offer") }
        if let promotionalOfferId { remarks.append("offer \(promotionalOfferId)") }
        if let cancellationDate { remarks.append("refunded \(cancellationDate.rfc3339)") }
        if let quantity, quantity != 1 { remarks.append("quantity \(quantity)") }
        remarks += unknownAttributes.map(\.summary)
        return remarks.joined(separator: ", ")
    }
}
