import Assay
import AssayHTTP
import AssayModels
import AssayServer

/// Answers the requests to `/explain`.
struct ExplainSite {
    /// The app entries by name.
    let apps: [String: AppEntry]
    let now: Timestamp
    /// Whether the time for a page is over.
    let isLate: () -> Bool

    /// The page with an empty form.
    var form: HTTPResponse { page(200, ExplainPage(apps: names)) }

    /// Explains what the form sent.
    func answer(_ body: [UInt8], contentType: String) -> HTTPResponse {
        let form: MultipartForm
        do throws(MultipartError) {
            form = try MultipartForm(body.span, contentType: contentType)
        } catch {
            return refused("\(error)")
        }
        var page = ExplainPage(apps: names)
        var sources = ExplanationSources()
        for part in form.parts {
            func text() -> String {
                String(decoding: body[part.content].prefix(Self.choiceBytes), as: UTF8.self)
            }
            switch part.name {
            case "app": page.choice.app = text()
            case "kind": page.choice.kind = text()
            case "environment": page.choice.environment = text()
            case "account": page.choice.account = text()
            case "evidence", "file":
                let label = part.fileName.map { $0.isEmpty ? "a file" : $0 } ?? "pasted"
                sources.add(body[part.content], label: label)
            default: continue
            }
        }
        let kind = EvidenceKind(name: page.choice.kind)
        guard kind != nil || page.choice.kind == "auto" else {
            return refused("no kind is named \"\(page.choice.kind)\"")
        }
        guard !sources.items.isEmpty else { return refused("paste evidence, or choose a file") }
        if page.choice.app.isEmpty, page.offersBundleId {
            guard let bundleId = Self.bundleId(of: sources.items) else {
                return refused("the evidence names no bundle id: choose an app entry")
            }
            guard let name = names.first(where: { apps[$0]?.policy.bundleId == bundleId }) else {
                return refused("no app entry has the bundle id \"\(bundleId)\": choose one")
            }
            page.choice.app = name
        }
        guard let app = apps[page.choice.app] else {
            return refused("no app entry is named \"\(page.choice.app)\"")
        }
        var expectations = Expectations.none
        if !page.choice.environment.isEmpty {
            expectations.environments = [StoreEnvironment(rawValue: page.choice.environment)]
        }
        if let problem = expectations.problem(of: []) { return refused(problem) }
        let account = page.choice.account.isEmpty ? nil : page.choice.account
        let result = ExplanationSet(
            sources.items, andMore: sources.omitted, as: kind, trust: app.verifier.trust,
            policy: app.policy, revocation: app.verifier.revocation,
            expecting: app.narrowed(expectations), of: account, at: now, until: isLate)
        if let problem = result.problem(ofAccount: account) { return refused(problem) }
        page.result = result
        return self.page(200, page)
    }

    /// The first bundle id that an item names, verified or not.
    private static func bundleId(of sources: [ExplanationSet.Source]) -> String? {
        sources.lazy
            .compactMap { Inspection.bundleId(of: $0.evidence.span) }.first
            .map { String($0.prefix(choiceBytes)) }
    }

    /// The longest value of a choice. Names of app entries are shorter.
    private static let choiceBytes = 256

    private var names: [String] { apps.keys.sorted() }

    private func refused(_ problem: String) -> HTTPResponse {
        var page = ExplainPage(apps: names)
        page.problem = problem
        return self.page(400, page)
    }

    private func page(_ status: Int, _ page: ExplainPage) -> HTTPResponse {
        HTTPResponse(
            status, contentType: "text/html; charset=utf-8",
            // A browser hides the origin of a form's request under the stricter policy.
            fields: [("Referrer-Policy", "same-origin")], body: Array(page.html.utf8))
    }
}
