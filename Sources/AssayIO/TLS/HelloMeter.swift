/// Measures the ClientHellos of a handshake as their bytes arrive, from the length that each
/// states.
///
/// The limit is the hello's, however it is divided into records and reads: early data can follow a
/// hello, and OpenSSL's own limit of 128 KiB is memory for a peer that has proven nothing. It owns
/// no bytes.
struct HelloMeter {
    /// Limit of a ClientHello in bytes. A usual one has several hundred; keys that withstand
    /// quantum computers make it two thousand.
    static let limit = 16 << 10

    /// Whether a ClientHello states more than the limit.
    private(set) var isAboveLimit = false
    /// No hello follows.
    private var isDone = false
    /// Bytes of a record's head that were read, its type and its length.
    private var headBytes = 0
    private var type: UInt8 = 0
    private var recordLeft = 0
    /// Bytes of a message's head that were read: its type, and its length of three bytes.
    private var messageHeadBytes = 0
    private var messageHead = 0
    private var messageLeft = 0

    private static let recordHeadBytes = 5
    private static let messageHeadBytes = 4
    private static let handshake: UInt8 = 22
    private static let clientHello = 1

    /// Reads the next bytes. Other records than those of handshakes can stand between two hellos:
    /// early data, and the change of ciphers that old middleboxes expect.
    mutating func read(_ bytes: Span<UInt8>) {
        var index = 0
        while index < bytes.count, !isDone {
            guard headBytes == 0, recordLeft > 0 else {
                readHead(bytes[index])
                index += 1
                continue
            }
            let rest = min(recordLeft, bytes.count - index)
            var count = type == Self.handshake ? min(messageLeft, rest) : rest
            if type == Self.handshake { messageLeft -= count }
            if count == 0 {
                readMessageHead(bytes[index])
                count = 1
            }
            recordLeft -= count
            index += count
        }
    }

    private mutating func readHead(_ byte: UInt8) {
        switch headBytes {
        case 0: type = byte
        case 3: recordLeft = Int(byte) << 8
        case 4: recordLeft |= Int(byte)
        default: break
        }
        headBytes = (headBytes + 1) % Self.recordHeadBytes
    }

    private mutating func readMessageHead(_ byte: UInt8) {
        messageHead = messageHead << 8 | Int(byte)
        messageHeadBytes += 1
        guard messageHeadBytes == Self.messageHeadBytes else { return }
        messageLeft = messageHead & 0xFF_FFFF
        isAboveLimit = messageHead >> 24 == Self.clientHello && messageLeft > Self.limit
        isDone = messageHead >> 24 != Self.clientHello || isAboveLimit
        (messageHead, messageHeadBytes) = (0, 0)
    }
}
