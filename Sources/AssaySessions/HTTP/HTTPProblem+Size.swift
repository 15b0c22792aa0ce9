/// The refusals of bodies that are too large to be read whole, each with another way to send them.
extension HTTPBodyPlan {
    /// The refusal of a body with more bytes than the limit of what is read whole.
    func problem(above limit: Int) -> HTTPProblem {
        var problem = HTTPProblem.bodyTooLarge(limit: limit)
        if let way { problem.detail += ": " + way }
        return problem
    }

    /// What to do instead; nil if nothing larger is accepted.
    private var way: String? {
        switch self {
        case .json(let schema, _): schema.way
        case .lines: Self.raw
        case .resolve: Self.items
        case .message(let call, _), .messages(let call, _):
            switch call.form.method {
            case .verify, .verifyStream:
                "send the message as protobuf, not compressed, with the evidence last; or "
                    + Self.raw
            case .resolve: Self.items
            default: nil
            }
        case .skip, .evidence, .receipt, .fetch, .sign: nil
        }
    }

    fileprivate static let raw =
        "send a receipt alone, its bytes with Content-Type: application/octet-stream to "
        + "/v1/verify?kind=app-receipt, where limits.frame-bytes is the limit"

    /// Several items do not fit the path of one.
    private static let items =
        "send the items as a Resolve of the binary protocol, where limits.frame-bytes is the "
        + "limit; or " + raw
}

extension HTTPJSONBody.Schema {
    fileprivate var way: String? {
        switch self {
        case .verify, .evidence: HTTPBodyPlan.raw
        case .apple: "send it with a Content-Length; limits.frame-bytes is the limit then"
        // The evidence of these is a token.
        case .purchase, .retention: nil
        }
    }
}
