import AssayIO
import AssayWire

/// The workers' codecs, each lent to one thread at a time. Keeps the largest number that ever
/// encoded at once.
package final class IdleCodecs: Sendable {
    private let idle = Locked<[Idle]>([])

    /// `@unchecked` because an idle codec has no user, and a lent one is used by one thread.
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
