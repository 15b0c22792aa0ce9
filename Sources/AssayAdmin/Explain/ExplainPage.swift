import Assay
import AssayBytes
import AssayHTML
import AssayModels
import AssayServer

/// The page `/explain`: a form, and the explanation of what it sent. Self-contained, without
/// scripts. Escapes everything that evidence or configuration contain.
struct ExplainPage {
    /// The names of the app entries.
    let apps: [String]
    var choice = ExplainChoice()
    var result: ExplanationSet?
    /// What is wrong with the form.
    var problem: String?

    /// Whether the evidence's bundle id can choose the app entry. With a single entry, or one for
    /// any app, there is nothing to choose.
    var offersBundleId: Bool { apps.count > 1 && !apps.contains("") }

    var html: String {
        let title = result.map { $0.isVerified ? "VALID" : "refused" } ?? "explain"
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>Assay: \(title)</title>
            <style>\(StatusStyle.css)\(ExplainStyle.css)</style></head><body>
            <header><h1>Assay</h1><span class="pill \(style)">\(title)</span>
            <p>Why evidence gets its verdict. Nothing is stored or logged.</p></header>
            <main>
            \(notice)\(body)
            </main>
            <footer><a href="/explain">explain another</a> · <a href="/status">/status</a></footer>
            </body></html>

            """
    }

    private var style: String {
        guard let result else { return problem == nil ? "good" : "warn" }
        return result.isVerified ? "good" : "bad"
    }

    private var notice: String {
        guard let problem else { return "" }
        return "<section class=\"card\"><p class=\"bad\">\(problem.htmlEscaped)</p></section>\n"
    }

    private var body: String {
        guard let result else { return form }
        var text =
            choice.app.isEmpty
            ? "" : "<p>By the policy of the app entry <b>\(choice.app.htmlEscaped)</b>.</p>\n"
        for (index, item) in result.items.enumerated() {
            if result.items.count > 1 {
                text += "<h2 class=\"item\">\(name(index, item))</h2>\n"
            }
            text += ExplanationHTML(explanation: item.explanation).verdict
        }
        if result.omitted > 0 {
            text +=
                "<p>\(result.omitted.grouped) more items are left out: a page shows at most "
                + "\(ExplanationSet.itemLimit), and takes \(AdminSite.pageSeconds) seconds. "
                + "<code>assay entitlements</code> takes all.</p>\n"
        }
        return text + entitlements(of: result) + next(of: result) + failures(of: result)
            + problems(of: result) + details(of: result)
            + "<details><summary>Explain another item</summary>\(form)</details>\n"
    }

    private func name(_ index: Int, _ item: ExplanationSet.Item) -> String {
        "\(index + 1). \(item.label)".htmlEscaped
    }

    private func next(of result: ExplanationSet) -> String {
        let groups = result.next
        var text = "<section class=\"card\"><h2>What to do next</h2>"
        for (labels, texts) in groups {
            if groups.count > 1 { text += "<h3>\(labels.htmlEscaped)</h3>" }
            text += "<ul>" + texts.map { "<li>\($0.htmlEscaped)</li>" }.joined() + "</ul>"
        }
        return text + "</section>\n"
    }

    private func failures(of result: ExplanationSet) -> String {
        let failures = result.failures
        guard !failures.isEmpty else { return "" }
        let title = failures.count == 1 ? "Failed check" : "Failed checks"
        var text = "<section class=\"card\"><h2>\(title)</h2><ol class=\"checks\">"
        for (label, member, step) in failures {
            let location = [result.items.count > 1 ? label : "", member].filter { !$0.isEmpty }
            text += ExplanationHTML.item(step, at: location.joined(separator: ", "))
        }
        return text + "</ol></section>\n"
    }

    private func problems(of result: ExplanationSet) -> String {
        let items = result.problems.map { label, text in
            let location = result.items.count > 1 ? label + ": " : ""
            return "<li>\((location + text).htmlEscaped)</li>"
        }
        return items.isEmpty
            ? ""
            : "<section class=\"card\"><h2>What looks wrong</h2><ul>\(items.joined())</ul>"
                + "</section>\n"
    }

    /// The rest, folded.
    private func details(of result: ExplanationSet) -> String {
        var text = ""
        for (index, item) in result.items.enumerated() {
            let start = result.items.count > 1 ? name(index, item) + ": every" : "Every"
            text +=
                "<details class=\"all\"><summary>\(start) check, the certificates and the payload"
                + "</summary>\n\(ExplanationHTML(explanation: item.explanation).details)"
                + "</details>\n"
        }
        return text
    }

    private func entitlements(of result: ExplanationSet) -> String {
        guard let entitlements = result.entitlements else { return "" }
        var text = "<section class=\"card\"><h2>What the customer owns</h2>"
        text += "<p>By the items that are VALID, at \(result.now.rfc3339).</p>"
        for app in entitlements.apps {
            let name = app.title.htmlEscaped
            text += "<h3>\(name)</h3><table class=\"fields\">"
            let rows = app.rows
            for row in rows {
                let owner = row.owner.isEmpty ? "" : "<small>\(row.owner.htmlEscaped)</small>"
                text +=
                    "<tr><td class=\"name\">\(row.product.htmlEscapedIdentifier)</td>"
                    + "<td>\(row.state.htmlEscaped)\(owner)</td></tr>"
            }
            text += rows.isEmpty ? "<tr><td>no purchases</td></tr></table>" : "</table>"
            if app.customers.isConflicting {
                text += "<p class=\"bad\">The evidence is of several customers.</p>"
            }
        }
        if entitlements.apps.isEmpty { text += "<p class=\"empty\">no evidence of a purchase</p>" }
        for remark in entitlements.remarks { text += "<p>\(remark.htmlEscaped)</p>" }
        if let superseded = result.superseded { text += "<p>\(superseded.htmlEscaped)</p>" }
        if result.omittedEntries > 0 {
            text +=
                "<p>\(result.omittedEntries.grouped) more entries are left out. "
                + "<code>assay entitlements</code> prints all.</p>"
        }
        return text + "</section>\n"
    }

    // MARK: Form

    private var form: String {
        func option(_ value: String, _ text: String, _ chosen: String) -> String {
            "<option value=\"\(value.htmlEscaped)\"\(value == chosen ? " selected" : "")>"
                + "\(text.htmlEscaped)</option>"
        }
        let apps =
            (offersBundleId ? [option("", "by the bundle id", choice.app)] : [])
            + apps.map { option($0, $0.isEmpty ? "any app" : $0, choice.app) }
        let kinds =
            [option("auto", "detect it", choice.kind)]
            + EvidenceKind.allCases.map { option($0.name, $0.name, choice.kind) }
        let environments =
            [option("", "as the app entry", choice.environment)]
            + StoreEnvironment.known.map { option($0.rawValue, $0.rawValue, choice.environment) }
        return """
            <form class="card" method="post" action="/explain" enctype="multipart/form-data">
            <label>Evidence: a token, a notification's body, a receipt in base64, a Server API \
            answer, or a token on each line
            <textarea name="evidence" spellcheck="false" autocomplete="off"></textarea></label>
            <label>Or files: choose them, or drop them here
            <input type="file" name="file" multiple></label>
            <div class="choices">
            <label>App entry<select name="app">\(apps.joined())</select></label>
            <label>Kind<select name="kind">\(kinds.joined())</select></label>
            <label>Environment<select name="environment">\(environments.joined())</select></label>
            </div>
            <label>The customer's appAccountToken: marks purchases of another account
            <input name="account" maxlength="36" autocomplete="off" \
            value="\(choice.account.htmlEscaped)"></label>
            <button>Explain</button></form>

            """
    }
}

extension ExplanationSet {
    /// The page.
    package var html: String { ExplainPage(apps: [], result: self).html }
}

/// What the form chose.
struct ExplainChoice {
    var app = ""
    var kind = "auto"
    /// Empty for those of the app entry.
    var environment = ""
    /// The customer's appAccountToken; empty for any.
    var account = ""
}
