import Glibc

/// An eventfd or a timerfd. It is readable after an event, until its eight-byte counter is read.
struct CountingDescriptor: ~Copyable {
    let number: Int32

    /// Takes ownership of a descriptor that was just created. Throws `tooManyOpenFiles` if it is
    /// negative.
    init(_ number: Int32) throws(LoopError) {
        guard number >= 0 else { throw .tooManyOpenFiles }
        self.number = number
    }

    deinit { _ = Glibc.close(number) }

    /// Makes an eventfd readable. Safe on any thread.
    func add() {
        var one: UInt64 = 1
        // Fails only when the counter is full; the descriptor is readable then.
        _ = unsafe write(number, &one, MemoryLayout<UInt64>.size)
    }

    /// Resets the counter; the descriptor is no longer readable.
    func clear() {
        var count: UInt64 = 0
        _ = unsafe read(number, &count, MemoryLayout<UInt64>.size)
    }
}
