import AssayBytes
import AssayMint
import AssayModels

/// The endpoints that answer in pages.
extension LocalStore {
    func history(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String, _ fault: StoreFault?
    ) throws(AppleError) -> StoreResponse {
        let index = try customer(call.parameters[0], call.environment)
        let query = try HistoryParameters(request.query)
        let finished = customers[index].finished
        let all = customers[index].transactions(call.environment).filter { transaction in
            // Version 1 forgets consumables when the app has finished them.
            let isGone =
                call.variant == "v1" && transaction.type == "Consumable"
                && finished.contains(transaction.name)
            return transaction.bundleId == bundle && !isGone && query.admits(transaction)
        }
        let page = HistoryPage(
            all, after: query.revision, isDescending: query.isDescending,
            size: settings.pageSize, now: now.milliseconds, query: query.hash)
        return try answer(page, all, query.revision, index, call, bundle, fault, hasApp: true)
    }

    func refunds(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String, _ fault: StoreFault?
    ) throws(AppleError) -> StoreResponse {
        let index = try customer(call.parameters[0], call.environment)
        let query = try HistoryParameters(request.query)
        let all = customers[index].transactions(call.environment).filter {
            $0.bundleId == bundle && $0.revocationDate != nil
        }
        let page = HistoryPage(
            all, after: query.revision, size: settings.pageSize, now: now.milliseconds,
            query: query.hash)
        return try answer(page, all, query.revision, index, call, bundle, fault, hasApp: false)
    }

    private func answer(
        _ page: HistoryPage, _ all: [StoredTransaction], _ asked: Revision?, _ index: Int,
        _ call: EndpointCall, _ bundle: String, _ fault: StoreFault?, hasApp: Bool
    ) throws(AppleError) -> StoreResponse {
        var page = page
        switch fault?.page {
        case .endless:
            page.hasMore = true
            page.revision.time += 1
        case .still:
            page.hasMore = true
            page.revision = asked ?? page.revision
        case .empty:
            page.items = []
            page.hasMore = true
            page.revision = asked ?? Revision(time: 0, after: 0, query: page.revision.query)
        case .repeated:
            let before = all.filter { $0.serial <= asked?.after ?? 0 }
            if let last = before.max(by: { $0.serial < $1.serial }) {
                page.items.insert(last, at: 0)
            }
        case .otherApp, .badSignature, nil: break
        }
        var tokens: [String] = []
        for item in page.items { tokens.append(try signed(item, of: index, fault)) }
        let (revision, hasMore) = (page.revision.text, page.hasMore)
        return .json { answer in
            answer.member("revision", revision)
            answer.member("hasMore", hasMore)
            if hasApp { members(of: bundle, call.environment, &answer) }
            answer.array("signedTransactions") { list in
                for token in tokens { list.value(token) }
            }
        }
    }

    // MARK: Notifications

    private static let day: Int64 = 86_400_000

    func notificationHistory(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String, _ fault: StoreFault?
    ) throws(AppleError) -> StoreResponse {
        let body = try request.object()
        guard let start = body["startDate"]?.int64 else { throw .invalidStartDate }
        guard let end = body["endDate"]?.int64 else { throw .invalidEndDate }
        guard start < end else { throw .startDateAfterEndDate }
        let days: Int64 = call.environment == .sandbox ? 30 : 180
        guard start >= now.milliseconds - days * Self.day else { throw .startDateTooFarInPast }
        let filter = try NotificationFilter(body)
        let customer = try filter.transactionId.map { id throws(AppleError) in
            customers[try self.customer(id, call.environment)].number
        }
        var from = 0
        for (name, value) in request.query where name == "paginationToken" {
            guard let token = PageToken(value) else { throw .invalidPaginationToken }
            from = token.after
        }
        let all = notifications.entries.filter { entry in
            !entry.notification.isVersion1 && entry.environment == call.environment
                && bundle == settings.bundleId && entry.id > from
                && (start...end).contains(entry.made.milliseconds)
                && (customer == nil || entry.customer == customer) && filter.admits(entry)
        }
        var page = Array(all.prefix(settings.pageSize))
        var hasMore = all.count > page.count
        var last = page.last?.id ?? from
        switch fault?.page {
        case .endless: hasMore = true
        case .still: (hasMore, last) = (true, from)
        case .empty: (hasMore, last, page) = (true, from, [])
        case .repeated, .otherApp, .badSignature, nil: break
        }
        return .json { answer in
            answer.member("hasMore", hasMore)
            if hasMore { answer.member("paginationToken", PageToken(after: last).text) }
            answer.array("notificationHistory") { list in
                for entry in page { list.object { entry.write(to: &$0) } }
            }
        }
    }

