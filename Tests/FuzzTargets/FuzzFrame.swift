import AssayWire

/// A frame of a stream, mutated field by field.
struct FuzzFrame {
    var head: [UInt8]
    var body: [UInt8]
    /// The replacement for both length fields.
    var lengths: [UInt8]?

    var bytes: [UInt8] {
        if let lengths { return lengths + head + body }
        var bytes: [UInt8] = []
        FrameWriter.append(head: head.span, body: body.span, to: &bytes)
        return bytes
    }

    /// Splits a stream into frames. Trailing bytes that are not a frame become the last one.
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

    /// Mutates each frame of a stream separately and keeps its lengths valid; nil for a stream
    /// without frames.
    ///
    /// - Parameter change: the mutation that knows the meaning of head and body.
    static func mutate(
        _ stream: ArraySlice<UInt8>, _ mutation: inout FuzzMutation,
        _ change: (inout FuzzFrame, inout FuzzMutation) -> Void
    ) -> [UInt8]? {
        var frames = all(in: stream)
        guard !frames.isEmpty else { return nil }
        let index = mutation.below(frames.count)
        switch mutation.below(12) {
        case 0: frames.remove(at: index)
        case 1: frames.insert(frames[index], at: index)
        case 2: frames.swapAt(index, mutation.below(frames.count))
        case 3: frames[index].head = mutation.usual(frames[index].head)
        case 4: frames[index].body = mutation.usual(frames[index].body)
        case 5: frames[index].lengths = mutation.usual(frames[index].lengths ?? [0, 0, 0, 9, 0])
        default: change(&frames[index], &mutation)
        }
        var changed = frames.flatMap(\.bytes)
        if mutation.once(in: 16) { changed.removeLast(mutation.below(min(changed.count, 64))) }
        return changed
    }
}
