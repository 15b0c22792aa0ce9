import AssayMint
import AssayModels

/// The notifications that the store has made, and what became of them.
struct NotificationLog: Sendable {
    /// One notification.
    struct Entry: Sendable {
        let id: Int
        let notification: MintedNotification
        /// The customer's number; nil for a test or a summary.
        let customer: Int?
        let made: Timestamp
        /// The token of a test notification.
        var testToken: String?
        var attempts: [Attempt] = []
        /// When it is sent next; nil: delivered, given up, or nowhere to send.
        var next: Timestamp?

        var isDelivered: Bool { attempts.last?.result == .success }
        var environment: APIEnvironment? { APIEnvironment(rawValue: notification.environment) }
    }

    struct Attempt: Sendable, Equatable {
        var at: Timestamp
        var result: SendResult
    }

    private(set) var entries: [Entry] = []
    /// The ids of those that are sent now or later, oldest first.
    private var waiting: [Int] = []
    private var nextId = 1

    /// Hours between an attempt and the next one (App Store Server Notifications, "Responding").
    /// The sandbox sends once.
    static let retryHours: [Int64] = [1, 12, 24, 48, 72]
    /// The same of version 1.
    static let retryHoursOfVersion1: [Int64] = [6, 24, 48]
    private static let hour: Int64 = 3_600_000

    /// Adds a notification.
    ///
    /// - Parameter isSent: whether there is a URL to send it to.
    mutating func add(
        _ notification: MintedNotification, customer: Int?, at now: Timestamp, isSent: Bool,
        testToken: String? = nil
    ) {
        entries.append(
            Entry(
                id: nextId, notification: notification, customer: customer, made: now,
                testToken: testToken, next: isSent ? now : nil))
        if isSent { waiting.append(nextId) }
        nextId += 1
        if entries.count > LocalStoreLimits.notifications {
            let dropped = entries.removeFirst().id
            waiting.removeAll { $0 == dropped }
        }
    }

    /// The notification that is sent next: the earliest, and of several the oldest.
    var next: Entry? {
        guard let first = entries.first?.id else { return nil }
        var found: (id: Int, at: Timestamp)?
        for id in waiting {
            guard let next = entries[id - first].next else { continue }
            if let found, found.at <= next { continue }
            found = (id, next)
        }
        return found.map { entries[$0.id - first] }
    }

    /// The notification with this id; nil if it was dropped.
    func entry(_ id: Int) -> Entry? {
        // Ids grow by one, so the index follows from the first.
        guard let first = entries.first?.id, entries.indices.contains(id - first) else {
            return nil
        }
        return entries[id - first]
    }

    /// Records the result of an attempt, and plans the next one.
    ///
    /// - Parameter isLast: whether there is none.
    mutating func didSend(
        _ id: Int, _ result: SendResult, at now: Timestamp, isLast: Bool = false
    ) {
        guard entry(id) != nil, let first = entries.first?.id else { return }
        let index = id - first
        entries[index].attempts.append(Attempt(at: now, result: result))
        let tried = entries[index].attempts.count
        let entry = entries[index]
        let hours = entry.notification.isVersion1 ? Self.retryHoursOfVersion1 : Self.retryHours
        let retries = entry.environment == .sandbox ? 0 : hours.count
        guard result != .success, tried <= retries, !isLast else {
            entries[index].next = nil
            waiting.removeAll { $0 == id }
            return
        }
        entries[index].next = now.advanced(by: hours[tried - 1] * Self.hour)
    }
}

/// The result of sending a notification, in Apple's words (sendAttemptResult).
package enum SendResult: String, CaseIterable, Sendable {
    case success = "SUCCESS"
    case timedOut = "TIMED_OUT"
    case noResponse = "NO_RESPONSE"
    case socketIssue = "SOCKET_ISSUE"
    case invalidResponse = "INVALID_RESPONSE"
    case prematureClose = "PREMATURE_CLOSE"
    case unsuccessfulStatus = "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
}
