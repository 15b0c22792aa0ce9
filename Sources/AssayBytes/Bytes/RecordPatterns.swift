internal import CAssayBytes

/// Layouts of records that vector instructions compare and read, one per slot: numbers of up to
/// eight octets, dates in UTC to the second, and octets that match under a mask.
package struct RecordPatterns: Sendable {
    private var patterns: [assay_record_pattern]
    /// The octets and masks of all patterns.
    private var blocks: [UInt8]
    private let blockBytes: Int

    /// Creates empty slots; none on a processor without the instructions.
    package init(slots: Int, recordBytes: Int) {
        let count = assay_record_is_supported() != 0 ? slots : 0
        blockBytes = (recordBytes + Self.blockOctets - 1) / Self.blockOctets * 2 * Self.blockOctets
        patterns = [assay_record_pattern](repeating: assay_record_pattern(), count: count)
        blocks = [UInt8](repeating: 0, count: count * blockBytes)
    }

    /// Octets that are compared at once.
    private static let blockOctets = 32

    /// A number or a date of a record: its range and the index of its value. The dates' indices
    /// are those from `firstDate` on.
    package struct Varying {
        package let value: Int
        package let range: Range<Int>

        package init(value: Int, range: Range<Int>) {
            self.value = value
            self.range = range
        }
    }

    package static let firstDate = assay_record_first_date
    private static let values = assay_record_values
    /// Octets of a date: `2015-09-22T08:55:28Z`.
    package static let dateOctets = 20

    /// Bytes of memory for the patterns.
    package var heldBytes: Int {
        blocks.capacity + patterns.capacity * MemoryLayout<assay_record_pattern>.stride
    }

    /// Returns the slot of the pattern that the record at the front of the bytes has, and reads
    /// its values; nil for other bytes. If a date is not of the day that `setDay` set, or has no
    /// such time, the values of the dates are left to the caller.
    @inline(__always)
    package func read(
        _ bytes: Span<UInt8>, into values: inout MutableSpan<Int64>
    ) -> (slot: Int, hasOtherDates: Bool)? {
        precondition(values.count == Self.values)
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe values.withUnsafeMutableBufferPointer { values in
                unsafe read(bytes, values)
            }
        }
    }

    private func read(
        _ bytes: UnsafeBufferPointer<UInt8>, _ values: UnsafeMutableBufferPointer<Int64>
    ) -> (slot: Int, hasOtherDates: Bool)? {
        guard bytes.count >= Self.blockOctets, let start = bytes.baseAddress,
            let values = values.baseAddress
        else { return nil }
        let head = unsafe UnsafeRawPointer(start).loadUnaligned(as: UInt64.self)
        return unsafe patterns.withUnsafeBufferPointer { patterns in
            unsafe blocks.withUnsafeBufferPointer { blocks in
                for slot in patterns.indices {
                    // An empty slot has the head 0 and no size.
                    guard unsafe patterns[slot].head == head,
                        unsafe patterns[slot].size >= Self.blockOctets,
                        unsafe patterns[slot].size <= bytes.count,
                        let pattern = patterns.baseAddress, let block = blocks.baseAddress
                    else { continue }
                    switch unsafe assay_record_values_of(
                        start, pattern + slot, block + slot &* blockBytes, values)
                    {
                    case assay_record_read: return (slot, false)
                    case assay_record_has_other_dates: return (slot, true)
                    default: continue
                    }
                }
                return nil
            }
        }
    }

    /// Sets the pattern in a slot to a record of at least 32 octets.
    ///
    /// - Parameters:
    ///   - mask: the bits that have to match, apart from dates.
    ///   - values: those of the record.
    package mutating func set(
        _ slot: Int, to record: Span<UInt8>, mask: Span<UInt8>, values: Span<Int64>,
        numbers: [Varying], dates: [Varying]
    ) {
        guard patterns.indices.contains(slot) else { return }
        patterns[slot] = assay_record_pattern()
        guard record.count >= Self.blockOctets, record.count == mask.count,
            record.count * 2 <= blockBytes, values.count == Self.values,
            numbers.count <= assay_record_numbers,
            numbers.allSatisfy({ $0.range.lowerBound >= 8 && 1...8 ~= $0.range.count }),
            dates.allSatisfy({ $0.range.count == Self.dateOctets })
        else { return }
        precondition(
            numbers.allSatisfy { 0..<Self.values ~= $0.value }
                && dates.allSatisfy { Self.firstDate..<Self.values ~= $0.value }
                && (numbers + dates).allSatisfy { $0.range.upperBound <= record.count })
        var (octets, bits) = (record.array, mask.array)
        for date in dates {
            let form = "0000-00-00T00:00:00Z".utf8
            for (index, character) in zip(date.range, form) {
                octets[index] = character
                bits[index] = character == UInt8(ascii: "0") ? 0xF0 : 0xFF
            }
        }
        write(octets, bits, at: slot * blockBytes)
        unsafe record.withUnsafeBufferPointer { record in
            unsafe values.withUnsafeBufferPointer { values in
                guard let record = record.baseAddress, let values = values.baseAddress else {
                    return
                }
                unsafe assay_record_begin(&patterns[slot], record, octets.count, values)
            }
        }
        for number in numbers {
            unsafe assay_record_add_number(
                &patterns[slot], number.range.upperBound, number.range.count, number.value)
        }
        for date in dates {
            unsafe assay_record_add_date(
                &patterns[slot], date.range.lowerBound, date.value - Self.firstDate)
        }
    }

    /// Writes the last block, then the others.
    private mutating func write(_ octets: [UInt8], _ bits: [UInt8], at start: Int) {
        let size = Self.blockOctets
        let others = Array(stride(from: 0, to: octets.count - size, by: size))
        for (index, offset) in ([octets.count - size] + others).enumerated() {
            for octet in 0..<size {
                blocks[start + index * 2 * size + octet] = octets[offset + octet]
                blocks[start + (index * 2 + 1) * size + octet] = bits[offset + octet]
            }
        }
    }

    /// Sets the day of a pattern's date.
    ///
    /// - Parameters:
    ///   - date: one of that day.
    ///   - beginning: when the day began, in milliseconds since 1970.
    package mutating func setDay(
        _ slot: Int, value: Int, to date: Span<UInt8>, beginning: Int64
    ) {
        precondition(date.count == Self.dateOctets && patterns[slot].has_dates != 0)
        unsafe date.withUnsafeBufferPointer { date in
            guard let date = date.baseAddress else { return }
            unsafe assay_record_set_day(&patterns[slot], value - Self.firstDate, date, beginning)
        }
    }

    /// Forgets the days of all patterns.
    package mutating func forgetDays() {
        for slot in patterns.indices { unsafe assay_record_forget_days(&patterns[slot]) }
    }
}
