import AssayBytes

/// Reads the blocks of fields of a connection: heads and trailers. A client sends the same head
/// again and again, so a head is compared with the last one, field by field, and is read only if
/// its bytes differ.
///
/// Each connection has its own: none can fill it for another.
struct HTTP2HeadReader {
    private let limits: HTTP2Limits
    /// Bytes of fields that were decoded, as RFC 9113, section 6.5.2, counts them.
    private(set) var decodedBytes = 0
    /// Bytes of fields that can be decoded in this step.
    private(set) var decodableBytes = 0
    /// The block that is being read; nil without one, and while it is the same as the last head.
    private var builder: HTTP2HeadBuilder?
    /// The number and the bytes of fields that are the same as those of the last head; nil unless
    /// a head is being compared.
    private var same: (fields: Int, bytes: Int)?
    /// The last head, if it is kept, and whether its request has no body.
    private var last: (head: HTTP2Head, ends: Bool)?
    /// Names and values of the last head, or of the one that is being read, one after the other.
    private var fields: [UInt8] = []
    private var sizes: [(name: UInt16, value: UInt16)] = []
    /// Whether the head that is being read is kept.
    private var keeps = false

    /// Bytes and number of fields of a head that is kept. Larger ones are read each time.
    private static let (longest, most) = (1 << 10, 32)
    /// Bytes of memory of a head beside its fields, and of what is decided by it.
    private static let headBytes = 1 << 10

    init(_ limits: HTTP2Limits) { self.limits = limits }

    /// Bytes of memory of the last head.
    var heldBytes: Int {
        let head = last.map { Self.headBytes + $0.head.bytes.count } ?? 0
        return head + fields.capacity + 4 * sizes.capacity
    }

    /// Begins a step: the fields that one read of the peer's bytes decodes.
    mutating func beginStep() { decodableBytes = limits.decodedBytes }

    /// Begins a block: a head, or trailers.
    mutating func begin(isHead: Bool) {
        keeps = false
        same = nil
        if isHead, last != nil {
            builder = nil
            same = (0, 0)
        } else {
            if isHead { forget() }
            builder = HTTP2HeadBuilder(limits, isHead: isHead)
            keeps = isHead
        }
    }

    enum Addition {
        case proceed
        /// The step has decoded its bytes.
        case pause
        /// The block is larger than those that are refused.
        case tooLarge
    }

    /// Adds a field.
    ///
    /// - Parameter isValid: whether HTTP admits the bytes of the field.
    mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>, isValid: Bool) -> Addition {
        let bytes = HTTP2Limits.listBytes(name, value)
        decodedBytes += bytes
        decodableBytes -= bytes
        if isValid, let same, isNext(name, value, after: same) {
            self.same = (same.fields + 1, same.bytes + name.count + value.count)
        } else {
            read(name, value, isValid: isValid)
        }
        guard (builder?.listBytes ?? 0) <= limits.refusedListBytes else { return .tooLarge }
        return decodableBytes > 0 ? .proceed : .pause
    }

    private mutating func read(_ name: Span<UInt8>, _ value: Span<UInt8>, isValid: Bool) {
        readSame()
        if !isValid { builder?.fault = .invalidFieldValue }
        builder?.add(name, value)
        keep(name, value)
    }

    /// Ends the block. Returns what it says; nil for trailers within their limit.
    ///
    /// - Parameter ends: whether the request has no body.
    mutating func finish(ends: Bool, stream: Int32) -> HTTP2Event? {
        if let same, let last, same.fields == sizes.count, ends == last.ends {
            self.same = nil
            return .head(stream: stream, last.head)
        }
        readSame()
        let event = builder?.finish(ends: ends, stream: stream)
        builder = nil
        if keeps, case .head(_, let head) = event, head.fault == nil { last = (head, ends) }
        keeps = false
        return event
    }

    // MARK: The last head

    /// Whether a field is the next one of the last head.
    private func isNext(
        _ name: Span<UInt8>, _ value: Span<UInt8>, after same: (fields: Int, bytes: Int)
    ) -> Bool {
        guard same.fields < sizes.count else { return false }
        let size = sizes[same.fields]
        guard Int(size.name) == name.count, Int(size.value) == value.count else { return false }
        let (start, end) = (same.bytes, same.bytes + name.count)
        return fields.span.extracting(start..<end).equals(name)
            && fields.span.extracting(end..<end + value.count).equals(value)
    }

    /// Reads the fields that were the same: the next one differs, or is missing.
    private mutating func readSame() {
        guard let same else { return }
        self.same = nil
        last = nil
        var builder = HTTP2HeadBuilder(limits, isHead: true)
        var start = 0
        for size in sizes.prefix(same.fields) {
            let middle = start + Int(size.name)
            let end = middle + Int(size.value)
            builder.add(
                fields.span.extracting(start..<middle), fields.span.extracting(middle..<end))
            start = end
        }
        self.builder = builder
        sizes.removeLast(sizes.count - same.fields)
        fields.removeLast(fields.count - same.bytes)
        keeps = true
    }

    private mutating func keep(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        guard keeps else { return }
        guard fields.count + name.count + value.count <= Self.longest, sizes.count < Self.most
        else { return forget() }
        sizes.append((UInt16(name.count), UInt16(value.count)))
        name.copy(to: &fields, at: fields.count)
        value.copy(to: &fields, at: fields.count)
    }

    private mutating func forget() {
        last = nil
        keeps = false
        fields.removeAll(keepingCapacity: true)
        sizes.removeAll(keepingCapacity: true)
    }
}
