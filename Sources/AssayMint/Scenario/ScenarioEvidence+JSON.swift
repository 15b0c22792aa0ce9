extension ScenarioEvidence {
    /// The member that says what a file of evidence is; exactly one is there.
    private static let forms = [
        "transaction", "renewalInfo", "appTransaction", "notification", "receipt", "history",
        "statuses", "transactionInfo", "notificationHistory", "deliver",
    ]

    init(_ node: ScenarioNode) throws(MintError) {
        let found = try node.pairs().filter { Self.forms.contains($0.name) }
        // A notification can have an app transaction inside.
        let isNotification = found.contains { $0.name == "notification" }
        let forms = isNotification ? found.filter { $0.name == "notification" } : found
        guard forms.count == 1, let form = forms.first else {
            throw node.invalid("needs exactly one of " + Self.forms.joined(separator: ", "))
        }
        var known = [form.name, "name", "hold"]
        path = node.path
        switch form.name {
        case "notification":
            known += ScenarioNotification.members
            self.form = .notification(try ScenarioNotification(node, allowing: known))
        case "transaction": self.form = .transaction(try form.node.string())
        case "renewalInfo": self.form = .renewalInfo(try form.node.string())
        case "transactionInfo": self.form = .transactionInfo(try form.node.string())
        case "deliver": self.form = .delivery(try form.node.string())
        case "receipt": self.form = .receipt(try form.node.strings())
        case "history": self.form = .history(try form.node.strings())
        case "appTransaction":
            self.form = .appTransaction
            changes = try form.node.changes()
        case "statuses":
            var statuses: [(transaction: String, status: Int64)] = []
            for (name, status) in try form.node.pairs() {
                statuses.append((name, try status.number()))
            }
            self.form = .statuses(statuses)
        default:
            var list: [ScenarioNotification] = []
            for item in try form.node.list() { list.append(try ScenarioNotification(item)) }
            self.form = .notificationHistory(list)
        }
        if !["notificationHistory", "appTransaction", "deliver", "receipt"].contains(form.name) {
            known.append("change")
        }
        let members = try node.members(known)
        name = try members["name"]?.string()
        isHeld = try members["hold"]?.bool() ?? false
        if let change = members["change"] { changes = try change.changes() }
        guard !isHeld || name != nil else {
            throw node.invalid("is held: it needs a name, by which a later step delivers it")
        }
    }
}

extension ScenarioNotification {
    /// The members of a notification beside its type.
    static let members = [
        "of", "status", "renewalInfo", "appTransaction", "data", "payload", "version",
    ]

    init(_ node: ScenarioNode, allowing known: [String] = []) throws(MintError) {
        let members = try node.members(["notification"] + Self.members + known)
        let type = try node.required("notification", members)
        let words = try type.string().split(separator: " ").map(String.init)
        guard (1...2).contains(words.count) else {
            throw type.invalid("must be a type, or a type and a subtype with a space between")
        }
        self.type = words[0]
        subtype = words.count > 1 ? words[1] : nil
        path = node.path
        transaction = try members["of"]?.string()
        hasRenewalInfo = try members["renewalInfo"]?.bool()
        appTransaction = try members["appTransaction"]?.changes()
        if let version = members["version"] {
            guard try version.number() == 1 else { throw version.invalid("can be 1 alone") }
            isVersion1 = true
        }
        data = try members["data"]?.changes()
        payload = try members["payload"]?.changes() ?? []
        if let status = members["status"] {
            let value = PayloadValue.number(try status.number())
            data = (data ?? []) + [PayloadChange(name: "status", value: value)]
        }
    }
}
