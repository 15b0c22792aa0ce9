import Assay
import AssayBytes
import AssayCommandLine
import AssayEntitlements
import AssayModels
import AssayServer
import AssayStore

/// Prints answers as they come, and at the end what they amount to.
struct ApiPrinter {
    let isJSON: Bool
    let isOneCustomer: Bool
    /// The moment of the entitlements; nil for that of the clock at the end.
    private let moment: Timestamp?
    private(set) var pages = 0
    /// Signed members.
    private(set) var items = 0
    private var evidence: [EvidenceItem] = []
    private var last: StoreAnswer?

    init(isJSON: Bool, isOneCustomer: Bool, at moment: Timestamp? = nil) {
        self.moment = moment
        self.isJSON = isJSON
        self.isOneCustomer = isOneCustomer
    }

    mutating func print(_ answer: StoreAnswer) throws {
        pages += 1
        last = answer
        if let signed = answer.signed {
            items += signed.transactions.count + signed.notifications.count
            if !isJSON { try printLines(signed) }
        }
        if isOneCustomer, let item = answer.evidence(label: "page \(pages)") {
            evidence.append(item)
        }
        if isJSON { try Output.line(json: json(answer)) }
    }

    /// The report of `assay verify`, or the unsigned body, with the page in front.
    private func json(_ answer: StoreAnswer) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("page", Int64(pages))
            object.member("environment", answer.environment.rawValue)
            if let verification = answer.verification {
                object.name("answer")
                VerificationReport(verification).write(to: &object)
            } else if let body = try? JSONDocument.parse(answer.body) {
                object.name("unsigned")
                object.value(body.root)
            }
        }
        return writer.text
    }

    /// Ends the output, with the entitlements if the answers are those of one customer.
    func finish() throws {
        guard let last else { return }
        let entitlements =
            isOneCustomer && last.verification != nil
            ? Entitlements(of: evidence, at: moment ?? .now) : nil
        if isJSON {
            try Output.line(json: summary(last, entitlements))
        } else {
            try printSummary(last, entitlements)
        }
    }

    private func summary(_ last: StoreAnswer, _ entitlements: Entitlements?) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("environment", last.environment.rawValue)
            object.member("pages", Int64(pages))
            object.member("complete", !(last.signed?.unsigned.hasMore ?? false))
            object.member("revision", last.signed?.unsigned.revision)
            object.member("paginationToken", last.signed?.unsigned.paginationToken)
            object.member("entitlements", raw: entitlements?.json(evidence))
        }
        return writer.text
    }

    private func printSummary(_ last: StoreAnswer, _ entitlements: Entitlements?) throws {
        var lines: [String] = []
        if last.verification == nil {
            lines.append(contentsOf: unsignedLines(last))
        } else {
            let count = "\(items) signed item\(items == 1 ? "" : "s")"
            lines.append(
                "\(last.environment): \(count) on \(pages) page\(pages == 1 ? "" : "s"), verified")
            if let unsigned = last.signed?.unsigned, unsigned.hasMore == true {
                let token = unsigned.revision ?? unsigned.paginationToken ?? ""
                lines.append(
                    "there is more: add --all, or --from " + TerminalText.escaped(token))
            } else if let revision = last.signed?.unsigned.revision {
                lines.append(
                    "for what changes later: --from " + TerminalText.escaped(revision))
            }
            for warning in last.signed?.warnings ?? [] where warning.code != .incomplete {
                lines.append("warning: " + TerminalText.escaped(warning.message))
            }
        }
        if let entitlements { lines += ["", entitlements.text(evidence)] }
        try Output.line(lines.joined(separator: "\n"))
    }

    private func unsignedLines(_ answer: StoreAnswer) -> [String] {
        let members = (try? JSONDocument.parse(answer.body))?.root.members?.pairs ?? []
        let lines = members.map { name, value in
            TerminalText.escaped(
                "\(name): " + (value.string ?? String(decoding: value.raw, as: UTF8.self)))
        }
        return ["\(answer.environment) accepted the request"] + lines
    }

    // MARK: Items

    private func printLines(_ answer: ServerAnswer) throws {
        var lines: [String] = []
        for transaction in answer.transactions { lines.append(transaction.payload.line) }
        for notification in answer.notifications { lines.append(notification.line) }
        if let app = answer.appTransaction?.payload {
            lines.append(
                "app transaction \(app.appTransactionId ?? "?"), version "
                    + (app.originalApplicationVersion ?? "?") + " first"
                    + (app.originalPurchaseDate.map { ", got \($0.rfc3339)" } ?? ""))
        }
        guard !lines.isEmpty else { return }
        try Output.line(lines.map { TerminalText.escaped($0) }.joined(separator: "\n"))
    }
}

extension JWSTransactionDecodedPayload {
    /// One transaction on one line.
    fileprivate var line: String {
        var words = [transactionId ?? "?", productId ?? "?"]
        if let purchaseDate { words.append("bought \(purchaseDate.rfc3339)") }
        if let expiresDate { words.append("until \(expiresDate.rfc3339)") }
        if let revocationDate { words.append("revoked \(revocationDate.rfc3339)") }
        if isUpgraded == true { words.append("upgraded") }
        return words.joined(separator: "  ")
    }
}

extension VerifiedNotification {
    /// One notification on one line.
    fileprivate var line: String {
        let payload = notification.payload
        var words = [payload.signedDate?.rfc3339 ?? "?", payload.notificationType?.rawValue ?? "?"]
        if let subtype = payload.subtype { words.append(subtype.rawValue) }
        if let transaction = transaction?.payload {
            words += [transaction.transactionId ?? "?", transaction.productId ?? "?"]
        }
        return words.joined(separator: "  ")
    }
}
