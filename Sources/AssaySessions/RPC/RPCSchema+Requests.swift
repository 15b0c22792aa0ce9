import AssayBytes
import AssayHTTP
import AssayService
import AssayTelemetry
import AssayWire

/// Writes messages of clients as JSON, for calls whose requests HTTP has as JSON.
extension RPCSchema {
    /// Fields with JSON of Apple's. Each becomes the value of the member of this name.
    private static let embedded = ["requestJson": "request"]

    /// The value of a field, as it was sent.
    private enum Sent {
        case number(UInt64)
        case bytes([UInt8])
    }

    /// Writes a request as JSON. Unknown fields are ignored, and the last of several values counts.
    ///
    /// The types of its fields are text, whole numbers of 32 bits, truth values and messages.
    func json(ofRequest message: [UInt8], as name: String) throws(HTTPProblem) -> [UInt8] {
        guard let index = self.message(named: name) else {
            preconditionFailure("a message without a descriptor: \(name)")
        }
        return try json(message, index)
    }

    private func json(_ bytes: [UInt8], _ index: Int) throws(HTTPProblem) -> [UInt8] {
        let sent = try fields(of: bytes)
        var members: [(name: String, value: [UInt8])] = []
        for field in messages[index].fields {
            guard let values = sent[field.number], let last = values.last else { continue }
            let name = Self.embedded[field.jsonName] ?? field.jsonName
            switch (field.type, last) {
            case (.string, .bytes(let bytes)):
                members.append((name, try text(bytes, field)))
            case (.message(let nested), .bytes):
                // A message that was sent in parts is their concatenation.
                var whole: [UInt8] = []
                for case .bytes(let part) in values { whole += part }
                members.append((name, try json(whole, nested)))
            case (.bool, .number(let number)):
                members.append((name, Array((number != 0 ? "true" : "false").utf8)))
            case (.uint32, .number(let number)):
                members.append((name, Array("\(UInt32(truncatingIfNeeded: number))".utf8)))
            default: throw .undecodable(.malformed)
            }
        }
        var writer = JSONWriter(capacity: 2 * bytes.count)
        writer.object { object in
            for (name, value) in members { object.member(name, raw: value) }
        }
        return writer.text
    }

    private func fields(of bytes: [UInt8]) throws(HTTPProblem) -> [Int: [Sent]] {
        var sent: [Int: [Sent]] = [:]
        var reader = FieldReader()
        do throws(MessageError) {
            while let field = try reader.next(in: bytes.span) {
                switch field.value {
                case .bytes(let range):
                    sent[field.number, default: []].append(
                        .bytes(Array(bytes[range])))
                case .varint(let number): sent[field.number, default: []].append(.number(number))
                case .fixed: break
                }
            }
        } catch {
            throw .undecodable(error)
        }
        return sent
    }

    /// A text as JSON, or the JSON that it has.
    private func text(_ bytes: [UInt8], _ field: Field) throws(HTTPProblem) -> [UInt8] {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .undecodable(.invalidText)
        }
        guard Self.embedded[field.jsonName] == nil else {
            do throws(JSONError) {
                let document = try JSONDocument.parse(bytes, limit: ServerLimits.httpSignBytes)
                if document.root.members != nil { return bytes }
            } catch {
                throw HTTPParameters.problem("\(field.name) is not JSON: \(error)")
            }
            throw HTTPParameters.problem("\(field.name) is not a JSON object")
        }
        var writer = JSONWriter(capacity: bytes.count + 2)
        writer.value(text)
        return writer.text
    }
}
