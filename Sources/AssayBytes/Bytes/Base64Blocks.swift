internal import CAssayBytes

extension Span<UInt8> {
    /// Decodes blocks of four base64 digits into three octets each.
    ///
    /// - Parameters:
    ///   - tables: one table per position in a block. Each has the value that each of the 256
    ///     characters adds to the octets, with the highest bit set for characters that are no
    ///     digits.
    ///   - digit62: the digit of the value 62, by which vector instructions know the alphabet.
    ///   - digit63: the digit of the value 63.
    ///   - output: needs capacity for all octets.
    /// - Returns: whether all characters were digits. The caller searches for the error once, at
    ///   the end.
    func decodeBase64Blocks(
        _ tables: Span<UInt32>, digit62: UInt8, digit63: UInt8,
        to output: inout OutputSpan<UInt8>
    ) -> Bool {
        let blocks = count / 4
        precondition(
            count == blocks * 4 && output.freeCapacity >= blocks * 3 && tables.count == 1024)
        guard blocks > 0 else { return true }
        return unsafe withUnsafeBufferPointer { text in
            unsafe tables.withUnsafeBufferPointer { tables in
                unsafe output.withUnsafeMutableBufferPointer { buffer, initialized in
                    guard let text = text.baseAddress, let tables = tables.baseAddress,
                        let start = buffer.baseAddress
                    else { return false }
                    let output = unsafe start + initialized
                    // Vector instructions decode the beginning, if the processor has them.
                    let decoded = unsafe assay_base64_decode(
                        text, count, output, digit62, digit63)
                    let seen = unsafe Base64Blocks.decode(
                        UnsafeRawPointer(text + decoded), blocks &- decoded / 4, tables,
                        to: UnsafeMutableRawPointer(output + decoded / 4 &* 3))
                    initialized += blocks * 3
                    return seen >> 31 == 0
                }
            }
        }
    }
}

private enum Base64Blocks {
    /// Returns the bitwise OR of all table values.
    @inline(__always)
    static func decode(
        _ text: UnsafeRawPointer, _ blocks: Int, _ tables: UnsafePointer<UInt32>,
        to output: UnsafeMutableRawPointer
    ) -> UInt32 {
        @inline(__always)
        func octets(_ digits: UInt32) -> UInt32 {
            unsafe tables[Int(digits & 0xFF)] | tables[256 &+ Int(digits >> 8 & 0xFF)]
                | tables[512 &+ Int(digits >> 16 & 0xFF)] | tables[768 &+ Int(digits >> 24)]
        }
        guard blocks > 0 else { return 0 }
        var seen: UInt32 = 0
        // Each store writes four octets for three. The next block overwrites the fourth.
        for block in 0..<blocks &- 1 {
            let digits = unsafe text.loadUnaligned(fromByteOffset: block &* 4, as: UInt32.self)
            let value = octets(UInt32(littleEndian: digits))
            seen |= value
            unsafe output.storeBytes(
                of: value.littleEndian, toByteOffset: block &* 3, as: UInt32.self)
        }
        let last = blocks &- 1
        let digits = unsafe text.loadUnaligned(fromByteOffset: last &* 4, as: UInt32.self)
        let value = octets(UInt32(littleEndian: digits))
        for octet in 0..<3 {
            unsafe output.storeBytes(
                of: UInt8(truncatingIfNeeded: value >> (octet &* 8)),
                toByteOffset: last &* 3 &+ octet, as: UInt8.self)
        }
        return seen | value
    }
}
