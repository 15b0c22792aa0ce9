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

    /// The moment of the next event: of a customer's life, or a notification that is sent again.
    var nextEvent: Timestamp? {
        let events = customers.compactMap(\.life.nextEvent?.at)
        return ([notifications.next?.next].compactMap { $0 } + events).min()
    }

    /// Moves time to the next event, up to the target. Call it again after the result of each
    /// notification.
    mutating func nextWork() -> Work {
        while true {
            if let entry = notifications.next, let next = entry.next, next <= target ?? now {
                // A notification goes out before the steps after it.
                if !customers.contains(where: { ($0.life.nextEvent?.at ?? .last) < next }) {
                    now = max(now, next)
                    guard let environment = entry.environment,
                        let url = settings.target(
                            environment, isVersion1: entry.notification.isVersion1)
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
                for index in customers.indices { customers[index].life.pass(to: now) }
                self.target = nil
                return .none
            }
        }
    }

    mutating func didSend(_ id: Int, _ result: SendResult, isLast: Bool = false) {
        if let entry = notifications.entry(id), sent.count < LocalStoreLimits.steps {
            sent.append(
                SentNotification(
                    words: entry.notification.words, uuid: entry.notification.uuid,
                    customer: entry.customer, at: now, result: result,
                    isVersion1: entry.notification.isVersion1))
        }
        notifications.didSend(id, result, at: now, isLast: isLast)
    }

    /// Takes the earliest event of a customer's life that is due. Returns false if there is none
    /// until then.
    private mutating func takeStep(until target: Timestamp) -> Bool {
        var earliest: (index: Int, event: ScenarioCustomer.Event)?
        for candidate in customers.indices {
            guard let next = customers[candidate].life.nextEvent, next.at <= target,
                next.at < earliest?.event.at ?? .last
            else { continue }
            earliest = (candidate, next)
        }
        guard let (index, event) = earliest else { return false }
        now = max(now, event.at)
        let customer = customers[index]
        if stepsTaken.count < LocalStoreLimits.steps {
            stepsTaken.append(
                TakenStep(customer: customer.number, at: event.at, title: event.title))
        }
        do throws(MintError) {
            for notification in try customers[index].life.takeEvent() {
                send(notification, customer: customer.number)
            }
        } catch {
            problem = "customer \(customer.number): \(error.message)"
        }
        return true
    }

    /// Adds a notification, which is sent now if there is a URL for its environment.
    mutating func send(
        _ notification: MintedNotification, customer: Int?, testToken: String? = nil
    ) {
        let environment = APIEnvironment(rawValue: notification.environment)
        let isSent = environment.flatMap { settings.target($0) } != nil
        notifications.add(
            notification, customer: customer, at: now, isSent: isSent, testToken: testToken)
        if let environment, let customer,
            settings.target(environment, isVersion1: true) != nil
        {
            sendVersion1(about: notification, customer: customer)
        }
    }

    /// Adds what version 1 sends about the same event.
    private mutating func sendVersion1(about event: MintedNotification, customer number: Int) {
        let customer = customers[number - 1]
        do throws(MintError) {
            let minted = try customer.life.notificationsV1(
                about: event, password: settings.sharedSecret, finished: customer.finished,
                at: now)
            for notification in minted {
                notifications.add(notification, customer: number, at: now, isSent: true)
            }
        } catch {
            problem = "customer \(number): \(error.message)"
        }
    }
}

extension Timestamp {
    /// Later than any event.
    static let last = Timestamp(milliseconds: .max)
}
