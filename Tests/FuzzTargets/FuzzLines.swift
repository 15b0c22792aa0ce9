import Assay
import AssayBytes
import AssayCommand

extension FuzzTarget {
    /// Lines of a file. Invariant: every split into chunks gives the lines that the whole text has.
    static let lines = FuzzTarget(
        "Lines", seeds: ["", "a\nb\r\n\nc", "12345678\r\n123456789\n"].map { Array($0.utf8) },
        words: ["\n", "\r\n", "\r", "12345678"]
    ) { bytes in
        let limit = 8
        var parts = bytes.array.split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if parts.last?.isEmpty == true { parts.removeLast() }
        let expected = parts.map { part -> LineSplitter.Line in
            let text = part.last == UInt8(ascii: "\r") ? part.dropLast() : part
            return text.count > limit ? .tooLong : .text(Array(text))
        }
        for chunk in [1, 2, 7, max(bytes.count, 1)] {
            var splitter = LineSplitter(limit: limit)
            var lines: [LineSplitter.Line] = []
            func take(_ number: Int, _ line: LineSplitter.Line) {
                lines.append(line)
                precondition(number == lines.count, "a number was left out")
            }
            for start in stride(from: 0, to: bytes.count, by: chunk) {
                splitter.receive(bytes.extracting(start..<min(start + chunk, bytes.count)), take)
            }
            splitter.finish(take)
            precondition(lines == expected, "in chunks of \(chunk), other lines")
        }
    }
}
