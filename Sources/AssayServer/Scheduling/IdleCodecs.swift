import AssayIO
import AssayWire

/// The codecs of the workers, each lent to one thread at a time: as many as ever encoded at once.
final class IdleCodecs: Sendable {
    private let idle = Locked<[Idle]>([])

    /// In here it belongs to nobody, and outside to one thread: which is what `@unchecked` says.
    private struct Idle: @unchecked Sendable {
        let codec: MessageCodec
    }

    func lend<Result>(_ body: (MessageCodec) -> Result) -> Result {
        let codec = idle.withLock { $0.popLast() }?.codec ?? MessageCodec()
        let lent = Idle(codec: codec)
        defer { idle.withLock { $0.append(lent) } }
        return body(codec)
    }
}
