import CLibuv

/// One libuv handle: its memory and lifetime. An open handle keeps its object alive, so the
/// memory is freed only after libuv has released it.
@safe
package class Handle {
    package let loop: EventLoop
    let memory: UnsafeMutablePointer<uv_handle_t>
    package private(set) var isClosing = false

    /// `initialize` is the `uv_…_init` call.
    init(
        on loop: EventLoop, type: uv_handle_type,
        initialize: (UnsafeMutablePointer<uv_handle_t>) -> Int32
    ) throws(LoopError) {
        loop.preconditionCurrent()
        self.loop = loop
        let raw = unsafe UnsafeMutableRawPointer.allocate(
            byteCount: uv_handle_size(type), alignment: MemoryLayout<uv_handle_t>.alignment)
        unsafe memory = raw.assumingMemoryBound(to: uv_handle_t.self)
        try LoopError.check(unsafe initialize(memory))
        unsafe memory.pointee.data = Unmanaged.passRetained(self).toOpaque()
    }

    deinit { unsafe memory.deallocate() }

    /// Closes the handle. No callback follows, except for operations that closing cancels.
    /// Closing twice does nothing.
    package final func close() {
        loop.preconditionCurrent()
        guard !isClosing else { return }
        isClosing = true
        willClose()
        unsafe uv_close(memory) { handle in
            let object = unsafe Unmanaged<Handle>.fromOpaque(handle!.pointee.data)
            let closed = unsafe object.takeRetainedValue()
            closed.didClose()
        }
    }

    func willClose() {}

    /// The last callback. Overrides drop references that keep other objects alive.
    func didClose() {}

    /// Returns the object of a libuv handle. `type` is the class that created the handle.
    static func object<Object: Handle>(
        _ type: Object.Type, of handle: UnsafeMutableRawPointer?
    ) -> Object {
        let handle = unsafe handle!.assumingMemoryBound(to: uv_handle_t.self)
        let object = unsafe Unmanaged<Handle>.fromOpaque(handle.pointee.data)
        return unsafe unsafeDowncast(object.takeUnretainedValue(), to: type)
    }

    func pointer<Pointee>(as type: Pointee.Type) -> UnsafeMutablePointer<Pointee> {
        unsafe UnsafeMutableRawPointer(memory).assumingMemoryBound(to: type)
    }
}
