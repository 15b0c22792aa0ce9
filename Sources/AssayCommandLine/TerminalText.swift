import Assay
import AssayBytes

/// Escapes text for a terminal. Servers, file names and addresses can contain escape sequences.
package enum TerminalText {
    /// Writes control, format and separator characters as `\u{1b}`. The terminal then shows
    /// them, and no line can imitate another.
    ///
    /// - Parameter keepsLines: leaves line breaks as they are, when they are the caller's own.
    package static func escaped(_ text: String, keepsLines: Bool = false) -> String {
        guard text.unicodeScalars.contains(where: \.isUnprintable) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar.isUnprintable, !(keepsLines && scalar == "\n") {
                escaped += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

extension String {
    package func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
