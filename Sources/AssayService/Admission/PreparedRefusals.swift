import AssayTelemetry
package import AssayWire

/// Refusals that are encoded once and sent many times with different ids, so that an overloaded
/// server spends no time on encoding.
package struct PreparedRefusals {
    package enum Reason: Equatable {
        case overloaded(retryAfter: UInt32)
        case tooManyInFlight(limit: Int)

        var head: ResponseHead {
            switch self {
            case .overloaded(let retryAfter): .overloaded(0, retryAfter: retryAfter)
            case .tooManyInFlight(let limit): .tooManyInFlight(0, limit: limit)
            }
        }
    }

    package struct Refusal {
        let reason: Reason
        /// Encoded without the request's id.
        package let head: ResponseHead
        package let answer: PreparedAnswer
    }

    private var kept: [Refusal] = []

    /// One for each reason, and for several values of `retryAfter`.
    private static let most = 4

    mutating func refusal(_ reason: Reason, by codec: MessageCodec) -> Refusal {
        for known in kept where known.reason == reason { return known }
        let head = reason.head
        let new = Refusal(reason: reason, head: head, answer: PreparedAnswer(head, by: codec))
        if kept.count == Self.most { kept.removeFirst() }
        kept.append(new)
        return new
    }
}
