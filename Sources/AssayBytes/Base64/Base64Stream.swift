/// Decodes base64 as it arrives, in the forms in which receipts are sent: the standard alphabet,
/// with or without padding. Allows CR, LF and space between digits, and no other characters.
package struct Base64Stream: Sendable {
    /// Digits of an incomplete block; fewer than four.
    private var pending: [UInt8] = []
    private var padding = 0
    /// Characters before the current block, for offsets.
    private var position = 0

    package init() {}

    /// Appends the bytes of the whole blocks. On error, it first appends the bytes of the blocks
    /// before the fault, so that the result does not depend on the chunk boundaries.
    package mutating func decode(
        _ chunk: Span<UInt8>, into bytes: inout [UInt8]
    ) throws(Base64Error) {
        var index = 0
        while index < chunk.count {
            let end = min(index + Self.blockSize, chunk.count)
            try decodeBlock(chunk.extracting(index..<end), into: &bytes)
            position += end - index
            index = end
        }
    }

    /// Decodes the remaining digits after the text has ended.
    package mutating func finish(into bytes: inout [UInt8]) throws(Base64Error) {
        guard padding == 0 || (pending.count + padding) == 4 else { throw .length }
        try Base64Digits.standard.decode(pending.span, into: &bytes)
        pending.removeAll()
    }

    /// Small enough to scan again if it contains more than digits.
    private static let blockSize = 4096

    private mutating func decodeBlock(
        _ block: Span<UInt8>, into bytes: inout [UInt8]
    ) throws(Base64Error) {
        if pending.isEmpty, padding == 0, block.count % 4 == 0,
            (try? Base64Digits.standard.decode(block, into: &bytes)) != nil
        {
            return
        }
        // White space, padding, or a chunk boundary inside a block.
        var digits = pending
        digits.reserveCapacity(block.count + 4)
        var fault: Base64Error?
        for index in block.indices {
            fault = take(block[index], at: position + index, into: &digits)
            if fault != nil { break }
        }
        let whole = digits.count / 4 * 4
        try Base64Digits.standard.decode(digits.span.extracting(0..<whole), into: &bytes)
        pending = Array(digits[whole...])
        if let fault { throw fault }
    }

    private mutating func take(
        _ character: UInt8, at offset: Int, into digits: inout [UInt8]
    ) -> Base64Error? {
        switch character {
        case UInt8(ascii: "\r"), UInt8(ascii: "\n"), UInt8(ascii: " "): return nil
        case Base64Digits.padding:
            padding += 1
            return padding <= 2 ? nil : .length
        default:
            guard padding == 0, Base64.isDigit(character) else {
                return .invalidCharacter(offset: offset)
            }
            digits.append(character)
            return nil
        }
    }
}
