import AssayBytes
import AssayModels

extension ServerAnswer {
    /// The signed payloads in lists, then `unsigned` and `warnings`.
    var membersJSON: [(name: String, json: [UInt8])] {
        var members: [(name: String, json: [UInt8])] = []
        func add(_ name: String, _ build: (inout JSONWriter) -> Void) {
            var writer = JSONWriter()
            build(&writer)
            members.append((name, writer.text))
        }
        if !transactions.isEmpty {
            add("transactions") { $0.list(transactions.map(\.json)) }
            add("dedupKeys") { writer in
                writer.array { list in
                    for key in dedupKeys { list.value(key) }
                }
            }
        }
        if !renewalInfos.isEmpty { add("renewalInfos") { $0.list(renewalInfos.map(\.json)) } }
        if let appTransaction { members.append(("appTransaction", appTransaction.json)) }
        if !notifications.isEmpty {
            add("notifications") { writer in
                writer.array { list in
                    for notification in notifications { list.notification(notification) }
                }
            }
        }
        add("unsigned") { $0.unsigned(unsigned) }
        return members + warnings.members
    }
}

extension [EvidenceWarning] {
    /// The member `warnings`, if there are any.
    var members: [(name: String, json: [UInt8])] { isEmpty ? [] : [("warnings", json)] }

    private var json: [UInt8] {
        var writer = JSONWriter()
        writer.array { list in
            for warning in self { list.warning(warning) }
        }
        return writer.text
    }
}

extension JSONWriter {
    fileprivate mutating func list(_ values: [[UInt8]]) {
        array { list in
            for value in values { list.raw(value) }
        }
    }

    fileprivate mutating func notification(_ notification: VerifiedNotification) {
        object { object in
            object.member("dedupKey", notification.dedupKey)
            for (name, json) in notification.membersJSON { object.member(name, raw: json) }
        }
    }

    /// Under Apple's names; the statuses in one list.
    fileprivate mutating func unsigned(_ members: UnsignedAnswerMembers) {
        object { object in
            object.member("environment", members.environment?.rawValue)
            object.member("bundleId", members.bundleId)
            object.member("appAppleId", members.appAppleId)
            object.member("revision", members.revision)
            object.member("hasMore", members.hasMore)
            object.member("paginationToken", members.paginationToken)
            object.member("status", members.status.map(Int64.init))
            guard !members.subscriptions.isEmpty else { return }
            object.array("subscriptions") { list in
                for subscription in members.subscriptions {
                    list.object { entry in
                        entry.member(
                            "originalTransactionId", subscription.originalTransactionId)
                        entry.member("status", subscription.status.map { Int64($0.rawValue) })
                    }
                }
            }
        }
    }

    fileprivate mutating func warning(_ warning: EvidenceWarning) {
        object { object in
            object.member("code", warning.code.rawValue)
            object.member("message", warning.message)
            object.member("member", warning.member)
        }
    }
}
