import AssayWire

/// Refusals that were encoded once and go out many times, each with another id: a server that has
/// too much to do must not spend its time on words.
struct PreparedRefusals {
    enum Reason: Equatable {
        case overloaded(retryAfter: UInt32)
        case tooManyInFlight(limit: Int)

        var head: ResponseHead {
            switch self {
            case .overloaded(let retryAfter): .overloaded(0, retryAfter: retryAfter)
            case .tooManyInFlight(let limit): .tooManyInFlight(0, limit: limit)
            }
        }
    }

    struct Refusal {
        let reason: Reason
        /// Without the request's id.
        let head: ResponseHead
        let answer: PreparedAnswer
    }

    private var kept: [Refusal] = []

    /// One for each reason, and for some times after which trying again helps.
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
