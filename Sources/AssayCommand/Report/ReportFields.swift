import Assay
import AssayBytes
import AssayCommandLine
import AssayModels

/// The fields of payloads, each in one line, escaped and with long names shortened.
struct ReportFields {
    private(set) var shown: [(name: String, value: String)] = []
    /// Fields beyond the limits.
    private(set) var omitted = 0
    /// What may still be added.
    private var fields: Int
    private(set) var bytes: Int
    /// Whether long texts are shown shortened. Most of them are nested tokens.
    private var showsLongTexts: Bool

    /// - Parameters:
    ///   - fields: the most fields.
    ///   - bytes: the most bytes of names and values, after which fields are only counted.
    init(fields: Int = .max, bytes: Int = .max, showsLongTexts: Bool = false) {
        self.fields = fields
        self.bytes = bytes
        self.showsLongTexts = showsLongTexts
    }

    /// Adds the members of an object that fit a line, down to the second level: a notification has
    /// its subject in data or summary.
    mutating func add(_ object: JSONValue, _ prefix: String) {
        for (name, value) in object.members?.pairs ?? [] {
            add(name, value, prefix, "")
            for (inner, value) in value.members?.pairs ?? [] { add(inner, value, prefix, name) }
        }
    }

    /// Adds the objects in the lists of an object, such as the records of a receipt.
    mutating func addLists(of object: JSONValue) {
        for (name, value) in object.members?.pairs ?? [] where name != Self.attributes {
            guard let elements = value.elements else { continue }
            for (index, element) in elements.enumerated() where element.kind == .object {
                // Names are shortened before they are repeated.
                let prefix = name.shortened(to: ExplanationLimits.nameLength) + "[\(index)]."
                add(element, prefix)
                addAttributes(of: element, prefix)
            }
        }
    }

    /// Adds the attributes of a receipt that have no name, each in one line: the text, or the
    /// octets in hexadecimal.
    mutating func addAttributes(of object: JSONValue, _ prefix: String = "") {
        guard let elements = object[Self.attributes]?.elements else { return }
        for attribute in elements {
            guard let type = attribute["type"], let value = attribute["text"] ?? attribute["value"]
            else { continue }
            // Shortened, and not left out, where it is long.
            let showedLongTexts = showsLongTexts
            showsLongTexts = true
            add("attribute " + String(decoding: type.raw, as: UTF8.self), value, prefix, "")
            showsLongTexts = showedLongTexts
        }
    }

    /// The member of a receipt's JSON with its unknown attributes.
    private static let attributes = "unknownAttributes"

    private mutating func add(
        _ name: String, _ value: JSONValue, _ prefix: String, _ outer: String
    ) {
        switch value.kind {
        case .object, .array, .null: return
        case .string, .number, .true, .false: break
        }
        guard fields > 0, bytes > 0 else {
            omitted += 1
            return
        }
        guard let text = readable(name, value) else { return }
        let names = (outer.isEmpty ? [name] : [outer, name]).map {
            $0.shortened(to: ExplanationLimits.nameLength)
        }
        let path = TerminalText.escaped(prefix + names.joined(separator: "."))
        let field = (path, TerminalText.escaped(text))
        fields -= 1
        bytes -= field.0.utf8.count + field.1.utf8.count
        shown.append(field)
    }

    /// The value of a field in one line; nil for texts that are left out.
    private func readable(_ name: String, _ value: JSONValue) -> String? {
        guard value.kind == .string else {
            let text = String(decoding: value.raw, as: UTF8.self)
            guard name.hasSuffix("Date"), let milliseconds = value.number?.floor,
                Self.earliest...Self.latest ~= milliseconds
            else { return text.shortened(to: Self.longestText) }
            return "\(text.shortened(to: Self.longestText)) "
                + "(\(Timestamp(milliseconds: milliseconds).rfc3339))"
        }
        guard let text = value.string else { return nil }
        guard text.utf8.count > Self.longestText else { return text }
        return showsLongTexts ? text.shortened(to: Self.longestText / 2) : nil
    }

    /// Bytes of a text that is shown whole. Most longer ones are tokens.
    private static let longestText = 200

    /// Years 1 to 9999, the range of RFC 3339.
    private static let earliest: Int64 = -62_135_596_800_000
    private static let latest: Int64 = 253_402_300_799_999

    /// Names and values in two columns. A long name makes no other line longer.
    static func table(
        _ rows: [(name: String, value: String)], indent: String = "  "
    ) -> [String] {
        let width = min(rows.map(\.name.count).max() ?? 0, widestColumn)
        return rows.map { "\(indent)\($0.name.padded(to: width))  \($0.value)" }
    }

    /// Apple's longest path of a field has 44 characters.
    private static let widestColumn = 48
}
