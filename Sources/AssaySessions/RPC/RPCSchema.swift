import AssayTelemetry
import AssayWire

/// The types of messages, by which JSON is mapped to them and back. Read from the descriptors that
/// protoc writes (`google/protobuf/descriptor.proto`).
struct RPCSchema: Sendable {
    struct Message: Sendable {
        let name: String
        fileprivate(set) var fields: [Field] = []
        /// Whether it is an entry of a map, whose fields are the key and the value.
        fileprivate(set) var isMapEntry = false
    }

    struct Field: Sendable {
        let number: Int
        /// The name in the contract, and the one in JSON. A reader accepts both.
        let name: String
        let jsonName: String
        let isRepeated: Bool
        fileprivate(set) var type: FieldType
    }

    enum FieldType: Equatable, Sendable {
        case int32, int64, uint32, uint64, bool, string, bytes
        /// The index of a message, and of an enumeration.
        case message(Int), enumeration(Int)
    }

    struct Enumeration: Sendable {
        let name: String
        fileprivate(set) var values: [(name: String, number: Int32)] = []
    }

    private(set) var messages: [Message] = []
    private(set) var enumerations: [Enumeration] = []

    /// Those of the services, as they were built in.
    static let services = RPCSchema(descriptors: serviceDescriptors)

    func message(named name: String) -> Int? { messages.firstIndex { $0.name == name } }

    /// - Precondition: a FileDescriptorSet with the types of `FieldType` alone. It is part of the
    ///   program, and a test reads all of it.
    init(descriptors: [UInt8]) {
        var typeNames: [(message: Int, field: Int, name: String)] = []
        for file in Self.children(1, of: descriptors) {
            let package = Self.text(2, of: file)
            for message in Self.children(4, of: file) {
                add(message: message, in: package, &typeNames)
            }
            for enumeration in Self.children(5, of: file) { add(enumeration, in: package) }
        }
        for (message, field, name) in typeNames {
            messages[message].fields[field].type = resolve(name)
        }
    }

    private mutating func add(
        message bytes: [UInt8], in scope: String,
        _ typeNames: inout [(message: Int, field: Int, name: String)]
    ) {
        let name = scope + "." + Self.text(1, of: bytes)
        let index = messages.count
        messages.append(Message(name: name))
        // MessageOptions, and its field map_entry.
        messages[index].isMapEntry =
            Self.children(7, of: bytes).contains { Self.number(7, of: $0) == 1 }
        for field in Self.children(2, of: bytes) {
            let typeName = Self.text(6, of: field)
            if !typeName.isEmpty {
                typeNames.append((index, messages[index].fields.count, typeName))
            }
            messages[index].fields.append(
                Field(
                    number: Int(Self.number(3, of: field)), name: Self.text(1, of: field),
                    jsonName: Self.text(10, of: field), isRepeated: Self.number(4, of: field) == 3,
                    type: Self.scalar(Self.number(5, of: field))))
        }
        for nested in Self.children(3, of: bytes) { add(message: nested, in: name, &typeNames) }
        for nested in Self.children(4, of: bytes) { add(nested, in: name) }
    }

    private mutating func add(_ bytes: [UInt8], in scope: String) {
        var enumeration = Enumeration(name: scope + "." + Self.text(1, of: bytes))
        for value in Self.children(2, of: bytes) {
            enumeration.values.append(
                (Self.text(1, of: value), Int32(truncatingIfNeeded: Self.number(2, of: value))))
        }
        enumerations.append(enumeration)
    }

    private func resolve(_ typeName: String) -> FieldType {
        let name = typeName.dropFirst()
        if let index = messages.firstIndex(where: { $0.name == name }) { return .message(index) }
        let index = enumerations.firstIndex { $0.name == name }
        guard let index else { preconditionFailure("a type without a descriptor: \(name)") }
        return .enumeration(index)
    }

    /// A type by its number. That of messages and enumerations is resolved later.
    private static func scalar(_ number: UInt64) -> FieldType {
        switch number {
        case 3: .int64
        case 4: .uint64
        case 5: .int32
        case 8: .bool
        case 9: .string
        case 12: .bytes
        case 11, 13, 14: .uint32
        default: preconditionFailure("the type \(number) is not mapped to JSON")
        }
    }

    // MARK: Fields of descriptors

    private static func each(
        _ number: Int, of bytes: [UInt8], _ body: (FieldReader.Value) -> Void
    ) {
        var reader = FieldReader()
        while let field = try? reader.next(in: bytes.span) {
            if field.number == number { body(field.value) }
        }
    }

    static func children(_ number: Int, of bytes: [UInt8]) -> [[UInt8]] {
        var children: [[UInt8]] = []
        each(number, of: bytes) { value in
            if case .bytes(let range) = value { children.append(Array(bytes[range])) }
        }
        return children
    }

    static func text(_ number: Int, of bytes: [UInt8]) -> String {
        String(decoding: children(number, of: bytes).last ?? [], as: UTF8.self)
    }

    private static func number(_ number: Int, of bytes: [UInt8]) -> UInt64 {
        var found: UInt64 = 0
        each(number, of: bytes) { value in
            if case .varint(let value) = value { found = value }
        }
        return found
    }
}
