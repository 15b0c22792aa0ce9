import AssayBytes
import AssayModels

/// Signs the tokens of one file of evidence, and notes what they carry.
struct ScenarioTokens {
    let signer: ScenarioSigner
    let state: ScenarioState
    let evidence: ScenarioEvidence
    /// Milliseconds after the start.
    let now: Int64
    var carried: [ScenarioFile.Carried] = []

    init(
        _ signer: ScenarioSigner, _ state: ScenarioState, _ evidence: ScenarioEvidence,
        _ now: Int64
    ) {
        self.signer = signer
        self.state = state
        self.evidence = evidence
        self.now = now
    }

    func file(_ name: String, _ kind: String, _ content: [UInt8]) -> ScenarioFile {
        ScenarioFile(name: name, kind: kind, content: content, carried: carried)
    }

    // MARK: Tokens

    mutating func transaction(
        _ name: String, _ changes: [PayloadChange] = []
    ) throws(MintError) -> [UInt8] {
        var payload = try state.transaction(name, evidence.path).payload
        payload["signedDate"] = .time(now)
        payload.apply(changes)
        carried.append(.transaction(name: name, payload))
        return try sign(payload)
    }

    mutating func renewal(
        _ original: String, _ changes: [PayloadChange] = []
    ) throws(MintError) -> [UInt8] {
        var payload = try state.renewal(original, evidence.path)
        payload["signedDate"] = .time(now)
        payload.apply(changes)
        carried.append(.renewal(payload))
        return try sign(payload)
    }

    mutating func appTransaction(_ changes: [PayloadChange]) throws(MintError) -> [UInt8] {
        var payload = PayloadMembers()
        payload["receiptType"] = .string("Production")
        payload["appAppleId"] = .number(ScenarioState.appAppleId)
        payload["bundleId"] = .string(ScenarioState.bundleId)
        payload["applicationVersion"] = .string("1.0")
        payload["receiptCreationDate"] = .time(now)
        payload["originalPurchaseDate"] = .time(0)
        payload["originalApplicationVersion"] = .string("1.0")
        payload["appTransactionId"] = .string(ScenarioState.appTransactionId)
        payload["originalPlatform"] = .string("iOS")
        payload.apply(changes)
        carried.append(.appTransaction(payload))
        return try sign(payload)
    }

    private func sign(_ payload: PayloadMembers) throws(MintError) -> [UInt8] {
        try signer.minter.sign(signer.identity.applied(to: payload).json(start: signer.start))
    }

    // MARK: Notifications

    /// A notification as the App Store posts it.
    mutating func notification(
        _ notification: ScenarioNotification, uuid: String
    ) throws(MintError) -> [UInt8] {
        var payload = PayloadMembers()
        payload["notificationType"] = .string(notification.type)
        payload["subtype"] = notification.subtype.map { .string($0) }
        payload["notificationUUID"] = .string(uuid)
        payload["data"] = try data(notification)
        payload["appData"] = try appData(notification)
        payload["version"] = .string("2.0")
        payload["signedDate"] = .time(now)
        payload.apply(notification.payload)
        let token = try sign(payload)
        var writer = JSONWriter()
        writer.object { $0.member("signedPayload", String(decoding: token, as: UTF8.self)) }
        return writer.text
    }

    private mutating func data(
        _ notification: ScenarioNotification
    ) throws(MintError) -> PayloadValue? {
        guard notification.transaction != nil || notification.data != nil else { return nil }
        var data = app(of: nil)
        data["bundleVersion"] = .string("1")
        if let name = notification.transaction {
            let transaction = try state.transaction(name, notification.path)
            data.apply(app(of: transaction.payload).changes)
            data["signedTransactionInfo"] = text(try self.transaction(name, evidence.changes))
            if notification.hasRenewalInfo ?? transaction.payload.renews {
                data["signedRenewalInfo"] = text(try renewal(transaction.original))
            }
        }
        data.apply(notification.data ?? [])
        return .object(data.changes)
    }

    private mutating func appData(
        _ notification: ScenarioNotification
    ) throws(MintError) -> PayloadValue? {
        guard let changes = notification.appTransaction else { return nil }
        var data = app(of: nil)
        data["signedAppTransactionInfo"] = text(try appTransaction(changes))
        return .object(data.changes)
    }

    /// The unsigned members that name the app.
    func app(of payload: PayloadMembers?) -> PayloadMembers {
        var app = PayloadMembers()
        app["appAppleId"] = .number(ScenarioState.appAppleId)
        app["bundleId"] = payload?["bundleId"] ?? .string(ScenarioState.bundleId)
        app["environment"] = payload?["environment"] ?? .string("Production")
        return app
    }

    private func text(_ token: [UInt8]) -> PayloadValue {
        .string(String(decoding: token, as: UTF8.self))
    }

    // MARK: Answers of the Server API

    mutating func history(_ names: [String]) throws(MintError) -> [UInt8] {
        var tokens: [PayloadValue] = []
        for name in names { tokens.append(text(try transaction(name))) }
        var answer = app(of: try names.first.map(payload))
        answer["revision"] = .string("\(signer.start + now)_\(names.count)")
        answer["hasMore"] = .bool(false)
        answer["signedTransactions"] = .array(tokens)
        return json(answer)
    }

    mutating func statuses(
        _ statuses: [(transaction: String, status: Int64)]
    ) throws(MintError) -> [UInt8] {
        var groups: [(name: String, last: [PayloadValue])] = []
        for (name, status) in statuses {
            let transaction = try state.transaction(name, evidence.path)
            var last = PayloadMembers()
            last["originalTransactionId"] = transaction.payload["originalTransactionId"]
            last["status"] = .number(status)
            last["signedTransactionInfo"] = text(try self.transaction(name))
            last["signedRenewalInfo"] = text(try renewal(transaction.original))
            let group = transaction.payload.string("subscriptionGroupIdentifier") ?? ""
            if let index = groups.firstIndex(where: { $0.name == group }) {
                groups[index].last.append(.object(last.changes))
            } else {
                groups.append((group, [.object(last.changes)]))
            }
        }
        var answer = app(of: try statuses.first.map(\.transaction).map(payload))
        answer["data"] = .array(
            groups.map { name, last in
                var group = PayloadMembers()
                group["subscriptionGroupIdentifier"] = .string(name)
                group["lastTransactions"] = .array(last)
                return .object(group.changes)
            })
        return json(answer)
    }

    mutating func transactionInfo(_ name: String) throws(MintError) -> [UInt8] {
        var answer = PayloadMembers()
        answer["signedTransactionInfo"] = text(try transaction(name))
        return json(answer)
    }

    /// - Parameter bodies: notifications as the App Store posts them.
    func notificationHistory(_ bodies: [[UInt8]]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { answer in
            answer.member("hasMore", false)
            answer.array("notificationHistory") { list in
                for body in bodies { list.raw(body) }
            }
        }
        return writer.text
    }

    private func payload(_ name: String) throws(MintError) -> PayloadMembers {
        try state.transaction(name, evidence.path).payload
    }

    /// An answer with the changes of its unsigned members.
    private func json(_ answer: PayloadMembers) -> [UInt8] {
        signer.identity.applied(to: answer.applying(evidence.changes))
            .json(start: signer.start)
    }
}

extension PayloadMembers {
    /// The members as values of an object.
    var changes: [PayloadChange] {
        members.map { PayloadChange(name: $0.name, value: $0.value) }
    }

    /// Whether this is a transaction of a subscription that renews.
    var renews: Bool {
        self["expiresDate"] != nil && string("type") != "Non-Renewing Subscription"
    }
}
