import AssayHTTP
import Foundation
import TestSupport
import Testing

@Suite("gzip") struct GzipTests {
    private static func decompress(_ bytes: [UInt8], limit: Int = 1 << 20) -> Result<
        [UInt8], GzipError
    > {
        Result { () throws(GzipError) in try Gzip.decompress(bytes.span, limit: limit) }
    }

    /// Compresses with the system's gzip.
    private static func compress(_ bytes: [UInt8], _ level: Int) throws -> [UInt8] {
        let (input, output) = (Pipe(), Pipe())
        let process = try ChildProcess(
            "/bin/gzip", ["-c", "-n", "-\(level)"], input: .pipe(input), output: .pipe(output))
        let thread = Thread {
            input.fileHandleForWriting.write(Data(bytes))
            try? input.fileHandleForWriting.close()
        }
        thread.start()
        let compressed = output.fileHandleForReading.readDataToEndOfFile()
        process.wait()
        return Array(compressed)
    }

    /// A gzip member around DEFLATE data.
    private static func member(_ deflate: [UInt8], of bytes: [UInt8], sum: UInt32) -> [UInt8] {
        let numbers = [sum, UInt32(bytes.count)]
        return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF] + deflate
            + numbers.flatMap { number in
                [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
            }
    }

    private static let letters = Array("hello hello hello hello".utf8)
    /// CRC-32 of "a".
    private static let sumOfA: UInt32 = 0xE8B7_BE43
    /// A fixed block with "a".
    private static let fixedA: [UInt8] = [0x4B, 0x04, 0x00]

    @Test("what gzip compresses, at each level", arguments: [1, 6, 9])
    func levels(_ level: Int) throws {
        var random = SystemRandomNumberGenerator()
        let noise = (0..<100_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        let text = (0..<20_000).flatMap { "\($0 % 997) words and numbers \($0)\n".utf8 }
        for bytes in [[], [7], Self.letters, noise, text, [UInt8](repeating: 0, count: 700_000)] {
            let compressed = try Self.compress(bytes, level)
            #expect(Self.decompress(compressed) == .success(bytes), "\(bytes.count)")
            #expect(Self.decompress(compressed, limit: bytes.count) == .success(bytes))
            guard !bytes.isEmpty else { continue }
            #expect(
                Self.decompress(compressed, limit: bytes.count - 1)
                    == .failure(.tooLarge(limit: bytes.count - 1)))
        }
    }

    @Test("every start of a stream ends early; a changed byte never makes other bytes")
    func damage() throws {
        let bytes = (0..<400).flatMap { "\($0 * $0) ".utf8 }
        let compressed = try Self.compress(bytes, 9)
        for count in 0..<compressed.count {
            // The last bytes are taken for its checksum and size.
            #expect(throws: GzipError.self) {
                try Self.decompress(Array(compressed.prefix(count))).get()
            }
        }
        #expect(throws: GzipError.self) { try Self.decompress(compressed + [0]).get() }
        #expect(Self.decompress(compressed + compressed) == .failure(.trailingBytes))
        for index in 10..<compressed.count {
            var changed = compressed
            changed[index] ^= 0x10
            // The bits after the last block have no meaning.
            if case .success(let other) = Self.decompress(changed) {
                #expect(other == bytes, "byte \(index)")
            }
        }
    }

    @Test("blocks by hand: stored and fixed ones, and their invalid neighbours")
    func blocks() {
        let a = [UInt8(ascii: "a")]
        func read(_ deflate: [UInt8]) -> Result<[UInt8], GzipError> {
            Self.decompress(Self.member(deflate, of: a, sum: Self.sumOfA))
        }
        #expect(read(Self.fixedA) == .success(a))
        #expect(read([0x01, 0x01, 0x00, 0xFE, 0xFF, 0x61]) == .success(a))
        // A stored block with another inverse of its length, and the type that does not exist.
        #expect(read([0x01, 0x01, 0x00, 0xFF, 0xFF, 0x61]) == .failure(.invalidBlock))
        #expect(read([0x07, 0x00]) == .failure(.invalidBlock))
        // A distance before the start: length 3, distance 1, first of all.
        #expect(read([0x03, 0x02, 0x00]) == .failure(.invalidBlock))
        // Codes: too many lengths; and 286 of which all are 0.
        #expect(read([0xFD, 0x1F, 0, 0, 0, 0, 0]) == .failure(.invalidBlock))
        // zlib reads the lengths of 286 codes first.
        #expect(read([0x05, 0x00, 0, 0, 0, 0, 0, 0]) == .failure(.truncated))
        let wrongSum = Self.member(Self.fixedA, of: a, sum: Self.sumOfA ^ 1)
        #expect(Self.decompress(wrongSum) == .failure(.mismatch))
        let more = Self.member([0x4B, 0x04, 0x02, 0x00], of: a, sum: Self.sumOfA)
        #expect(Self.decompress(more) == .failure(.mismatch), "more than the end states")
        let wrongSize = Self.member(Self.fixedA, of: a + a, sum: Self.sumOfA)
        #expect(Self.decompress(wrongSize) == .failure(.mismatch))
        // Too few bytes for what they state: nothing is reserved for it, nor read of it.
        let zeros = [UInt8](repeating: 0, count: 1 << 19)
        let bomb = Self.member([0x07, 0x00], of: zeros, sum: 0)
        #expect(Self.decompress(bomb) == .failure(.mismatch))
    }

    @Test("headers: optional fields, other methods, reserved flags")
    func headers() {
        let plain = Self.member(Self.fixedA, of: [0x61], sum: Self.sumOfA)
        func with(_ flags: UInt8, _ fields: [UInt8]) -> Result<[UInt8], GzipError> {
            var member = plain
            member[3] = flags
            return Self.decompress(Array(member[..<10]) + fields + member[10...])
        }
        #expect(with(0, []) == .success([0x61]))
        #expect(with(0x01, []) == .success([0x61]))
        #expect(with(0x04, [2, 0, 9, 9]) == .success([0x61]))
        #expect(with(0x08, [0x78, 0]) == .success([0x61]))
        #expect(with(0x10, [0x78, 0]) == .success([0x61]))
        #expect(with(0x1C, [1, 0, 9, 0x78, 0, 0x79, 0]) == .success([0x61]))
        // With another checksum than that of the header.
        #expect(with(0x1E, [1, 0, 9, 0x78, 0, 0x79, 0, 1, 2]) == .failure(.invalidHeader))
        #expect(with(0x20, []) == .failure(.invalidHeader))
        #expect(with(0x04, [0xFF, 0xFF]) == .failure(.truncated))
        for (index, byte) in [(0, 0x1E), (1, 0x8A), (2, 7)] as [(Int, UInt8)] {
            var member = plain
            member[index] = byte
            #expect(Self.decompress(member) == .failure(.invalidHeader))
        }
    }
}
