import AssayBytes

/// Reads the members of a JSON object by rules. Each refusal names the member with its path, such
/// as `items[1].price`.
struct JSONRules {
    private let object: JSONObject
    private let path: String

    init(_ object: JSONObject, at path: String = "") {
        self.object = object
        self.path = path
    }

    /// Parses a JSON object.
    init(text: [UInt8]) throws(StoreError) {
        do throws(JSONError) {
            self.init(try JSONDocument.parse(text, limit: StoreLimits.signedBytes).members())
        } catch {
            throw .invalidArgument("the request is not a JSON object: \(error)")
        }
    }

    private func location(_ name: String) -> String { path.isEmpty ? name : path + "." + name }

    private func refused(_ name: String, _ reason: String) -> StoreError {
        .invalidArgument(location(name) + " " + reason)
    }

    /// The value of a member; nil without one, or for null.
    private func value(_ name: String) -> JSONValue? {
        guard let value = object[name], !value.isNull else { return nil }
        return value
    }

    private func required<Value>(
        _ name: String, _ value: Value?
    ) throws(StoreError) -> Value {
        guard let value else { throw refused(name, "is missing") }
        return value
    }

    /// Refuses members other than these: a misspelt one would have no effect.
    func allow(_ names: [String]) throws(StoreError) {
        for (name, _) in object.pairs where !names.contains(name) {
            let shown = "\"" + name.prefix(64) + "\""
            throw .invalidArgument(
                "unknown member \(shown)\(path.isEmpty ? "" : " of " + path); the members: "
                    + names.joined(separator: ", "))
        }
    }

    func has(_ name: String) -> Bool { value(name) != nil }

    // MARK: Texts

    func text(_ name: String, atMost characters: Int = 256) throws(StoreError) -> String {
        try required(name, optionalText(name, atMost: characters))
    }

    func optionalText(
        _ name: String, atMost characters: Int = 256
    ) throws(StoreError) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.string else { throw refused(name, "is not a string") }
        guard !text.isEmpty else { throw refused(name, "is empty") }
        // Apple's libraries count what their languages call characters: of these, UTF-16 units are
        // the most.
        guard text.utf16.count <= characters else {
            throw refused(name, "has more than \(characters) characters")
        }
        return text
    }

    func uuid(_ name: String) throws(StoreError) -> String {
        try required(name, optionalUUID(name))
    }

    func optionalUUID(_ name: String) throws(StoreError) -> String? {
        guard let text = try optionalText(name) else { return nil }
        guard UUIDText.isValid(text) else {
            throw refused(name, "is not a UUID, such as 7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10")
        }
        return text
    }

    /// Three upper-case letters: a currency (ISO 4217) or a storefront (ISO 3166).
    func code(_ name: String, _ kind: String) throws(StoreError) {
        _ = try required(name, optionalText(name))
        try optionalCode(name, kind)
    }

    func optionalCode(_ name: String, _ kind: String) throws(StoreError) {
        guard let text = try optionalText(name) else { return }
        let isCode =
            text.utf8.count == 3
            && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        guard isCode else { throw refused(name, "is not \(kind)") }
    }

    @discardableResult
    func choice(_ name: String, _ names: [String]) throws(StoreError) -> String {
        let text = try text(name)
        guard names.contains(text) else {
            throw refused(name, "is not one of " + names.joined(separator: ", "))
        }
        return text
    }

    @discardableResult
    func optionalChoice(_ name: String, _ names: [String]) throws(StoreError) -> String? {
        has(name) ? try choice(name, names) : nil
    }

    // MARK: Numbers

    /// A price in thousandths of the currency's unit.
    func amount(_ name: String) throws(StoreError) {
        _ = try required(name, value(name))
        try optionalAmount(name)
    }

    func optionalAmount(_ name: String) throws(StoreError) {
        guard let value = value(name) else { return }
        guard let number = value.int64 else {
            throw refused(name, "is in milliunits, a whole number: 9990 for 9.99")
        }
        guard number >= 0 else { throw refused(name, "is negative") }
    }

    @discardableResult
    func integer(_ name: String, _ range: ClosedRange<Int64>) throws(StoreError) -> Int64 {
        let value = try required(name, value(name))
        guard let number = value.int64, range.contains(number) else {
            throw refused(
                name, "is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    @discardableResult
    func bool(_ name: String) throws(StoreError) -> Bool {
        let value = try required(name, value(name))
        guard let bool = value.bool else { throw refused(name, "is not true or false") }
        return bool
    }

    // MARK: Objects

    func object(_ name: String) throws(StoreError) -> JSONRules {
        try required(name, optionalObject(name))
    }

    func optionalObject(_ name: String) throws(StoreError) -> JSONRules? {
        guard let value = value(name) else { return nil }
        guard let members = value.members else { throw refused(name, "is not an object") }
        return JSONRules(members, at: location(name))
    }

    /// The JSON text of a member.
    func raw(_ name: String) throws(StoreError) -> [UInt8] {
        try required(name, value(name)).raw
    }

    func objects(_ name: String) throws(StoreError) -> [JSONRules] {
        try required(name, optionalObjects(name))
    }

    /// The objects of an array, which is not empty.
    func optionalObjects(_ name: String) throws(StoreError) -> [JSONRules]? {
        guard let value = value(name) else { return nil }
        guard let elements = value.elements else { throw refused(name, "is not an array") }
        var objects: [JSONRules] = []
        for (index, element) in elements.enumerated() {
            guard let members = element.members else {
                throw refused("\(name)[\(index)]", "is not an object")
            }
            objects.append(JSONRules(members, at: location("\(name)[\(index)]")))
        }
        guard !objects.isEmpty else { throw refused(name, "is empty") }
        return objects
    }

    /// Writes the object without white space, with these members before its own.
    func json(after first: [(name: String, value: String)]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for (name, value) in first where !has(name) { writer.member(name, value) }
            for (name, value) in object.pairs where !value.isNull {
                writer.member(name, raw: value.raw.compactJSON)
            }
        }
        return writer.text
    }
}
