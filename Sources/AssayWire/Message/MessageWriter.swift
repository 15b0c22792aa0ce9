import AssayModels

/// A struct that is written as a message of the contract.
protocol WritableMessage {
    /// Writes the fields, the one with the highest number first.
    func write(to output: inout MessageWriter)
}

/// Writes one message of the protobuf encoding, from its end to its start: the length of a nested
/// message is known when the bytes before it are written, so nothing is measured first.
///
/// A message writes its fields from the highest number to the lowest, and the elements of a
/// repeated field from the last to the first. The bytes are then in the canonical order.
@safe struct MessageWriter: ~Copyable {
    /// Memory that is kept between messages: enough for the head of nearly every answer.
    private static let keptBytes = 64 * 1024
    /// A varint of 64 bits, and that of a field's number and wire type.
    private static let longestNumber = 10
    private static let longestTag = 5
    /// The digits of the largest number.
    private static let longestDecimal = 20

    private enum WireType {
        static let varint = 0
        static let bytes = 2
    }

    private var memory: UnsafeMutableRawBufferPointer
    /// The index of the first written byte.
    private var start: Int

    init() {
        unsafe memory = Self.allocate(Self.keptBytes)
        start = Self.keptBytes
    }

    deinit { unsafe memory.deallocate() }

    private static func allocate(_ bytes: Int) -> UnsafeMutableRawBufferPointer {
        .allocate(byteCount: bytes, alignment: 1)
    }

    /// The number of written bytes.
    var count: Int { unsafe memory.count - start }

    /// Forgets what was written.
    mutating func clear() {
        if unsafe memory.count > Self.keptBytes {
            unsafe memory.deallocate()
            unsafe memory = Self.allocate(Self.keptBytes)
        }
        start = unsafe memory.count
    }

    private var written: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: memory[start...])
    }

    /// Appends what was written.
    func append(to output: inout [UInt8]) { unsafe output.append(contentsOf: written) }

    // MARK: Bytes before the first

    /// Reserves space before the first byte.
    @inline(__always)
    private mutating func reserve(_ bytes: Int) {
        if bytes > start { grow(by: bytes) }
    }

    private mutating func grow(by bytes: Int) {
        let larger = unsafe Self.allocate(max(2 * memory.count, count + bytes))
        let first = larger.count - count
        unsafe UnsafeMutableRawBufferPointer(rebasing: larger[first...]).copyMemory(from: written)
        unsafe memory.deallocate()
        unsafe memory = larger
        start = first
    }

    /// The bytes of a varint.
    static func varintBytes(_ value: UInt64) -> Int {
        max(1, (UInt64.bitWidth - value.leadingZeroBitCount + 6) / 7)
    }

    /// Writes a varint. The caller has reserved its space.
    @inline(__always)
    private mutating func put(_ value: UInt64) {
        if value < 0x80 {
            start -= 1
            unsafe memory[start] = UInt8(truncatingIfNeeded: value)
            return
        }
        start -= Self.varintBytes(value)
        var (offset, left) = (start, value)
        while left >= 0x80 {
            unsafe memory[offset] = UInt8(truncatingIfNeeded: left) | 0x80
            left >>= 7
            offset += 1
        }
        unsafe memory[offset] = UInt8(truncatingIfNeeded: left)
    }

    @inline(__always)
    private mutating func put(_ number: Int, _ type: Int) {
        put(UInt64(truncatingIfNeeded: number << 3 | type))
    }

    private mutating func write(_ number: Int, varint value: UInt64) {
        reserve(Self.longestNumber + Self.longestTag)
        put(value)
        put(number, WireType.varint)
    }

    /// Writes a field of bytes, or of text that is UTF-8.
    mutating func write(_ number: Int, bytes: Span<UInt8>) {
        reserve(bytes.count + Self.longestNumber + Self.longestTag)
        copy(bytes)
        put(UInt64(bytes.count))
        put(number, WireType.bytes)
    }

    /// Writes bytes that are a part of a field.
    mutating func put(_ bytes: Span<UInt8>) {
        reserve(bytes.count)
        copy(bytes)
    }

    /// Writes a number in decimal, as a part of a field.
    mutating func put(decimal number: UInt64) {
        reserve(Self.longestDecimal)
        var left = number
        repeat {
            start -= 1
            unsafe memory[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: left % 10)
            left /= 10
        } while left > 0
    }

    /// The caller has reserved the space.
    @inline(__always)
    private mutating func copy(_ bytes: Span<UInt8>) {
        start -= bytes.count
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe UnsafeMutableRawBufferPointer(rebasing: memory[start...]).copyMemory(from: bytes)
        }
    }

    /// Makes a nested message, or a packed field, of all that `write` writes.
    @inline(__always)
    mutating func wrap(_ number: Int, _ write: (inout MessageWriter) -> Void) {
        let end = count
        write(&self)
        wrap(number, since: end)
    }

    /// Makes a nested message of what was written since `count` had this value.
    mutating func wrap(_ number: Int, since end: Int) {
        reserve(Self.longestNumber + Self.longestTag)
        put(UInt64(count - end))
        put(number, WireType.bytes)
    }
}

