package import AssayBytes
package import AssayModels

/// One value of a payload, with its meaning where that is not obvious.
package struct ExplanationField: Sendable, Equatable {
    /// The path of the member, such as `data.bundleId`.
    package let name: String
    package let value: String
    /// A date in UTC and in words, or the meaning of a code.
    package let meaning: String?
}

/// The fields of a payload, up to a limit.
package struct ExplanationFields: Sendable {
    package private(set) var shown: [ExplanationField] = []
    /// Fields beyond the limits.
    package private(set) var omitted = 0
    /// Bytes of the names and values made, which tests compare with the size of the input.
    package private(set) var bytesMade = 0
    private let now: Timestamp

    /// - Parameters:
    ///   - excluded: a member of the root that is shown elsewhere.
    ///   - bytes: what is left of the explanation's limit of names and values.
    package init(
        of value: JSONValue, excluding excluded: String = "", at now: Timestamp,
        within bytes: inout Int
    ) {
        self.now = now
        var path = JSONPath()
        if let members = value.members {
            for (name, value) in members.pairs where name != excluded {
                path.inMember(name) { add(value, &$0, name, &bytes) }
            }
        } else if value.kind == .array {
            addContent(of: value, &path, "", &bytes)
        }
        bytesMade += path.bytesMade
    }

    private mutating func add(
        _ value: JSONValue, _ path: inout JSONPath, _ name: String, _ bytes: inout Int
    ) {
        if value.isEmptyOrNoContainer { return append(value, &path, name, &bytes) }
        addContent(of: value, &path, name, &bytes)
    }

    private mutating func addContent(
        of value: JSONValue, _ path: inout JSONPath, _ name: String, _ bytes: inout Int
    ) {
        for (name, value) in value.members?.pairs ?? [] {
            path.inMember(name) { add(value, &$0, name, &bytes) }
        }
        guard let elements = value.elements else { return }
        for (index, element) in elements.enumerated() {
            path.inElement(index) { add(element, &$0, name, &bytes) }
        }
    }

    private mutating func append(
        _ value: JSONValue, _ path: inout JSONPath, _ name: String, _ bytes: inout Int
    ) {
        guard shown.count < ExplanationLimits.fields, bytes > 0 else {
            omitted += 1
            return
        }
        let text = value.string ?? String(decoding: value.raw, as: UTF8.self)
        let field = ExplanationField(
            name: path.makeText(), value: text.shortened(to: ExplanationLimits.valueLength),
            meaning: meaning(of: text, name))
        bytesMade += text.utf8.count
        bytes -= field.name.utf8.count + field.value.utf8.count
        shown.append(field)
    }

    private func meaning(of text: String, _ name: String) -> String? {
        // Apple's names are short. The name above a long array is looked at for each element.
        guard name.utf8.count <= ExplanationLimits.nameLength else { return nil }
        if let meaning = Self.codes[name]?[text] { return meaning }
        guard name.lowercased().contains("date"), let milliseconds = Int64(text),
            milliseconds > Self.earliestDate
        else { return nil }
        return DateWords.text(Timestamp(milliseconds: milliseconds), at: now)
    }

    /// Smaller numbers are no dates, or dates of another unit.
    private static let earliestDate: Int64 = 1_000_000_000

    /// Apple's codes, by the names of their members.
    private static let codes: [String: [String: String]] = [
        "autoRenewStatus": ["0": "will not renew", "1": "will renew"],
        "expirationIntent": [
            "1": "the customer canceled", "2": "the payment failed",
            "3": "the customer did not consent to a price increase",
            "4": "the product was not available", "5": "another reason",
        ],
        "offerType": [
            "1": "introductory offer", "2": "promotional offer", "3": "offer code",
            "4": "win-back offer",
        ],
        "revocationReason": ["0": "another reason", "1": "a problem with the app"],
        "priceIncreaseStatus": ["0": "the customer has not answered", "1": "consented"],
        "status": [
            "1": "active", "2": "expired", "3": "in billing retry", "4": "in grace period",
            "5": "revoked",
        ],
    ]
}

extension JSONValue {
    /// Whether the value has no members and no elements.
    fileprivate var isEmptyOrNoContainer: Bool {
        switch kind {
        case .object: members?.isEmpty ?? true
        case .array:
            elements.map {
                var elements = $0; return elements.next() == nil
            } ?? true
        default: true
        }
    }
}

/// Writes dates in words, relative to another date.
package enum DateWords {
    /// Such as `22 November 2026, 00:59:34 UTC, 3 days ago`.
    package static func text(_ date: Timestamp, at now: Timestamp) -> String {
        guard CivilTime.seconds.contains(date.seconds) else { return "no year of four digits" }
        let time = CivilTime(secondsSince1970: date.seconds)
        return "\(time.day) \(months[time.month - 1]) \(time.year), \(time.timeText) UTC, "
            + relative(date, to: now)
    }

    /// Such as `3 days ago` or `in 2 months`.
    package static func relative(_ date: Timestamp, to now: Timestamp) -> String {
        let seconds = now.seconds - date.seconds
        let size = seconds.magnitude
        guard size >= 1 else { return "now" }
        let unit = units.first { size >= $0.seconds } ?? units[units.count - 1]
        let count = size / unit.seconds
        let text = "\(count) \(unit.name)" + (count == 1 ? "" : "s")
        return seconds > 0 ? text + " ago" : "in " + text
    }

    /// Months and years of average length.
    private static let units: [(seconds: UInt64, name: String)] = [
        (31_556_952, "year"), (2_629_746, "month"), (86_400, "day"), (3_600, "hour"),
        (60, "minute"), (1, "second"),
    ]
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ]
}
