import AssayModels

/// The date at which the certificates have to be valid: when the payload says it was signed, so
/// that evidence outlives its leaf certificate; now, where it says nothing.
enum EffectiveDate: Sendable, Equatable {
    case at(Timestamp)
    /// No date that evidence can have been signed at; thrown where dates are due.
    case invalid(String)

    /// - Parameter signed: what the payload says.
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

    /// RFC 3339, which has no years but those of four digits.
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
