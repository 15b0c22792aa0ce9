import AssayBytes
import AssayModels

/// The date at which the certificates have to be valid: the signing date in the payload, so that
/// evidence outlives its leaf certificate, or the current time when the payload has none.
enum EffectiveDate: Sendable, Equatable {
    case at(Timestamp)
    /// An impossible signing date. Thrown when the dates are checked.
    case invalid(String)

    /// - Parameter signed: the signing date in the payload.
    init(signed: Timestamp?, now: Timestamp) {
        guard let signed else {
            self = .at(now)
            return
        }
        if signed.milliseconds <= 0 {
            self = .invalid("it was signed at \(Self.text(signed)), before 1970")
        } else if signed > now.advanced(by: Limits.clockSkewMilliseconds) {
            self = .invalid("it was signed in the future, at \(Self.text(signed))")
        } else {
            self = .at(signed)
        }
    }

    /// The date, or what is wrong with it, for explanations.
    var text: String {
        switch self {
        case .at(let date): Self.text(date)
        case .invalid(let detail): detail
        }
    }

    /// RFC 3339, or milliseconds for years without four digits.
    private static func text(_ date: Timestamp) -> String {
        CivilTime.seconds.contains(date.seconds)
            ? date.rfc3339 : "\(date.milliseconds) ms since 1970"
    }

    func seconds() throws(Refusal) -> Int64 { try timestamp().seconds }

    func timestamp() throws(Refusal) -> Timestamp {
        switch self {
        case .at(let date): return date
        case .invalid(let detail): throw Refusal(.invalidDate, detail)
        }
    }
}
