/// Counts the frames of a peer as their bytes arrive, and finds floods: many frames that ask for
/// nothing, and many requests that are given up. nghttp2 has limits of its own for some of them.
///
/// It reads the nine bytes before each frame (RFC 9113, section 4.1), and owns no bytes.
package struct HTTP2FrameMeter: Sendable {
    private let limits: HTTP2Limits
    /// Bytes of the preface that are left.
    private var prefaceLeft = HTTP2Connection.preface.count
    /// The bytes of the frame's head that were read.
    private var headBytes = 0
    private var length = 0
    private var type: UInt8 = 0
    private var flags: UInt8 = 0
    /// Bytes of the frame's content that are left.
    private var left = 0
    /// Whether the next byte is the length of the padding of DATA.
    private var awaitsPadding = false
    /// Whether a head goes on in CONTINUATION.
    package private(set) var isWithinHead = false

    /// The frames that were read.
    package private(set) var frames = 0
    /// Bytes of heads and trailers that were read, as they were sent.
    package private(set) var fieldBytes = 0
    /// How many more frames without a request or data are admitted.
    private var controlLeft: Int
    /// How many more requests can be given up.
    private var resetsLeft: Int

    init(_ limits: HTTP2Limits) {
        self.limits = limits
        controlLeft = limits.controlFrames
        resetsLeft = limits.resets
    }

    /// A flood that ends the connection.
    package enum Flood: Hashable, Sendable {
        case frames, resets
    }

    /// The flood that was found; nil without one.
    package var flood: Flood? {
        if controlLeft < 0 { return .frames }
        return resetsLeft < 0 ? .resets : nil
    }

    /// Whether the peer has begun a frame other than DATA, or a head, and not ended it. DATA is
    /// part of its request, which has its own time.
    package var isWithinFrame: Bool {
        if isWithinHead || prefaceLeft > 0 || headBytes > 0 { return true }
        return left > 0 && type != Self.data
    }

    private static let data: UInt8 = 0
    private static let headers: UInt8 = 1
    private static let continuation: UInt8 = 9
    private static let endOfHead: UInt8 = 4
    private static let endOfStream: UInt8 = 1
    private static let padded: UInt8 = 8
    private static let frameHeadBytes = 9
    /// Updates of windows, and answers to PING, that clients send for a request or for data.
    private static let framesPerRequest = 4

    /// Reads the next bytes.
    package mutating func read(_ bytes: Span<UInt8>) {
        var index = min(prefaceLeft, bytes.count)
        prefaceLeft -= index
        while index < bytes.count {
            if awaitsPadding, left > 0 {
                awaitsPadding = false
                count(data: length - 1 - Int(bytes[index]))
            }
            if left > 0 {
                let count = min(left, bytes.count - index)
                left -= count
                index += count
                continue
            }
            readHead(bytes[index])
            index += 1
        }
    }

    private mutating func readHead(_ byte: UInt8) {
        switch headBytes {
        case 0: length = Int(byte)
        case 1, 2: length = length << 8 | Int(byte)
        case 3: type = byte
        case 4: flags = byte
        default: break
        }
        headBytes += 1
        guard headBytes == Self.frameHeadBytes else { return }
        headBytes = 0
        left = length
        count()
    }

    private mutating func count() {
        frames += 1
        switch type {
        case Self.headers:
            fieldBytes += length
            isWithinHead = flags & Self.endOfHead == 0
            grant(Self.framesPerRequest)
        case Self.continuation:
            fieldBytes += length
            if flags & Self.endOfHead != 0 { isWithinHead = false }
            controlLeft -= 1
        case Self.data:
            awaitsPadding = flags & Self.padded != 0 && length > 0
            if !awaitsPadding { count(data: length) }
        default: controlLeft -= 1
        }
    }

    /// Counts DATA, which without data asks for nothing.
    private mutating func count(data bytes: Int) {
        if bytes > 0 {
            grant(1)
        } else if flags & Self.endOfStream == 0 {
            controlLeft -= 1
        }
    }

    private mutating func grant(_ frames: Int) {
        controlLeft = min(controlLeft + frames, limits.controlFrames)
    }

    /// Records frames of data that the peer will confirm.
    package mutating func didSend(frames: Int) { grant(frames * Self.framesPerRequest) }

    /// Records a request that was answered.
    package mutating func didAnswer() { resetsLeft = min(resetsLeft + 1, limits.resets) }

    /// Records a request that the peer has given up.
    package mutating func didReset() { resetsLeft -= 1 }

    /// Records that time has passed.
    package mutating func didPass(milliseconds: UInt64) {
        let time = Int(clamping: min(milliseconds, Self.longestMilliseconds))
        grant(limits.controlFramesPerSecond * time / 1_000)
        resetsLeft = min(resetsLeft + limits.resetsPerSecond * time / 1_000, limits.resets)
    }

    /// After a minute everything is granted again.
    private static let longestMilliseconds: UInt64 = 60_000
}
