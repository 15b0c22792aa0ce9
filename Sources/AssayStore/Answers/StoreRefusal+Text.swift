import AssayBytes
import AssayModels

extension StoreRefusal: CustomStringConvertible {
    public var description: String {
        var text = "the App Store" + (names.isEmpty ? "" : " (\(names))") + " " + answer
        if isUnauthorized { text += "; " + unauthorized }
        if code == Self.transactionNotFound, environments.count == 1, others.isEmpty {
            text += "; no other environment was asked"
        }
        if let retryAt { text += "; try again at " + retryAt.rfc3339 }
        for other in others { text += "; " + other.beside(self) }
        if code == Self.transactionNotFound { text += "; " + Self.whatToCheck }
        return text
    }

    /// What to check where no transaction has the id.
    private static let whatToCheck =
        "check the id, the bundle id and the environment; an order id goes to 'assay api order'"

    private var names: String { environments.map(\.rawValue).joined(separator: " and ") }

    private var answer: String {
        (code.map { "refused with \($0)" } ?? "answered HTTP \(httpStatus)")
            + (message.isEmpty ? "" : ": " + message)
    }

    /// Whether this is the bare 401 with which the App Store answers every fault of a token.
    var isUnauthorized: Bool { code == nil && httpStatus == 401 }

    /// What to check after a 401.
    private var unauthorized: String {
        if let clockAhead, abs(clockAhead) > StoreClaims.backdating {
            return clock(clockAhead) + ": set it"
        }
        var text =
            "check that key, key id and issuer id belong together, and that the key is one for "
            + "In-App Purchase"
        if environments == [.production] {
            text +=
                "; production answers the same for an app without a release there: ask the "
                + "sandbox for that"
        } else if environments == [.sandbox] {
            text +=
                "; production, which takes the same keys, was not asked, and would say whether "
                + "the key is good"
        }
        if let clockAhead, clockAhead != 0 { text += "; " + clock(clockAhead) }
        return text
    }

    private func clock(_ ahead: Int64) -> String {
        "this machine's clock is \(abs(ahead)) s \(ahead > 0 ? "ahead of" : "behind") the App "
            + "Store's"
    }

    /// The answer of one environment, after that of another which decides.
    private func beside(_ other: StoreRefusal) -> String {
        guard isUnauthorized else { return "\(names) \(answer)" }
        return environments == [.production]
            ? "\(names) \(answer), as it does for an app without a release there"
            : "\(names) \(answer), though the key is good: \(other.names) accepted it"
    }
}

extension StoreRefusal {
    /// Adds the answer of the next environment. The more telling one decides: a 401 says less than
    /// any other answer, because an environment without a release of the app gives it as well.
    func followed(by next: StoreRefusal) -> StoreRefusal {
        if code == next.code, httpStatus == next.httpStatus {
            var both = next
            both.environments = environments + next.environments
            both.clockAhead = next.clockAhead ?? clockAhead
            return both
        }
        var deciding = next.isUnauthorized ? self : next
        deciding.others = [next.isUnauthorized ? next : self]
        return deciding
    }
}
