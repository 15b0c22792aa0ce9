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
        if answer.status == 429 {
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

/// The date of an answer's header (RFC 9110, section 5.6.7), in the one form that servers write:
/// `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970; nil for another form.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT",
            let month = months.firstIndex(of: String(words[2]))
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let day = Int(words[1]), let year = Int(words[3]),
            let hour = Int(time[0]), let minute = Int(time[1]), let second = Int(time[2]),
            let civil = CivilTime(
                year: year, month: month + 1, day: day, hour: hour, minute: minute,
                second: min(second, 59))
        else { return nil }
        return civil.secondsSince1970
    }
}
