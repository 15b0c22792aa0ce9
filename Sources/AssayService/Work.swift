import AssayBytes

/// What something costs the loop's thread, in requests of the usual size. It is stated before it is
/// done: the connection's turn and its client pay for it.
package struct Work: Sendable {
    package let requests: Int

    private init(_ requests: Int) { self.requests = requests }

    /// Bytes whose work is counted elsewhere: with the request that they belong to, or by the time
    /// that they take.
    package static let counted = Work(0)

    package static func requests(_ count: Int) -> Work { Work(count) }

    /// A frame, by its head: one of many small fields takes longer to decode than a signature to
    /// verify. An honest head has some hundred bytes.
    package static func frame(headBytes: Int) -> Work { Work(1 + headBytes / headBytesOfFrames) }

    /// Bytes of a head of frames that count as one more request.
    private static let headBytesOfFrames = 2 << 10

    /// The fields of a call that is counted, by their size.
    package static func fields(ofMessage bytes: Int) -> Work { Work(bytes / headBytesOfFrames) }

    /// A request of HTTP/1.1, by its head, which is read as text, field by field. An honest head
    /// has one or two hundred bytes.
    package static func request(headBytes: Int) -> Work { Work(1 + headBytes / fieldBytes) }

    /// A step of HTTP/2: its frames, and their fields, as they were sent and as they are. One byte
    /// names a field of the table, which takes as long to check as it is.
    package static func step(frames: Int, fieldBytes sent: Int, decoded: Int) -> Work {
        Work(1 + frames / framesOfHTTP2 + max(sent, decoded / 2) / fieldBytes)
    }

    /// Frames of HTTP/2 that count as one more request.
    private static let framesOfHTTP2 = 8
    /// Bytes of fields of HTTP that count as one more request.
    private static let fieldBytes = 256

    /// A refused message of a stream, beside itself: with its answer it takes a microsecond, as
    /// several refused frames do.
    package static let refusedMessage = Work(3)

    /// A signature, beside its request: OpenSSL takes as long as several verifications.
    package static let signature = Work(4)

    /// An answer, by its size. Info costs as much as several tokens.
    package static func answer(bytes: Int) -> Work {
        Work(bytes / ServerLimits.answerBytesPerRequest)
    }

    /// A JSON body, beside its head.
    package static func json(_ body: Span<UInt8>) -> Work {
        var separators = 0
        for index in body.indices
        where body[index] == UInt8(ascii: ",") || body[index] == UInt8(ascii: "[") {
            separators += 1
        }
        return Work(separators / valuesOfJSON)
    }

    /// Values of a JSON body that count as one more request.
    private static let valuesOfJSON = 32
}
