/// Text for a terminal: what a server, a file name or an address brings can hold escape sequences.
enum TerminalText {
    /// With control, format and separator characters as `\u{1b}`. A terminal then shows them, and
    /// no line can pretend to be another.
    ///
    /// - Parameter keepsLines: line breaks are the caller's own and stay.
    static func escaped(_ text: String, keepsLines: Bool = false) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar), !(keepsLines && scalar == "\n") {
                escaped += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// The same JSON. Outside of strings no such character but white space can stand, and JSON's
    /// own escape means the same within them.
    static func escaped(json: [UInt8]) -> [UInt8] {
        // ASCII without DEL holds nothing that JSON has not escaped.
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(json.count)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            guard scalar.value >= 0x7F, isUnsafe(scalar) else {
                escaped += UTF8.encode(scalar).map { Array($0) } ?? []
                continue
            }
            for unit in UTF16.encode(scalar).map({ Array($0) }) ?? [] {
                let hex = String(unit, radix: 16)
                escaped += Array(("\\u" + String(repeating: "0", count: 4 - hex.count) + hex).utf8)
            }
        }
        return escaped
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return false }
        return switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
