import Glibc

/// An eventfd or a timerfd: readable once something has happened, until the eight bytes that tell
/// how often have been read.
struct CountingDescriptor: ~Copyable {
    let number: Int32

    /// Owns what the system has given, and closes it.
    init(_ number: Int32) throws(LoopError) {
        guard number >= 0 else { throw .tooManyOpenFiles }
        self.number = number
    }

    deinit { _ = Glibc.close(number) }

    /// Makes an eventfd readable. From any thread.
    func add() {
        var one: UInt64 = 1
        // It fails only when so much has happened that it can't be counted, and is readable.
        _ = unsafe write(number, &one, MemoryLayout<UInt64>.size)
    }

    /// What has happened is over.
    func clear() {
        var count: UInt64 = 0
        _ = unsafe read(number, &count, MemoryLayout<UInt64>.size)
    }
}
