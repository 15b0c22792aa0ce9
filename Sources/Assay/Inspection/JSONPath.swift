/// The way from the root of a JSON text to one of its values.
///
/// The text is made only where a value is shown: made for every value, the names above it would
/// cost the square of the input.
struct JSONPath {
    private enum Step {
        case member(String)
        case element(Int)
    }

    private var steps: [Step] = []
    /// Bytes of the texts made, which tests compare with the size of the input.
    private(set) var bytesMade = 0

    /// Calls `body` with a member of the value appended.
    mutating func inMember(_ name: String, _ body: (inout JSONPath) -> Void) {
        steps.append(.member(name))
        body(&self)
        steps.removeLast()
    }

    /// Calls `body` with an element of the value appended.
    mutating func inElement(_ index: Int, _ body: (inout JSONPath) -> Void) {
        steps.append(.element(index))
        body(&self)
        steps.removeLast()
    }

    /// Such as `data.items[3].id`, with long names shortened.
    mutating func makeText() -> String {
        var text = ""
        for step in steps {
            switch step {
            case .member(let name):
                if !text.isEmpty { text += "." }
                text += name.shortened(to: ExplanationLimits.nameLength)
            case .element(let index): text += "[\(index)]"
            }
        }
        bytesMade += text.utf8.count
        return text.shortened(to: ExplanationLimits.valueLength)
    }
}

extension String {
    /// The text itself, or as many of its first bytes as the limit allows and the number of all:
    /// `abc… (1000 bytes)`. Its cost does not depend on the length of the text.
    package func shortened(to limit: Int) -> String {
        let count = utf8.count
        guard count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return String(unicodeScalars[..<end]) + "… (\(count) bytes)"
    }
}
