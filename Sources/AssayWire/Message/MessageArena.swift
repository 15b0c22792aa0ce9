import CAssayProto

/// Memory for one message at a time. protobuf-c allocates by advancing an offset, and `reset`
/// frees everything at once. In steady state a head costs no malloc.
///
/// Freeing does nothing, so no bookkeeping error of an unpacker, on any hostile input, can free
/// twice or use freed memory. The sum of all allocations has a limit.
@safe final class MessageArena {
    /// Size of a chunk, which holds the message of nearly every head. One is kept between
    /// messages.
    static let chunkBytes = 64 * 1024
    /// The alignment of malloc, enough for every C type.
    private static let alignment = 16

    /// The first chunk is kept; the others live until `reset`.
    private var chunks: [UnsafeMutableRawBufferPointer]
    // Accesses never overlap, and a message makes about thirty: Swift's exclusivity check would
    // cost more than the work.
    /// The next allocation in the last chunk, aligned, and the free bytes from there.
    @exclusivity(unchecked) private var next: UnsafeMutableRawPointer
    @exclusivity(unchecked) private var available = 0
    /// The sum of all allocations since `reset`, and its limit.
    @exclusivity(unchecked) private(set) var used = 0
    @exclusivity(unchecked) private var limit = 0
    /// Whether an allocation was refused since `reset`.
    private(set) var isExhausted = false

    init() {
        let chunk = unsafe Self.chunk(Self.chunkBytes)
        unsafe chunks = [chunk]
        unsafe next = chunk.baseAddress!
    }

    deinit {
        while let chunk = unsafe chunks.popLast() { unsafe chunk.deallocate() }
    }

    private static func chunk(_ bytes: Int) -> UnsafeMutableRawBufferPointer {
        .allocate(byteCount: bytes, alignment: alignment)
    }

    /// Frees all memory. Invalidates every pointer into the arena.
    func reset(limit: Int) {
        while unsafe chunks.count > 1 { unsafe chunks.removeLast().deallocate() }
        unsafe use(chunks[0])
        unsafe used = 0
        unsafe self.limit = limit
        isExhausted = false
    }

    private func use(_ chunk: UnsafeMutableRawBufferPointer) {
        unsafe next = chunk.baseAddress!
        unsafe available = chunk.count
    }

    /// Allocates bytes; nil if the limit would be exceeded.
    func allocate(_ bytes: Int) -> UnsafeMutableRawPointer? {
        guard bytes >= 0, unsafe bytes <= limit - used else {
            isExhausted = true
            return nil
        }
        let padded = (max(bytes, 1) + Self.alignment - 1) & ~(Self.alignment - 1)
        if unsafe padded > available {
            unsafe chunks.append(Self.chunk(max(Self.chunkBytes, padded)))
            unsafe use(chunks[chunks.count - 1])
        }
        let memory = unsafe next
        unsafe next = memory + padded
        unsafe available -= padded
        unsafe used += padded
        return unsafe memory
    }

    /// Runs `body` with this arena as protobuf-c's allocator.
    func withAllocator<R>(_ body: (UnsafeMutablePointer<ProtobufCAllocator>) -> R) -> R {
        var allocator = unsafe ProtobufCAllocator(
            alloc: { data, size in
                guard let data = unsafe data, let size = Int(exactly: size) else { return nil }
                let arena = unsafe Unmanaged<MessageArena>.fromOpaque(data)
                return unsafe arena._withUnsafeGuaranteedRef { unsafe $0.allocate(size) }
            },
            free: { _, _ in },
            allocator_data: Unmanaged.passUnretained(self).toOpaque())
        return unsafe body(&allocator)
    }
}
