/// Builds one JSON text (RFC 8259), compact or indented by two spaces.
///
///     var writer = JSONWriter()
///     writer.object { object in
///         object.member("verdict", "VALID")
///         object.array("details") { $0.value("…") }
///     }
///     writer.text
package struct JSONWriter {
    /// The UTF-8 text so far.
    package private(set) var text: [UInt8] = []
    private let pretty: Bool
    private let escaping: JSONEscaping
    private var depth = 0
    /// Whether the next value or name follows another in the same container.
    private var needsComma = false
    /// Whether the next value follows its name.
    private var afterName = false

    /// - Parameter capacity: the expected size of the text in bytes.
    package init(pretty: Bool = false, escaping: JSONEscaping = .required, capacity: Int = 0) {
        self.pretty = pretty
        self.escaping = escaping
        text.reserveCapacity(capacity)
    }

    // MARK: Values

    package mutating func object(_ content: (inout JSONWriter) -> Void) {
        container(UInt8(ascii: "{"), UInt8(ascii: "}"), content)
    }

    package mutating func array(_ content: (inout JSONWriter) -> Void) {
        container(UInt8(ascii: "["), UInt8(ascii: "]"), content)
    }

    package mutating func value(_ string: String) {
        separate()
        escaping.append(string, to: &text)
    }

    package mutating func value(_ number: Int64) { literal(String(number)) }

    /// Writes a number; infinities and NaN, which JSON lacks, become null.
    package mutating func value(_ number: Double) {
        literal(number.isFinite ? String(number) : "null")
    }

    package mutating func value(_ bool: Bool) { literal(bool ? "true" : "false") }

    package mutating func null() { literal("null") }

    /// Writes an already encoded JSON value as is.
    package mutating func raw(_ json: [UInt8]) {
        separate()
        text += json
    }

    /// Writes a parsed value in this writer's layout. Strings and numbers keep their text.
    package mutating func value(_ json: JSONValue) {
        if let members = json.members {
            object { object in
                for (name, value) in members.pairs {
                    object.name(name)
                    object.value(value)
                }
            }
        } else if let elements = json.elements {
            array { array in
                for element in elements { array.value(element) }
            }
        } else {
            raw(json.raw)
        }
    }

    // MARK: Members

    /// Writes a member's name. Its value has to follow.
    package mutating func name(_ name: String) {
        separate()
        escaping.append(name, to: &text)
        text.append(UInt8(ascii: ":"))
        if pretty { text.append(UInt8(ascii: " ")) }
        afterName = true
    }

    /// Writes a member, or none for nil. The name is printable ASCII without a quote and a
    /// backslash, and is not looked at.
    package mutating func member(constant name: StaticString, _ value: String?) {
        guard let value else { return }
        let bytes = value.utf8Span.span
        guard !pretty, escaping.isPlain(bytes) else { return member("\(name)", value) }
        // At once: each append looks after the array's memory.
        let needsComma = needsComma
        text.append(addingCapacity: name.utf8CodeUnitCount + bytes.count + 6) { output in
            if needsComma { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            name.bytes.append(to: &output)
            output.append(UInt8(ascii: "\""))
            output.append(UInt8(ascii: ":"))
            output.append(UInt8(ascii: "\""))
            bytes.append(to: &output)
            output.append(UInt8(ascii: "\""))
        }
        self.needsComma = true
    }

    /// Writes a member. Like the overloads below, omits the member if the value is nil.
    package mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ value: Int64?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ value: Double?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, raw json: [UInt8]?) {
        guard let json else { return }
        self.name(name)
        raw(json)
    }

    package mutating func object(_ name: String, _ content: (inout JSONWriter) -> Void) {
        self.name(name)
        object(content)
    }

    package mutating func array(_ name: String, _ content: (inout JSONWriter) -> Void) {
        self.name(name)
        array(content)
    }

    // MARK: Layout

    /// Ends the line after a complete value, for a sequence of values on lines of their own.
    package mutating func endLine() {
        text.append(UInt8(ascii: "\n"))
        needsComma = false
    }

    private mutating func container(
        _ open: UInt8, _ close: UInt8, _ content: (inout JSONWriter) -> Void
    ) {
        separate()
        text.append(open)
        depth += 1
        needsComma = false
        content(&self)
        let isEmpty = !needsComma
        depth -= 1
        needsComma = true
        if !isEmpty { breakLine() }
        text.append(close)
    }

    private mutating func literal(_ word: String) {
        separate()
        text += word.utf8
    }

    /// Writes the separator before the next value or name.
    private mutating func separate() {
        if afterName {
            afterName = false
            return
        }
        if needsComma { text.append(UInt8(ascii: ",")) }
        if depth > 0 { breakLine() }
        needsComma = true
    }

    private mutating func breakLine() {
        guard pretty else { return }
        text.append(UInt8(ascii: "\n"))
        text += repeatElement(UInt8(ascii: " "), count: 2 * depth)
    }
}
