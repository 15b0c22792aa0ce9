import AssayMint
import CAssayBytes
import Testing

@testable import AssayBytes

/// Decodes by vectors of each width, compared with one digit after another. A processor without
/// the instructions decodes nothing, which is correct too.
@Suite struct Base64VectorTests {
    private static let alphabets = [Base64Digits.standardAlphabet, Base64Digits.urlAlphabet]
    /// Characters of a step, and those that a text needs for one.
    private static let widths: [Int32: (step: Int, needed: Int)] = [32: (32, 44), 64: (64, 64)]

    private struct Decoded {
        let characters: Int
        let octets: [UInt8]
    }

    /// - Parameter width: of the vectors, or nil for the choice by processor.
    private static func decode(
        _ text: [UInt8], _ alphabet: [64 of UInt8], _ width: Int32?
    ) -> Decoded {
        // Exactly the promised space, so that AddressSanitizer finds a store beyond it.
        var output = [UInt8](repeating: 0xEE, count: text.count / 4 * 3)
        let (digit62, digit63) = (alphabet[62], alphabet[63])
        let done = unsafe text.withUnsafeBufferPointer { text in
            unsafe output.withUnsafeMutableBufferPointer { output in
                if let width {
                    unsafe assay_base64_decode_by(
                        width, text.baseAddress, text.count, output.baseAddress, digit62, digit63)
                } else {
                    unsafe assay_base64_decode(
                        text.baseAddress, text.count, output.baseAddress, digit62, digit63)
                }
            }
        }
        return Decoded(characters: done, octets: Array(output[..<(done / 4 * 3)]))
    }

    /// The octets of whole blocks, one digit after another.
    private static func reference(_ text: ArraySlice<UInt8>, _ alphabet: [64 of UInt8]) -> [UInt8] {
        var (bits, octets): (UInt32, [UInt8]) = (0, [])
        for (index, character) in text.enumerated() {
            let value = alphabet.indices.first { alphabet[$0] == character }
            bits = bits << 6 | UInt32(value ?? 0)
            guard index % 4 == 3 else { continue }
            octets += [16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> $0) }
        }
        return octets
    }

    private static func text(_ count: Int, _ alphabet: [64 of UInt8], seed: UInt64) -> [UInt8] {
        SplitMix64.octets(count, seed).map { alphabet[Int($0 & 63)] }
    }

    @Test(arguments: [32, 64, nil] as [Int32?], [0, 1])
    func allLengths(_ width: Int32?, _ choice: Int) {
        let alphabet = Self.alphabets[choice]
        for count in stride(from: 4, to: 400, by: 4) {
            let text = Self.text(count, alphabet, seed: UInt64(count))
            let decoded = Self.decode(text, alphabet, width)
            #expect(decoded.octets == Self.reference(text[..<decoded.characters], alphabet))
            #expect(decoded.characters % 32 == 0)
            guard let width, let form = Self.widths[width], decoded.characters > 0 else { continue }
            // It stops only where the characters end.
            #expect(count - decoded.characters < form.needed)
        }
    }

    /// A step with a character that is no digit decodes nothing.
    @Test(arguments: [32, 64] as [Int32], [0, 1])
    func wrongCharacters(_ width: Int32, _ choice: Int) throws {
        let alphabet = Self.alphabets[choice]
        let step = try #require(Self.widths[width]).step
        let text = Self.text(3 * step, alphabet, seed: 5)
        let octets = Self.reference(text[...], alphabet)
        // A processor without the instructions.
        guard Self.decode(text, alphabet, width).characters > 0 else { return }
        func check(_ character: UInt8, at offset: Int) {
            var changed = text
            changed[step + offset] = character
            let decoded = Self.decode(changed, alphabet, width)
            if alphabet.indices.contains(where: { alphabet[$0] == character }) {
                #expect(decoded.characters >= 2 * step, "\(character)")
            } else {
                #expect(decoded.characters == step, "\(character) at \(offset)")
                #expect(decoded.octets[...] == octets.prefix(step / 4 * 3))
            }
        }
        for character in UInt8.min...UInt8.max { check(character, at: Int(character) % step) }
        for offset in 0..<step {
            for character in ["=", "@", "\n"] as [Unicode.Scalar] {
                check(UInt8(ascii: character), at: offset)
            }
            // A digit with the highest bit.
            check(text[step + offset] | 0x80, at: offset)
        }
    }
}

extension SplitMix64 {
    fileprivate static func octets(_ count: Int, _ seed: UInt64) -> [UInt8] {
        var random = SplitMix64(state: seed)
        return random.bytes(count)
    }
}
