import AssayBytes
import AssayHTTP
import AssayTelemetry
import AssayWire

/// proto3's JSON mapping, of a message to JSON.
extension RPCSchema {
    /// Writes an encoded message as JSON.
    ///
    /// - Precondition: `MessageCodec` has encoded it: the elements of a repeated field are
    ///   together, and text is UTF-8.
    func json(_ message: [UInt8], as name: String) -> [UInt8] {
        var writer = JSONWriter(capacity: 2 * message.count)
        guard let index = self.message(named: name) else {
            preconditionFailure("a message without a descriptor: \(name)")
        }
        write(message.span, index, to: &writer)
        return writer.text
    }

    private func write(_ bytes: Span<UInt8>, _ index: Int, to writer: inout JSONWriter) {
        writer.object { object in
            var reader = FieldReader()
            var pending = try? reader.next(in: bytes)
            while let first = pending {
                pending = try? reader.next(in: bytes)
                let fields = messages[index].fields
                guard let field = fields.first(where: { $0.number == first.number }) else {
                    continue
                }
                object.name(field.jsonName)
                guard field.isRepeated else {
                    write(first.value, bytes, field.type, to: &object)
                    continue
                }
                if let entry = mapEntry(field.type) {
                    object.object { map in
                        writeEntry(first.value, bytes, entry, to: &map)
                        while let next = pending, next.number == first.number {
                            writeEntry(next.value, bytes, entry, to: &map)
                            pending = try? reader.next(in: bytes)
                        }
                    }
                    continue
                }
                object.array { list in
                    writeElements(first.value, bytes, field.type, to: &list)
                    while let next = pending, next.number == first.number {
                        writeElements(next.value, bytes, field.type, to: &list)
                        pending = try? reader.next(in: bytes)
                    }
                }
            }
        }
    }

    /// The message of a map's entries; nil for a field that is no map.
    private func mapEntry(_ type: FieldType) -> Message? {
        guard case .message(let index) = type, messages[index].isMapEntry else { return nil }
        return messages[index]
    }

    /// Writes an entry of a map with names.
    ///
    /// - Precondition: both of its fields are there, the name first.
    private func writeEntry(
        _ value: FieldReader.Value, _ bytes: Span<UInt8>, _ entry: Message,
        to writer: inout JSONWriter
    ) {
        guard case .bytes(let range) = value else {
            preconditionFailure("an entry that is no message")
        }
        var reader = FieldReader()
        let pair = bytes.extracting(range)
        guard case .bytes(let name)? = try? reader.next(in: pair)?.value,
            let value = try? reader.next(in: pair)?.value
        else { preconditionFailure("an entry without its two fields") }
        writer.name(pair.extracting(name).httpText)
        write(value, pair, entry.fields[1].type, to: &writer)
    }

    /// Writes an element, or all of a packed field.
    private func writeElements(
        _ value: FieldReader.Value, _ bytes: Span<UInt8>, _ type: FieldType,
        to writer: inout JSONWriter
    ) {
        guard case .bytes(let range) = value, type.isNumber else {
            return write(value, bytes, type, to: &writer)
        }
        var reader = FieldReader()
        let packed = bytes.extracting(range)
        while let number = try? reader.nextPacked(in: packed) {
            write(.varint(number), bytes, type, to: &writer)
        }
    }

    private func write(
        _ value: FieldReader.Value, _ bytes: Span<UInt8>, _ type: FieldType,
        to writer: inout JSONWriter
    ) {
        switch (type, value) {
        case (.int32, .varint(let number)):
            writer.value(Int64(Int32(truncatingIfNeeded: number)))
        case (.uint32, .varint(let number)):
            writer.value(Int64(UInt32(truncatingIfNeeded: number)))
        // As text: JSON's readers have numbers of 53 bits.
        case (.int64, .varint(let number)): writer.value(String(Int64(bitPattern: number)))
        case (.uint64, .varint(let number)): writer.value(String(number))
        case (.bool, .varint(let number)): writer.value(number != 0)
        case (.enumeration(let index), .varint(let number)):
            let number = Int32(truncatingIfNeeded: number)
            if let value = enumerations[index].values.first(where: { $0.number == number }) {
                writer.value(value.name)
            } else {
                writer.value(Int64(number))
            }
        case (.string, .bytes(let range)): writer.value(bytes.extracting(range).httpText)
        case (.bytes, .bytes(let range)):
            let text = Base64.encode(bytes.extracting(range))
            writer.raw([UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")])
        case (.message(let index), .bytes(let range)):
            write(bytes.extracting(range), index, to: &writer)
        default: preconditionFailure("a field of another type")
        }
    }
}

extension RPCSchema.FieldType {
    /// Whether it is a number on the wire.
    var isNumber: Bool {
        switch self {
        case .int32, .int64, .uint32, .uint64, .bool, .enumeration: true
        case .string, .bytes, .message: false
        }
    }
}
