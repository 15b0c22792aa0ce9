/// Why bytes are not a request that this server reads. The stream cannot continue after one: the
/// place of the next request is unknown, or two parties could disagree about it.
package enum HTTPFault: Error, Hashable, Sendable {
    /// The head exceeds the limit.
    case headTooLarge(limit: Int)
    /// The request target exceeds the limit.
    case targetTooLong(limit: Int)
    /// The head has more fields than the limit.
    case tooManyFields(limit: Int)
    /// A line ends with LF alone.
    case bareLineFeed
    /// A CR without a LF after it.
    case bareCarriageReturn
    /// The request line is not `METHOD SP TARGET SP HTTP/1.1`.
    case invalidRequestLine
    /// A version of HTTP other than 1.0 and 1.1.
    case unsupportedVersion
    /// A line that begins with white space, which continued the field before it in old versions.
    case foldedField
    /// The name of a field is empty or has other characters than those of a token, such as white
    /// space before the colon.
    case invalidFieldName
    /// The value of a field has control characters.
    case invalidFieldValue
    /// A field that can occur once occurs twice.
    case repeatedField(HTTPField)
    /// No Host in a request of HTTP/1.1, or one that is no host.
    case invalidHost
    /// Content-Length is not one decimal number of at most 18 digits.
    case invalidContentLength
    /// Both Content-Length and Transfer-Encoding.
    case twoLengths
    /// A Transfer-Encoding other than `chunked`, or in a request of HTTP/1.0.
    case unknownTransferEncoding
    /// An Expect other than `100-continue`.
    case unknownExpectation
    /// A line with the size of a chunk does not begin with hexadecimal digits, names more than
    /// 4 GB, is too long, or has control characters.
    case invalidChunkSize
    /// The data of a chunk does not end after its size.
    case invalidChunkEnd
    /// Fields follow the last chunk.
    case trailer

    /// The status code of the answer (RFC 9110, section 15).
    package var status: Int {
        switch self {
        case .headTooLarge, .tooManyFields: 431
        case .targetTooLong: 414
        case .unsupportedVersion: 505
        case .unknownExpectation: 417
        case .bareLineFeed, .bareCarriageReturn, .invalidRequestLine, .foldedField,
            .invalidFieldName, .invalidFieldValue, .repeatedField, .invalidHost,
            .invalidContentLength, .twoLengths, .unknownTransferEncoding, .invalidChunkSize,
            .invalidChunkEnd, .trailer:
            400
        }
    }
}

extension HTTPFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .headTooLarge(let limit): "the head of the request has more than \(limit) bytes"
        case .targetTooLong(let limit): "the request target has more than \(limit) bytes"
        case .tooManyFields(let limit): "the request has more than \(limit) fields"
        case .bareLineFeed: "a line of the head ends with LF; it has to end with CR LF"
        case .bareCarriageReturn: "a CR in the head is not followed by LF"
        case .invalidRequestLine: "the request line is not of the form METHOD TARGET HTTP/1.1"
        case .unsupportedVersion: "the server speaks HTTP/1.1; a proxy can translate others"
        case .foldedField: "a line of the head begins with white space"
        case .invalidFieldName: "the name of a field has an invalid character"
        case .invalidFieldValue: "the value of a field has a control character"
        case .repeatedField(let field): "the field \(field.name) occurs twice"
        case .invalidHost: "the request has no valid Host"
        case .invalidContentLength: "Content-Length is not one decimal number"
        case .twoLengths: "the request has both Content-Length and Transfer-Encoding"
        case .unknownTransferEncoding: "the only Transfer-Encoding is chunked, in HTTP/1.1"
        case .unknownExpectation: "the only expectation is 100-continue"
        case .invalidChunkSize: "a chunk size is not a hexadecimal number of at most 4 GB"
        case .invalidChunkEnd: "a chunk has more data than its size"
        case .trailer: "fields after the last chunk are not accepted"
        }
    }
}
