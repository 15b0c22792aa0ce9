/// The limits of a local App Store. What a peer or a test can fill has one.
enum LocalStoreLimits {
    /// Customers. Their identifiers have four digits for the number.
    static let customers = 1000
    /// Lives that begin: of customers, and of those that were reset. An identifier has four digits
    /// for the number.
    static let identities = 9999
    /// Purchases of a customer that wait.
    static let waitingPurchases = 100
    /// Purchases of a customer beyond its scenario.
    static let purchases = 1000
    /// Notifications that are kept; the oldest are dropped. A test looks at the last ones.
    static let notifications = 10_000
    /// Faults that wait for a request.
    static let faults = 100
    /// Requests that one fault changes.
    static let faultCount: Int64 = 1_000_000
    /// Bytes of a fault's own body.
    static let faultBody = 64 << 10
    /// Requests that the page shows.
    static let requests = 50
    /// Consumption requests, image and message identifiers, and mass extensions that are kept.
    static let records = 2000
    /// Calls of POST /advance that wait for their notifications.
    static let waiting = 64
    /// Steps that one answer to POST /advance lists.
    static let steps = 1000
    /// Bytes of a request's body. Images of retention messages are the largest.
    static let bodyBytes = 8 << 20
    /// Bytes of a JSON body. A scenario is the largest.
    static let jsonBytes = 1 << 20
    /// Bytes of a JSON Web Token. Apple's libraries make some 300.
    static let tokenBytes = 8 << 10
    /// Open connections. A backend's tests use a few.
    static let connections = 256
    /// Milliseconds for a request to arrive, and for a connection without a request.
    static let idleMilliseconds: UInt64 = 60_000
    /// Milliseconds for the backend's answer to a notification.
    static let notificationMilliseconds: UInt64 = 10_000
    /// Bytes of the head of the backend's answer.
    static let answerHeadBytes = 16 << 10
    /// Bytes of the file that keeps a store. A line of a usual request has some hundred.
    static let journalBytes = 256 << 20
    /// Items of a page, as Apple's.
    static let page = 20
}
