import AssayBytes

/// A value of a payload. Dates are relative to the scenario's start until they are written.
indirect enum PayloadValue: Sendable {
    case string(String)
    case number(Int64)
    case bool(Bool)
    /// Milliseconds after the start.
    case time(Int64)
    /// Any other JSON, unchanged.
    case raw([UInt8])
    case array([PayloadValue])
    case object([PayloadChange])
}

/// One member to set; to remove, where it has no value.
struct PayloadChange: Sendable {
    var name: String
    var value: PayloadValue?
}

/// The members of a payload, in the order in which they were first set.
struct PayloadMembers: Sendable {
    private(set) var members: [(name: String, value: PayloadValue)] = []

    subscript(_ name: String) -> PayloadValue? {
        get { members.first { $0.name == name }?.value }
        set {
            let index = members.firstIndex { $0.name == name }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append((name, value))
            case (nil, nil): break
            }
        }
    }

    mutating func apply(_ changes: [PayloadChange]) {
        for change in changes { self[change.name] = change.value }
    }

    func applying(_ changes: [PayloadChange]) -> PayloadMembers {
        var copy = self
        copy.apply(changes)
        return copy
    }

    // MARK: Typed reading

    func string(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }

    func time(_ name: String) -> Int64? {
        if case .time(let time) = self[name] { time } else { nil }
    }

    func object(_ name: String) -> PayloadMembers? {
        guard case .object(let members) = self[name] else { return nil }
        var object = PayloadMembers()
        for member in members { object[member.name] = member.value }
        return object
    }

    func number(_ name: String) -> Int64? {
        if case .number(let number) = self[name] { number } else { nil }
    }

    // MARK: Writing

    /// - Parameter start: milliseconds since 1970.
    func json(start: Int64) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { $0.members(self, start: start) }
        return writer.text
    }
}

extension JSONWriter {
    mutating func members(_ payload: PayloadMembers, start: Int64) {
        for (name, value) in payload.members {
            self.name(name)
            self.value(value, start: start)
        }
    }

    mutating func value(_ value: PayloadValue, start: Int64) {
        switch value {
        case .string(let text): self.value(text)
        case .number(let number): self.value(number)
        case .bool(let bool): self.value(bool)
        case .time(let time): self.value(start + time)
        case .raw(let json): raw(json)
        case .array(let values):
            array { array in
                for value in values { array.value(value, start: start) }
            }
        case .object(let changes):
            object { $0.members(PayloadMembers().applying(changes), start: start) }
        }
    }
}
