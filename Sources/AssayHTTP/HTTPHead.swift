/// The head of a request. It owns no bytes: the positions are those in the bytes that were read.
package struct HTTPHead: Sendable {
    package enum Method: Hashable, Sendable {
        case get, head, post, options, put, delete, connect
        /// A method that no path has.
        case other
    }

    /// How the body is delimited.
    package enum Body: Hashable, Sendable {
        /// Exactly this number of bytes; 0 without a body.
        case length(Int)
        case chunked
    }

    package internal(set) var method = Method.other
    package internal(set) var path = 0..<0
    /// The query after the question mark; nil without one.
    package internal(set) var query: Range<Int>?
    package internal(set) var body = Body.length(0)
    /// Whether the connection goes on after the answer.
    package internal(set) var keepsAlive = true
    /// Whether the client speaks HTTP/1.0, which has no chunks.
    package internal(set) var isOldVersion = false
    /// Whether the client waits for `100 Continue` before it sends the body.
    package internal(set) var expectsContinue = false
    /// Bytes of the head: the body begins here.
    package internal(set) var end = 0
    private var values = InlineArray<18, Range<Int>?>(repeating: nil)

    /// The position of a field's value, without white space around it; nil if it is absent.
    package internal(set) subscript(_ field: HTTPField) -> Range<Int>? {
        get { values[field.rawValue] }
        set { values[field.rawValue] = newValue }
    }

    /// Records the position of a field's value. Returns false if the field is repeated, and no
    /// request has it twice.
    mutating func add(_ field: HTTPField, at range: Range<Int>) -> Bool {
        guard self[field] != nil else {
            self[field] = range
            return true
        }
        switch field {
        // Nothing decides which is meant. The request goes on without a trace: the empty value
        // names none.
        case .traceparent: self[field] = range.lowerBound..<range.lowerBound
        // A list, which can be divided among several fields. The first of them is read.
        case .accept: break
        default: return false
        }
        return true
    }
}
