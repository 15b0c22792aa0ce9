/// A form that a browser sends as `multipart/form-data` (RFC 7578).
package struct MultipartForm: Sendable {
    package struct Part: Sendable, Equatable {
        package let name: String
        /// Nil for a field that is no file.
        package let fileName: String?
        /// The content's offset in the body.
        package let content: Range<Int>
    }

    package private(set) var parts: [Part] = []

    /// Reads a body. The content of the parts stays where it is.
    package init(
        _ body: Span<UInt8>, contentType: String
    ) throws(MultipartError) {
        guard let boundary = Self.boundary(contentType) else { throw .noBoundary }
        let delimiter = Array("--\(boundary)".utf8)
        guard Self.has(delimiter, at: 0, in: body) else { throw .malformed(at: 0) }
        var position = delimiter.count
        while true {
            if Self.has(Array("--".utf8), at: position, in: body) { return }
            guard Self.has(Self.lineBreak, at: position, in: body) else {
                throw .malformed(at: position)
            }
            let start = position + Self.lineBreak.count
            guard let end = Self.find(Self.lineBreak + delimiter, from: start, in: body) else {
                throw .malformed(at: start)
            }
            guard parts.count < Self.partLimit else { throw .tooManyParts }
            try parts.append(Self.part(body, start..<end))
            position = end + Self.lineBreak.count + delimiter.count
        }
    }

    /// Fields of the page's form, and files.
    static let partLimit = 64
    /// Bytes of a part's head.
    static let headLimit = 4_096
    /// RFC 2046, section 5.1.1.
    private static let boundaryLimit = 70
    private static let lineBreak: [UInt8] = [0x0D, 0x0A]

    private static func boundary(_ contentType: String) -> String? {
        let parameters = contentType.split(separator: ";").map { $0.drop { $0 == " " } }
        guard parameters.first?.lowercased().trimmingSpaces == "multipart/form-data" else {
            return nil
        }
        for parameter in parameters.dropFirst()
        where parameter.lowercased().hasPrefix("boundary=") {
            var value = parameter.dropFirst("boundary=".count)
            if value.first == "\"", value.last == "\"", value.count > 1 {
                value = value.dropFirst().dropLast()
            }
            let text = String(value).trimmingSpaces
            guard !text.isEmpty, text.utf8.count <= boundaryLimit else { return nil }
            return text
        }
        return nil
    }

    /// Reads one part: fields, an empty line, content.
    private static func part(
        _ body: Span<UInt8>, _ range: Range<Int>
    ) throws(MultipartError) -> Part {
        let end = min(range.upperBound, range.lowerBound + headLimit)
        let head = body.extracting(range.lowerBound..<end)
        guard let blank = find(lineBreak + lineBreak, from: 0, in: head) else {
            throw .malformed(at: range.lowerBound)
        }
        var text: [UInt8] = []
        for index in 0..<blank { text.append(head[index]) }
        let fields = String(decoding: text, as: UTF8.self).split(separator: "\r\n")
        let disposition = fields.first { $0.lowercased().hasPrefix("content-disposition:") }
        guard let disposition, let name = parameter("name", of: disposition) else {
            throw .malformed(at: range.lowerBound)
        }
        return Part(
            name: name, fileName: parameter("filename", of: disposition),
            content: range.lowerBound + blank + 2 * lineBreak.count..<range.upperBound)
    }

    /// A parameter in quotation marks, as browsers write it.
    private static func parameter(_ name: String, of field: Substring) -> String? {
        guard let start = field.firstRange(of: "; \(name)=\"") else { return nil }
        let value = field[start.upperBound...]
        guard let end = value.firstIndex(of: "\"") else { return nil }
        return String(value[..<end])
    }

    private static func has(_ text: [UInt8], at position: Int, in body: Span<UInt8>) -> Bool {
        guard position + text.count <= body.count else { return false }
        return text.indices.allSatisfy { body[position + $0] == text[$0] }
    }

    private static func find(_ text: [UInt8], from start: Int, in body: Span<UInt8>) -> Int? {
        var position = start
        while position + text.count <= body.count {
            if body[position] == text[0], has(text, at: position, in: body) { return position }
            position += 1
        }
        return nil
    }
}

/// Why a body is no form.
package enum MultipartError: Error, Equatable, Sendable {
    /// The Content-Type is not multipart/form-data with a boundary.
    case noBoundary
    /// A delimiter or a part's head is missing at this offset.
    case malformed(at: Int)
    /// There are more parts than the limit.
    case tooManyParts
}

extension MultipartError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noBoundary: "the Content-Type is not multipart/form-data with a boundary"
        case .malformed(let offset): "the form is malformed at byte \(offset)"
        case .tooManyParts: "the form has more than \(MultipartForm.partLimit) parts"
        }
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
