import Assay
import AssayBytes
/// Splits the chunks of a file into lines. A line ends with LF or CRLF; the last one can end with
/// the file. Holds at most one incomplete line of the limit.
package struct LineSplitter {
    /// One line without its line break.
    package enum Line: Equatable {
        case text([UInt8])
        /// The line is longer than the limit. Its content was dropped.
        case tooLong
    }

    /// The number of lines so far, including empty ones.
    package private(set) var count = 0
    private let limit: Int
    private var incomplete: [UInt8] = []
    private var isTooLong = false

    package init(limit: Int) { self.limit = limit }

    /// Splits the next chunk. Calls `take` with each complete line and its number, from 1 on.
    package mutating func receive(_ chunk: Span<UInt8>, _ take: (Int, Line) -> Void) {
        var start = 0
        while start < chunk.count {
            let end = chunk.firstIndex(of: UInt8(ascii: "\n"), from: start)
            append(chunk.extracting(start..<(end ?? chunk.count)))
            guard let end else { return }
            endLine(take)
            start = end + 1
        }
    }

    /// Ends the last line at the end of the file, unless a line break ended it.
    package mutating func finish(_ take: (Int, Line) -> Void) {
        if !incomplete.isEmpty || isTooLong { endLine(take) }
    }

    private mutating func append(_ bytes: Span<UInt8>) {
        // One more than the limit: the last byte can be the CR of a line break.
        guard !isTooLong, incomplete.count + bytes.count <= limit + 1 else {
            isTooLong = true
            incomplete = []
            return
        }
        incomplete += bytes.array
    }

    private mutating func endLine(_ take: (Int, Line) -> Void) {
        count += 1
        if incomplete.last == UInt8(ascii: "\r") { incomplete.removeLast() }
        take(count, isTooLong || incomplete.count > limit ? .tooLong : .text(incomplete))
        incomplete = []
        isTooLong = false
    }
}
