import AssayWire

/// A frame of a stream, to be changed in its parts.
struct FuzzFrame {
    var head: [UInt8]
    var body: [UInt8]
    /// Replaces both lengths.
    var lengths: [UInt8]?

    var bytes: [UInt8] {
        if let lengths { return lengths + head + body }
        var bytes: [UInt8] = []
        FrameWriter.append(head: head.span, body: body.span, to: &bytes)
        return bytes
    }

    /// The frames of a stream; what is none makes the last one.
    static func all(in stream: ArraySlice<UInt8>) -> [FuzzFrame] {
        let decoder = FrameDecoder()
        var frames: [FuzzFrame] = []
        var rest = stream
        while !rest.isEmpty {
            let own = Array(rest)
            guard case .frame(let frame) = decoder.next(in: own.span) else {
                frames.append(FuzzFrame(head: own, body: [], lengths: []))
                break
            }
            frames.append(FuzzFrame(head: Array(own[frame.head]), body: Array(own[frame.body])))
            rest = rest.dropFirst(frame.end)
        }
        return frames
    }
}