    mutating func testNotification(
        _ call: EndpointCall, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        guard settings.target(call.environment) != nil, bundle == settings.bundleId else {
            throw .notificationURLNotFound
        }
        let number = Int(truncatingIfNeeded: now.milliseconds) &+ notifications.entries.count
        let token = "\(Samples.uuid(7, number))_\(now.milliseconds)"
        let notification = try storeNotification("TEST", nil, call.environment) {
            $0.object("data") { data in
                members(of: bundle, call.environment, &data)
            }
        }
        send(notification, customer: nil, testToken: token)
        return .json { $0.member("testNotificationToken", token) }
    }

    func testNotificationStatus(
        _ call: EndpointCall, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let token = call.parameters[0]
        guard token.utf8.count > 36, token.contains("_") else {
            throw .invalidTestNotificationToken
        }
        let entry = notifications.entries.last {
            $0.testToken == token && $0.environment == call.environment
        }
        guard let entry, !entry.attempts.isEmpty, bundle == settings.bundleId else {
            throw .testNotificationNotFound
        }
        return .json { entry.write(to: &$0) }
    }

    /// Signs a notification that is of no customer.
    func storeNotification(
        _ type: String, _ subtype: String?, _ environment: APIEnvironment,
        _ content: (inout JSONWriter) -> Void
    ) throws(AppleError) -> MintedNotification {
        let number = Int(truncatingIfNeeded: now.milliseconds) &+ notifications.entries.count
        let uuid = Samples.uuid(8, number)
        var payload = JSONWriter()
        payload.object { object in
            object.member("notificationType", type)
            object.member("subtype", subtype)
            object.member("notificationUUID", uuid)
            content(&object)
            object.member("version", "2.0")
            object.member("signedDate", now.milliseconds)
        }
        let token = try sign { () throws(MintError) in try minter.sign(payload.text) }
        var body = JSONWriter()
        body.object { $0.member("signedPayload", String(decoding: token, as: UTF8.self)) }
        return MintedNotification(
            type: type, subtype: subtype, uuid: uuid, environment: environment.rawValue,
            body: body.text)
    }
}

/// The position in a notification history, opaque to clients.
struct PageToken: Equatable, Sendable {
    let after: Int

    init(after: Int) { self.after = after }

    /// Nil unless this is the text of a token.
    init?(_ text: String) {
        guard text.hasPrefix("n"), let after = Int(text.dropFirst()), after >= 0 else {
            return nil
        }
        self.after = after
    }

    var text: String { "n\(after)" }
}

/// The filters of a notification history.
private struct NotificationFilter {
    var type: String?
    var subtype: String?
    var transactionId: String?
    var onlyFailures = false

    init(_ body: JSONObject) throws(AppleError) {
        if let value = body["notificationType"] {
            guard let text = value.string, !text.isEmpty else { throw .invalidNotificationType }
            type = text
        }
        if let value = body["notificationSubtype"] {
            guard let text = value.string, type != nil else { throw .invalidNotificationType }
            subtype = text
        }
        if let value = body["transactionId"] {
            guard let id = value.string else { throw .invalidTransactionId }
            guard type == nil else { throw .multipleFiltersSupplied }
            transactionId = id
        }
        if let value = body["onlyFailures"] {
            guard let flag = value.bool else { throw .generalBadRequest }
            onlyFailures = flag
        }
    }

    func admits(_ entry: NotificationLog.Entry) -> Bool {
        (type == nil || type == entry.notification.type)
            && (subtype == nil || subtype == entry.notification.subtype)
            && (!onlyFailures || !entry.isDelivered && !entry.attempts.isEmpty)
    }
}

extension NotificationLog.Entry {
    /// The members of a notification in Apple's answers.
    func write(to object: inout JSONWriter) {
        // The body is `{"signedPayload":"…"}`.
        let token = (try? JSONDocument.parse(notification.body))?.root["signedPayload"]?.string
        object.member("signedPayload", token)
        object.array("sendAttempts") { list in
            for attempt in attempts {
                list.object { item in
                    item.member("attemptDate", attempt.at.milliseconds)
                    item.member("sendAttemptResult", attempt.result.rawValue)
                }
            }
        }
    }
}
