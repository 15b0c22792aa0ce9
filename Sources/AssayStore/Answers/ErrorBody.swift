import AssayBytes
package import AssayModels

/// Reads what the App Store answers to a refused request.
package enum ErrorBody {
    /// - Parameters:
    ///   - body: anything, also nothing: a bare 401 has none, and a proxy answers in HTML.
    ///   - now: the machine's clock.
    package static func refusal(
        _ answer: TransportAnswer, in environment: StoreEnvironment, at now: Timestamp
    ) -> StoreRefusal {
        var refusal = StoreRefusal(httpStatus: answer.status, environments: [environment])
        if let document = try? JSONDocument.parse(answer.body, limit: StoreLimits.answerBytes),
            let members = document.root.members
        {
            refusal.code = members["errorCode"]?.int64
            refusal.message = shortened(members["errorMessage"]?.string ?? "")
        }
        // RFC 9110 has the field with 503, too.
        if answer.status == 429 || answer.status == 503 {
            refusal.retryAt = answer.retryAfter.flatMap { RetryAfter.time($0, now: now) }
        }
        if let date = answer.date.flatMap(HTTPDate.seconds) {
            refusal.clockAhead = now.seconds - date
        }
        return refusal
    }

    /// The beginning of a text, on one line.
    private static func shortened(_ text: String) -> String {
        var kept = ""
        for scalar in text.unicodeScalars {
            guard kept.utf8.count < StoreLimits.messageBytes else { return kept + "…" }
            kept.unicodeScalars.append(scalar.properties.isWhitespace ? " " : scalar)
        }
        return kept
    }
}
