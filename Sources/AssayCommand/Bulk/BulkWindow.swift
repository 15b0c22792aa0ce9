import AssayIO

/// Bounds the items between reading and writing, so that memory stays constant. One thread enters;
/// any thread leaves.
final class BulkWindow: Sendable {
    private struct State {
        var items = 0
        var bytes = 0
        var isWaiting = false
        var isOpen = true
    }

    private let state = Locked(State())
    private let changed: Semaphore
    private let itemLimit: Int
    private let byteLimit: Int

    init(itemLimit: Int, byteLimit: Int) throws(LoopError) {
        changed = try Semaphore()
        self.itemLimit = itemLimit
        self.byteLimit = byteLimit
    }

    /// Waits until there is space, and takes it. An empty window accepts a batch of any size.
    ///
    /// - Returns: false once the window has been closed.
    func enter(items: Int, bytes: Int) -> Bool {
        while true {
            let isAccepted: Bool? = state.withLock { state in
                guard state.isOpen else { return false }
                let fits =
                    state.items + items <= itemLimit && state.bytes + bytes <= byteLimit
                guard fits || state.items == 0 else {
                    state.isWaiting = true
                    return nil
                }
                state.items += items
                state.bytes += bytes
                return true
            }
            if let isAccepted { return isAccepted }
            changed.wait()
        }
    }

    func leave(items: Int, bytes: Int) {
        change { state in
            state.items -= items
            state.bytes -= bytes
        }
    }

    /// Ends the wait of the thread that enters: no more items are wanted.
    func close() { change { $0.isOpen = false } }

    private func change(_ body: (inout State) -> Void) {
        let wasWaiting = state.withLock { state in
            body(&state)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if wasWaiting { changed.signal() }
    }
}
