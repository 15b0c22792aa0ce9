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
            self = .invalid("it was signed at \(signed.milliseconds) ms, before 1970")
        } else if signed > now.advanced(by: Limits.clockSkewMilliseconds) {
            self = .invalid("it was signed in the future, at \(signed.milliseconds) ms since 1970")
        } else {
            self = .at(signed)
        }
    }

    func seconds() throws(Refusal) -> Int64 { try timestamp().seconds }

    func timestamp() throws(Refusal) -> Timestamp {
        switch self {
        case .at(let date): return date
        case .invalid(let detail): throw Refusal(.invalidDate, detail)
        }
    }
}
