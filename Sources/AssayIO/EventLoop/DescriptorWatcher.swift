import CLibuv

/// Calls back while a descriptor of another library is readable or writable.
///
/// The library keeps the descriptor. Close the watcher before the library closes it.
@safe
package final class DescriptorWatcher: Handle {
    /// What the descriptor is ready for, or is watched for.
    package struct Readiness: OptionSet, Sendable {
        package let rawValue: Int
        package init(rawValue: Int) { self.rawValue = rawValue }

        package static let readable = Self(rawValue: 1 << 0)
        package static let writable = Self(rawValue: 1 << 1)
        /// The descriptor failed. Reported, and not to be watched for.
        package static let failed = Self(rawValue: 1 << 2)
    }

    private var action: (Readiness) -> Void

    package init(
        _ descriptor: Int32, on loop: EventLoop, _ action: @escaping (Readiness) -> Void
    ) throws(LoopError) {
        self.action = action
        try unsafe super.init(on: loop, type: UV_POLL) { handle in
            let poll = UnsafeMutableRawPointer(handle)
            return unsafe uv_poll_init(
                loop.uv, poll.assumingMemoryBound(to: uv_poll_t.self), descriptor)
        }
    }

    /// Watches for these, and no longer for others.
    package func watch(for readiness: Readiness) {
        precondition(!isClosing)
        var events: UInt32 = 0
        if readiness.contains(.readable) { events |= UV_READABLE.rawValue }
        if readiness.contains(.writable) { events |= UV_WRITABLE.rawValue }
        let code = unsafe uv_poll_start(pointer(as: uv_poll_t.self), Int32(events)) {
            handle, status, events in
            let watcher = unsafe Handle.object(DescriptorWatcher.self, of: handle)
            var readiness: Readiness = status < 0 ? .failed : []
            if UInt32(events) & UV_READABLE.rawValue != 0 { readiness.insert(.readable) }
            if UInt32(events) & UV_WRITABLE.rawValue != 0 { readiness.insert(.writable) }
            watcher.action(readiness)
        }
        precondition(code == 0, "an open descriptor can be polled")
    }

    override func didClose() { action = { _ in } }
}