// MARK: - Fields

/// Each writes nothing for nil.
extension MessageWriter {
    mutating func set(_ number: Int, _ value: String?) {
        guard let value else { return }
        write(number, bytes: value.utf8.span)
    }

    mutating func set(_ number: Int, _ value: [UInt8]?) {
        guard let value else { return }
        write(number, bytes: value.span)
    }

    mutating func set<V: RawRepresentable<String>>(_ number: Int, _ value: V?) {
        set(number, value?.rawValue)
    }

    /// A negative number is extended to 64 bits, as the encoding demands.
    mutating func set<I: FixedWidthInteger>(_ number: Int, _ value: I?) {
        guard let value else { return }
        write(number, varint: UInt64(truncatingIfNeeded: value))
    }

    mutating func set<V: RawRepresentable<Int32>>(_ number: Int, _ value: V?) {
        set(number, value?.rawValue)
    }

    mutating func set<V: RawRepresentable<Int64>>(_ number: Int, _ value: V?) {
        set(number, value?.rawValue)
    }

    mutating func set(_ number: Int, _ value: Timestamp?) {
        set(number, value?.milliseconds)
    }

    mutating func set(_ number: Int, _ value: Bool?) {
        guard let value else { return }
        write(number, varint: value ? 1 : 0)
    }

    mutating func set<M: WritableMessage>(_ number: Int, _ message: M?) {
        guard let message else { return }
        nest(number, message)
    }

    /// Writes a nested message without a copy of its fields.
    mutating func nest<M: WritableMessage>(_ number: Int, _ message: borrowing M) {
        // A closure could not borrow the message.
        let end = count
        message.write(to: &self)
        wrap(number, since: end)
    }

    /// Writes a payload without a copy of its fields.
    mutating func set<M: WritableMessage & Equatable & Sendable>(
        _ number: Int, _ payload: VerifiedPayload<M>?
    ) {
        payload?.withPayload { nest(number, $0) }
    }

    /// Writes a nested message without fields.
    mutating func setEmpty(_ number: Int) { wrap(number) { _ in } }

    /// Writes a message that contains one repeated field with number 1; nothing for nil, which
    /// differs from an empty list.
    mutating func setList<M: WritableMessage>(_ number: Int, _ messages: [M]?) {
        guard let messages else { return }
        wrap(number) { $0.setEach(1, messages) }
    }

    mutating func setList(_ number: Int, _ values: [String]?) {
        guard let values else { return }
        wrap(number) { $0.setEach(1, values) }
    }
}

// MARK: - Repeated fields

extension MessageWriter {
    mutating func setEach<Models: BidirectionalCollection>(_ number: Int, _ models: Models)
    where Models.Element: WritableMessage {
        for model in models.reversed() { nest(number, model) }
    }

    mutating func setEach(_ number: Int, _ values: [String]) {
        for value in values.reversed() { set(number, value) }
    }

    mutating func setEach(_ number: Int, _ values: [[UInt8]]) {
        for value in values.reversed() { set(number, value) }
    }

    mutating func setEach<V: RawRepresentable<String>>(_ number: Int, _ values: [V]) {
        for value in values.reversed() { set(number, value.rawValue) }
    }

    /// Writes a repeated field of numbers in its packed form.
    mutating func setPacked(_ number: Int, _ values: [UInt32]) {
        guard !values.isEmpty else { return }
        wrap(number) { field in
            for value in values.reversed() {
                field.reserve(Self.longestNumber)
                field.put(UInt64(value))
            }
        }
    }
}
