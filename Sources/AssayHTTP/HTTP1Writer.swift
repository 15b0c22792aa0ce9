import AssayBytes

/// Writes responses of HTTP/1.1 (RFC 9112).
package enum HTTP1Writer {
    /// Asks the client to send the body.
    package static let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
    /// The end of a response in chunks.
    package static let lastChunk = Array("0\r\n\r\n".utf8)

    /// Appends a response.
    ///
    /// - Parameters:
    ///   - closes: whether the connection ends after it.
    ///   - isHead: whether the request is HEAD: the response has no body.
    ///   - seconds: the time, since 1970.
    package static func append(
        _ response: HTTPResponse, closes: Bool, isHead: Bool = false, at seconds: Int64,
        to output: inout [UInt8]
    ) {
        appendHead(
            of: response, length: response.body.count, closes: closes, at: seconds, to: &output)
        if response.canHaveBody, !isHead { output += response.body }
    }

    /// Writes the head of a response before its body, which is the output from `start` on.
    package static func insertHead(
        of response: HTTPResponse, at start: Int, closes: Bool, at seconds: Int64,
        into output: inout [UInt8]
    ) {
        var head: [UInt8] = []
        head.reserveCapacity(usualHeadBytes)
        write(response, length: output.count - start, closes: closes, at: seconds, to: &head)
        output.insert(contentsOf: head, at: start)
    }

    /// Makes the output from `start` on a chunk.
    package static func makeChunk(from start: Int, in output: inout [UInt8]) {
        let size = String(output.count - start, radix: 16) + "\r\n"
        output.insert(contentsOf: size.utf8, at: start)
        output += "\r\n".utf8
    }

    /// Appends the head of a response whose body follows.
    ///
    /// - Parameter length: of the body; nil for one in chunks.
    package static func appendHead(
        of response: HTTPResponse, length: Int?, closes: Bool, at seconds: Int64,
        to output: inout [UInt8]
    ) {
        // The output grows by itself for small bodies; a large one is copied once.
        if let length, length >= largeBodyBytes {
            output.reserveCapacity(output.count + usualHeadBytes + length)
        }
        write(response, length: length, closes: closes, at: seconds, to: &output)
    }

    private static func write(
        _ response: HTTPResponse, length: Int?, closes: Bool, at seconds: Int64,
        to output: inout [UInt8]
    ) {
        output += "HTTP/1.1 ".utf8
        output += String(response.status).utf8
        output.append(UInt8(ascii: " "))
        output += HTTPStatus.reason(response.status).utf8
        output += "\r\nDate: ".utf8
        HTTPDate.append(secondsSince1970: seconds, to: &output)
        if response.canHaveBody {
            if let type = response.contentType {
                output += "\r\nContent-Type: ".utf8
                output += type.utf8
            }
            if let length {
                output += "\r\nContent-Length: ".utf8
                output += String(length).utf8
            } else {
                output += "\r\nTransfer-Encoding: chunked".utf8
            }
        }
        output += everywhere
        for (name, value) in response.fields { output += "\(name): \(value)\r\n".utf8 }
        if closes { output += "Connection: close\r\n".utf8 }
        output += "\r\n".utf8
    }

    /// The lines of `HTTPResponse.everywhere`, after the line before them.
    private static let everywhere = HTTPResponse.everywhere.reduce(into: Array("\r\n".utf8)) {
        $0 += "\($1.name): \($1.value)\r\n".utf8
    }

    /// Bytes of the usual head.
    private static let usualHeadBytes = 256
    /// Bytes of a body for which the output gets its memory at once.
    private static let largeBodyBytes = 64 << 10
}
