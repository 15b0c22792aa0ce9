import AssayMint
import AssayModels

/// Time of the store: it stands still until it is moved, and stops at each event on its way.
extension LocalStore {
    /// What the owner of the store does next.
    enum Work: Sendable {
        /// Post a notification, and report the result with `didSend`.
        case send(id: Int, body: [UInt8], to: NotificationTarget)
        /// Nothing: time stands still, and all notifications that are due were sent.
        case none
    }

    /// Begins to move time. `nextWork` moves it.
    mutating func move(to moment: Timestamp) {
        let last = Timestamp(milliseconds: lastMoment)
        target = max(target ?? now, min(moment, last))
    }

    /// The moment of the next event: a step of a customer, or a notification that is sent again.
    var nextEvent: Timestamp? {
        let steps = customers.compactMap(\.life.nextStep)
        return ([notifications.next?.next].compactMap { $0 } + steps).min()
    }

    /// Moves time to the next event, up to the target. Call it again after the result of each
    /// notification.
    mutating func nextWork() -> Work {
        while true {
            if let entry = notifications.next, let next = entry.next, next <= target ?? now {
                // A notification goes out before the steps after it.
                if !customers.contains(where: { ($0.life.nextStep ?? .last) < next }) {
                    now = max(now, next)
                    guard let environment = entry.environment,
                        let url = settings.target(environment)
                    else {
                        notifications.didSend(entry.id, .socketIssue, at: now)
                        continue
                    }
                    return .send(id: entry.id, body: entry.notification.body, to: url)
                }
            }
            guard let target else { return .none }
            guard takeStep(until: target) else {
                now = max(now, target)
                self.target = nil
                return .none
            }
        }
    }

    mutating func didSend(_ id: Int, _ result: SendResult) {
        if let entry = notifications.entry(id), sent.count < StoreLimits.steps {
            sent.append(
                SentNotification(
                    words: entry.notification.words, uuid: entry.notification.uuid,
                    customer: entry.customer, at: now, result: result))
        }
        notifications.didSend(id, result, at: now)
    }

    /// Takes the earliest step that is due. Returns false if there is none until then.
    private mutating func takeStep(until target: Timestamp) -> Bool {
        var index: Int?
        var earliest = Timestamp.last
        for candidate in customers.indices {
            guard let next = customers[candidate].life.nextStep, next <= target, next < earliest
            else { continue }
            (index, earliest) = (candidate, next)
        }
        guard let index else { return false }
        now = max(now, earliest)
        let customer = customers[index]
        let title = customer.life.scenario.steps[customer.life.stepsTaken].title
        if stepsTaken.count < StoreLimits.steps {
            stepsTaken.append(
                TakenStep(customer: customer.number, at: earliest, title: title))
        }
        do throws(MintError) {
            for notification in try customers[index].life.takeStep() {
                send(notification, customer: customer.number)
            }
        } catch {
            problem = "customer \(customer.number): \(error.sentence)"
        }
        return true
    }

    /// Adds a notification, which is sent now if there is a URL for its environment.
    mutating func send(
        _ notification: MintedNotification, customer: Int?, testToken: String? = nil
    ) {
        let environment = APIEnvironment(rawValue: notification.environment)
        let isSent = environment.flatMap(settings.target) != nil
        notifications.add(
            notification, customer: customer, at: now, isSent: isSent, testToken: testToken)
    }
}

extension Timestamp {
    /// Later than any event.
    static let last = Timestamp(milliseconds: .max)
}
