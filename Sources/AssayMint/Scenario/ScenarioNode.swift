import AssayBytes

/// One value of a scenario file and its location, which error messages name.
struct ScenarioNode {
    let value: JSONValue
    /// Such as `steps[2].expect.groups[0]`; empty for the whole file.
    let path: String

    func invalid(_ reason: String) -> MintError {
        .invalidMember(at: path.isEmpty ? "the file" : path, reason: reason)
    }

    // MARK: Objects

    /// The members of an object with a fixed set of names.
    func members(_ known: [String]) throws(MintError) -> [String: ScenarioNode] {
        var members: [String: ScenarioNode] = [:]
        for (name, node) in try pairs() {
            guard known.contains(name) else {
                throw .unknownMember(name, at: path.isEmpty ? "the file" : path, known: known)
            }
            members[name] = node
        }
        return members
    }

    /// The members of an object with any names, in the order of the text.
    func pairs() throws(MintError) -> [(name: String, node: ScenarioNode)] {
        guard let members = value.members else { throw invalid("must be an object") }
        return members.pairs.map { ($0.name, child($0.name, $0.value)) }
    }

    private func child(_ name: String, _ value: JSONValue) -> ScenarioNode {
        ScenarioNode(value: value, path: path.isEmpty ? name : path + "." + name)
    }

    // MARK: Values

    func list() throws(MintError) -> [ScenarioNode] {
        guard let elements = value.elements else { throw invalid("must be a list") }
        return elements.enumerated().map { index, value in
            ScenarioNode(value: value, path: "\(path)[\(index)]")
        }
    }

    func string() throws(MintError) -> String {
        guard let text = value.string, !text.isEmpty else { throw invalid("must be a text") }
        return text
    }

    func strings() throws(MintError) -> [String] {
        var strings: [String] = []
        for node in try list() { strings.append(try node.string()) }
        return strings
    }

    func bool() throws(MintError) -> Bool {
        guard let bool = value.bool else { throw invalid("must be true or false") }
        return bool
    }

    func number() throws(MintError) -> Int64 {
        guard let number = value.int64 else { throw invalid("must be a whole number") }
        return number
    }

    /// A number of days, not negative, of a century at most.
    func days() throws(MintError) -> Int64 {
        let days = try number()
        guard (0...36_525).contains(days) else { throw invalid("must be from 0 to 36525 days") }
        return days
    }

    /// Milliseconds after the start.
    func time() throws(MintError) -> Int64 {
        guard let text = value.string, let time = ScenarioTime.parse(text) else {
            throw invalid("must be a time after the start, such as \"30d\" or \"1d12h-1ms\"")
        }
        return time
    }

    // MARK: Payloads

    /// The changes of a payload's members. null removes a member.
    func changes() throws(MintError) -> [PayloadChange] {
        var changes: [PayloadChange] = []
        for (name, node) in try pairs() {
            let value = node.value.isNull ? nil : try node.payloadValue(isDate: name.isDate)
            changes.append(PayloadChange(name: name, value: value))
        }
        return changes
    }

    private func payloadValue(isDate: Bool) throws(MintError) -> PayloadValue {
        switch value.kind {
        case .string: return isDate ? .time(try time()) : .string(value.string ?? "")
        case .number: return value.int64.map(PayloadValue.number) ?? .raw(value.raw)
        case .true, .false: return .bool(value.kind == .true)
        case .null: return .raw(value.raw)
        case .object: return .object(try changes())
        case .array:
            var values: [PayloadValue] = []
            for node in try list() { values.append(try node.payloadValue(isDate: isDate)) }
            return .array(values)
        }
    }
}

extension String {
    /// Whether a member of Apple's payloads with this name is a date.
    fileprivate var isDate: Bool { hasSuffix("Date") }
}
