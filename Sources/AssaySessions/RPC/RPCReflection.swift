import AssayBytes
import AssayHTTP
import AssayTelemetry
import AssayWire

/// gRPC's server reflection, in both versions: which services there are, and the files that define
/// them. Tools need no `.proto` then.
enum RPCReflection {
    /// A file of the contract.
    private struct File {
        var name = ""
        var bytes: [UInt8] = []
        var imports: [String] = []
        /// Full names of messages, enumerations, services, methods and fields.
        var symbols: Set<String> = []
    }

    private static let files = files(of: serviceDescriptors)
    /// Those whose files are here.
    private static let services = RPCMethod.services.filter { name in
        files.contains { $0.symbols.contains(name) }
    }

    /// The answer to a request (`grpc.reflection.v1.ServerReflectionRequest`).
    static func answer(_ request: Span<UInt8>) throws(HTTPProblem) -> [UInt8] {
        var answer = MessageBuilder()
        var result: (number: Int, content: [UInt8])?
        var reader = FieldReader()
        do throws(MessageError) {
            while let field = try reader.next(in: request) {
                guard case .bytes(let range) = field.value else { continue }
                let text = request.extracting(range).httpText
                switch field.number {
                case 1: answer.set(1, text: text)
                case 3: result = found(files.filter { $0.name.equalsByBytes(text) }, text)
                case 4: result = found(files.filter { $0.symbols.contains(text) }, text)
                case 5: result = notFound("no message is extended")
                case 6: result = extensions(of: text)
                case 7: result = (6, list)
                default: break
                }
            }
        } catch {
            throw .undecodable(error)
        }
        guard let result else {
            throw HTTPProblem(400, .invalidArgument, "the request of reflection asks for nothing")
        }
        answer.set(2, bytes: request.array)
        answer.set(result.number, bytes: result.content)
        return answer.bytes
    }

    /// A file, and those that it imports.
    private static func found(_ found: [File], _ name: String) -> (Int, [UInt8]) {
        guard let file = found.first else { return notFound("\(name) is not known") }
        var all = [file]
        var next = 0
        while next < all.count {
            for name in all[next].imports where !all.contains(where: { $0.name == name }) {
                all += files.filter { $0.name == name }
            }
            next += 1
        }
        var content = MessageBuilder()
        for file in all { content.set(1, bytes: file.bytes) }
        return (4, content.bytes)
    }

    private static func notFound(_ message: String) -> (Int, [UInt8]) {
        var content = MessageBuilder()
        content.set(1, varint: UInt64(Status.notFound.rawValue))
        content.set(2, text: message)
        return (7, content.bytes)
    }

    private static func extensions(of type: String) -> (Int, [UInt8]) {
        guard files.contains(where: { $0.symbols.contains(type) }) else {
            return notFound("\(type) is not known")
        }
        var content = MessageBuilder()
        content.set(1, text: type)
        return (5, content.bytes)
    }

    private static var list: [UInt8] {
        var content = MessageBuilder()
        for name in services {
            var service = MessageBuilder()
            service.set(1, text: name)
            content.set(1, bytes: service.bytes)
        }
        return content.bytes
    }

    // MARK: Descriptors

    private static func files(of descriptors: [UInt8]) -> [File] {
        RPCSchema.children(1, of: descriptors).map { bytes in
            var file = File()
            file.bytes = bytes
            file.name = RPCSchema.text(1, of: bytes)
            file.imports = RPCSchema.children(3, of: bytes).map {
                String(decoding: $0, as: UTF8.self)
            }
            let package = RPCSchema.text(2, of: bytes)
            for message in RPCSchema.children(4, of: bytes) { add(message, in: package, to: &file) }
            for enumeration in RPCSchema.children(5, of: bytes) {
                file.symbols.insert(package + "." + RPCSchema.text(1, of: enumeration))
            }
            for service in RPCSchema.children(6, of: bytes) {
                let name = package + "." + RPCSchema.text(1, of: service)
                file.symbols.insert(name)
                for method in RPCSchema.children(2, of: service) {
                    file.symbols.insert(name + "." + RPCSchema.text(1, of: method))
                }
            }
            return file
        }
    }

    private static func add(_ message: [UInt8], in scope: String, to file: inout File) {
        let name = scope + "." + RPCSchema.text(1, of: message)
        file.symbols.insert(name)
        for field in RPCSchema.children(2, of: message) {
            file.symbols.insert(name + "." + RPCSchema.text(1, of: field))
        }
        for nested in RPCSchema.children(3, of: message) { add(nested, in: name, to: &file) }
        for enumeration in RPCSchema.children(4, of: message) {
            file.symbols.insert(name + "." + RPCSchema.text(1, of: enumeration))
        }
    }
}
