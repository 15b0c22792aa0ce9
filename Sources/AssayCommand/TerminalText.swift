/// Escapes text for a terminal. Servers, file names and addresses can contain escape sequences.
enum TerminalText {
    /// Writes control, format and separator characters as `\u{1b}`. The terminal then shows
    /// them, and no line can imitate another.
    ///
    /// - Parameter keepsLines: leaves line breaks as they are, when they are the caller's own.
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

    /// Escapes JSON without changing its meaning. Outside of strings JSON allows no such
    /// character but white space; within strings its own escapes apply.
    static func escaped(json: [UInt8]) -> [UInt8] {
        // JSON already escapes the control characters of ASCII, except DEL.
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
