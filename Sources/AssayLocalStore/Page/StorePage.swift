import AssayBytes
import AssayHTML
import AssayMint
import AssayModels

/// The page in the browser: customers, their timelines, and what was sent. Self-contained, with
/// plain forms and without scripts. Escapes everything except the store's own numbers.
struct StorePage {
    let store: LocalStore

    /// Customers that the page shows: the newest. GET /customers has all.
    private static let customerRows = 40
    /// Notifications that the page shows: the newest.
    static let notificationRows = 40

    init(_ store: LocalStore) { self.store = store }

    var html: String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Local App Store</title>
        <style>\(StoreStyle.css)</style></head><body>
        \(header)
        <main>
        \(clock)
        <div class="customers">\(customers)</div>
        \(newCustomer)
        \(sentTable)
        \(requestTable)
        </main>
        <footer>Test data, signed by a development authority. Machines read \
        <a href="/customers">/customers</a>, <a href="/notifications">/notifications</a>, \
        <a href="/requests">/requests</a> and <a href="/faults">/faults</a>.</footer>
        </body></html>

        """
    }

    // MARK: Top

    private var header: String {
        let keys =
            store.settings.tokens.acceptsAnyKey
            ? "accepts a token of any key" : "checks the signatures of tokens"
        return """
            <header><h1>Local App Store</h1><span class="pill warn">for development only</span>
            <p><code>\(store.settings.bundleId.htmlEscaped)</code>; \(keys); \(targets)</p>
            </header>
            """
    }

    private var targets: String {
        let texts = [targets(isVersion1: false), targets(isVersion1: true)].compactMap(\.self)
        return texts.isEmpty
            ? "sends notifications nowhere: start it with --notify URL"
            : texts.joined(separator: "; ")
    }

    private func targets(isVersion1: Bool) -> String? {
        let targets = [APIEnvironment.production, .sandbox].map {
            store.settings.target($0, isVersion1: isVersion1)
        }
        let what = isVersion1 ? "notifications of version 1" : "notifications"
        switch (targets[0], targets[1]) {
        case (nil, nil): return nil
        case (let production?, let sandbox?) where production == sandbox:
            return "sends \(what) to <code>\(Self.text(production))</code>"
        case (let production, let sandbox):
            return (isVersion1 ? "version 1: " : "")
                + [(production, "Production"), (sandbox, "Sandbox")].compactMap { target, name in
                    target.map { "\(name) to <code>\(Self.text($0))</code>" }
                }.joined(separator: ", ")
        }
    }

    private static func text(_ target: NotificationTarget) -> String {
        "http://\(target.host)\(target.path)".htmlEscaped
    }

    /// Such as `2026-11-22 09:30`.
    static func time(_ time: Timestamp) -> String {
        let text = time.rfc3339
        return String(text.prefix(10)) + " " + text.dropFirst(11).prefix(5)
    }

    /// The day, with the moment where a pointer rests.
    private static func day(_ milliseconds: Int64) -> String {
        let text = time(Timestamp(milliseconds: milliseconds))
        return "<span class=\"day\" title=\"\(text)\">\(text.prefix(10))</span>"
    }

    // MARK: Time

    private static let jumps = [
        ("1h", "1 hour"), ("1d", "1 day"), ("7d", "7 days"), ("30d", "30 days"),
    ]

    private var clock: String {
        let jumps = Self.jumps.map { duration, words in
            "<button name=\"duration\" value=\"\(duration)\">+ \(words)</button>"
        }.joined()
        let next = store.nextEvent.map { next in
            """
            <form method="post" action="/advance"><button class="main" name="to" value="next">\
            To the next event</button></form><small>\(Self.time(next)): \
            \(nextTitle(next).htmlEscaped)</small>
            """
        }
        let problem = store.problem.map { "<p class=\"bad\">\($0.htmlEscaped)</p>" } ?? ""
        return """
            <section class="card clock"><div><h2>Time of the store</h2>
            <b>\(Self.time(store.now))</b> <small>UTC; it stands still until you move it</small>
            </div><div class="moves"><form method="post" action="/advance">\(jumps)</form>
            \(next ?? "<small>nothing else happens to these customers</small>")</div>\(problem)
            </section>
            """
    }

    private func nextTitle(_ next: Timestamp) -> String {
        for customer in store.customers {
            guard let event = customer.life.nextEvent, event.at == next else { continue }
            return "customer \(customer.number) \(event.title)"
        }
        return store.notifications.next.map { "sends \($0.notification.words) again" } ?? ""
    }

    // MARK: Customers

    private var customers: String {
        let shown = store.customers.filter { !$0.isRemoved }.suffix(Self.customerRows)
        guard !shown.isEmpty else {
            return "<section class=\"card\"><p class=\"empty\">No customer yet: add one below."
                + "</p></section>"
        }
        return shown.map(card).joined(separator: "\n")
    }

    private func card(_ customer: StoreCustomer) -> String {
        let life = customer.life
        return """
            <section class="card"><h2>Customer \(customer.number): \
            \(life.scenario.name.htmlEscaped) \
            <span class="tag">\(customer.environment.rawValue)</span></h2>
            <p>\(life.scenario.summary.htmlEscaped)</p>
            <ol class="line">\(timeline(customer))</ol>
            \(transactions(customer))
            <p class="ids">app account token <code>\(life.identity.appAccountToken)</code><br>
            app transaction id <code>\(life.identity.appTransactionId)</code>\
            \(consumption(customer))</p></section>
            """
    }

    private func consumption(_ customer: StoreCustomer) -> String {
        guard let last = customer.consumption.last else { return "" }
        return "<br>\(customer.consumption.count) consumption reports, the last for "
            + "<code>\(last.transactionId)</code>"
    }

    private func timeline(_ customer: StoreCustomer) -> String {
        let life = customer.life
        let sent = store.notifications.entries.filter { $0.customer == customer.number }
        var rows: [(at: Timestamp, html: String)] = []
        for (index, step) in life.scenario.steps.enumerated() {
            let at = life.start.advanced(by: step.at)
            let style = index < life.stepsTaken ? "past" : "future"
            rows.append(
                (
                    at,
                    "<li class=\"\(style)\"><time>\(Self.time(at))</time> "
                        + "\(step.title.htmlEscaped)</li>"
                ))
        }
        for entry in sent {
            rows.append(
                (
                    entry.made,
                    "<li class=\"sent\"><code>\(entry.notification.words.htmlEscaped)"
                        + "</code> \(Self.pill(entry))</li>"
                ))
        }
        // A stable sort: of one moment the step is before its notifications.
        let sorted = rows.enumerated().sorted {
            ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
        }
        return sorted.map(\.element.html).joined()
    }

    /// What became of a notification.
    static func pill(_ entry: NotificationLog.Entry) -> String {
        guard let last = entry.attempts.last else {
            return entry.next == nil
                ? "<span class=\"soft\">not sent: no URL</span>"
                : "<span class=\"soft\">waits</span>"
        }
        let count = entry.attempts.count
        let times = count > 1 ? ", \(count) attempts" : ""
        if last.result == .success { return "<span class=\"good\">delivered\(times)</span>" }
        let rest = entry.next.map { "; again at \(time($0))" } ?? "; given up"
        let words = last.result.rawValue.lowercased().split(separator: "_").joined(separator: " ")
        return "<span class=\"bad\">\(words)\(times)\(rest)</span>"
    }

    private func transactions(_ customer: StoreCustomer) -> String {
        let life = customer.life
        let subscriptions = life.subscriptions
        let rows = life.transactions.map { transaction in
            var state = ""
            if subscriptions.contains(where: { $0.name == transaction.name }) {
                state = Self.status(life.status(of: transaction, at: store.now))
            } else if transaction.revocationDate != nil {
                state = Self.status(5)
            }
            let end = transaction.expiresDate.map(Self.day)
            return """
                <tr><td data-label="product">\(transaction.productId.htmlEscaped)</td>\
                <td data-label="transaction id"><code>\(transaction.transactionId.htmlEscaped)\
                </code></td><td data-label="bought">\(Self.day(transaction.purchaseDate))</td>\
                <td data-label="until">\(end ?? "–")</td>\
                <td data-label="status">\(state)</td></tr>
                """
        }
        guard !rows.isEmpty else { return "<p class=\"empty\">Has bought nothing yet.</p>" }
        return """
            <div class="scroll"><table class="wide"><tr class="head"><th>product</th>\
            <th>transaction id</th><th>bought</th><th>until</th><th>status</th></tr>\
            \(rows.joined())</table></div>
            """
    }

    private static func status(_ status: Int64) -> String {
        switch status {
        case 1: "<span class=\"good\">active</span>"
        case 3: "<span class=\"bad\">billing retry</span>"
        case 4: "<span class=\"warn\">grace period</span>"
        case 5: "<span class=\"bad\">revoked</span>"
        default: "<span class=\"soft\">expired</span>"
        }
    }

    private var newCustomer: String {
        let names = ((try? Scenario.builtIn) ?? []).map(\.name)
        let options = names.map { "<option>\($0.htmlEscaped)</option>" }.joined()
        return """
            <section class="card"><h2>Another customer</h2>
            <form class="row" method="post" action="/customers"><label>scenario \
            <select name="scenario">\(options)</select></label><label>environment \
            <select name="environment"><option>Production</option><option>Sandbox</option>\
            </select></label><button>Add</button></form></section>
            """
    }
}
