import AssayHTML
import AssayMint
import AssayModels

extension StorePage {
    var sentTable: String {
        let entries = store.notifications.entries.suffix(Self.notificationRows).reversed()
        guard !entries.isEmpty else { return "" }
        let rows = entries.map { entry in
            """
            <tr><td data-label="made">\(Self.time(entry.made))</td>\
            <td data-label="notification"><code>\(entry.notification.words.htmlEscaped)</code></td>\
            <td data-label="customer">\(entry.customer.map(String.init) ?? "–")</td>\
            <td data-label="environment">\(entry.notification.environment.htmlEscaped)</td>\
            <td data-label="result">\(Self.pill(entry))</td></tr>
            """
        }
        return """
            <section class="card"><h2>Notifications</h2>
            <p>The last \(rows.count) of \(store.notifications.entries.count), newest first.</p>
            <table class="wide"><tr class="head"><th>made</th><th>notification</th>\
            <th>customer</th><th>environment</th><th>result</th></tr>\(rows.joined())</table>
            </section>
            """
    }

    var requestTable: String {
        let entries = store.requests.entries.reversed()
        guard !entries.isEmpty else { return "" }
        let rows = entries.map { entry in
            """
            <tr><td data-label="time">\
            \(String(Self.time(Timestamp(milliseconds: entry.time)).suffix(5)))</td>\
            <td data-label="request">\
            <code>\(entry.method.rawValue) \(entry.path.htmlEscaped)</code></td>\
            <td data-label="status"><span class="\(entry.status < 400 ? "good" : "bad")">\
            \(entry.status)</span></td>\
            <td data-label="note">\(entry.note?.htmlEscaped ?? "")</td></tr>
            """
        }
        return """
            <section class="card"><h2>Requests of the backend</h2>
            <p>The last \(rows.count) of \(store.requests.total), newest first, by this machine's \
            clock.</p>
            <table class="wide"><tr class="head"><th>time</th><th>request</th><th>status</th>\
            <th>note</th></tr>\(rows.joined())</table></section>
            """
    }
}
