import Testing

@testable import AssayBytes

/// What ends a run of plain ASCII in a JSON string, wherever it is.
@Suite struct JSONStopsTests {
    /// RFC 8259, section 7, and UTF-8.
    private static func isStop(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte >= 0x80 || [0x22, 0x5C].contains(byte)
    }

    @Test("each octet at each position of a block is a stop or plain")
    func octets() {
        for byte in UInt8.min...UInt8.max {
            for position in 0..<130 {
                var text = [UInt8](repeating: UInt8(ascii: "x"), count: 130)
                text[position] = byte
                let expected = Self.isStop(byte) ? position : 130
                #expect(text.span.endOfPlainJSON(from: 0) == expected, "\(byte) at \(position)")
            }
        }
    }

    @Test("one stop after another is found, also from positions after it, up to the end")
    func order() {
        for count in 0..<200 {
            var text = [UInt8](repeating: UInt8(ascii: "x"), count: count)
            for quote in stride(from: 7, to: count, by: 23) { text[quote] = UInt8(ascii: "\"") }
            for step in [1, 2, 20, 64, 65, 100] {
                var stops = JSONStops()
                var position = 0
                while position <= count {
                    let expected = (position..<count).first { Self.isStop(text[$0]) } ?? count
                    let found = stops.next(from: position, in: text.span)
                    #expect(found == expected, "\(count), from \(position)")
                    position = found + step
                }
            }
        }
    }

    @Test("a text of any length is plain, and not with one stop anywhere")
    func plain() {
        for count in 0..<150 {
            var text = [UInt8](repeating: UInt8(ascii: "~"), count: count)
            let isAllPlain = text.span.isPlainJSON(upTo: 0x7E)
            #expect(isAllPlain, "\(count)")
            for position in 0..<count {
                for stop in [0, 0x1F, UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x7F, 0x80, 0xFF] {
                    text[position] = stop
                    let isPlain = text.span.isPlainJSON(upTo: stop == 0x7F ? 0x7E : 0x7F)
                    #expect(!isPlain, "\(stop) at \(position) of \(count)")
                }
                text[position] = UInt8(ascii: "~")
            }
        }
    }
}
