/// The position in a list that is sorted by modification, which a client sends back for the next
/// page: `1761955200000_20_0_20_1f`. Clients see an opaque text.
struct Revision: Equatable, Sendable {
    /// The time of the last item, in milliseconds.
    var time: Int64
    /// Items with a greater serial are left.
    var after: Int
    /// Descending: items with a smaller serial are left; 0: all.
    var before = 0
    /// Descending: the greatest serial of the first page, from which the next query begins.
    var highest = 0
    /// Of the query: pages of different queries do not continue each other.
    var query: UInt32

    var text: String {
        "\(time)_\(after)_\(before)_\(highest)_" + String(query, radix: 16)
    }

    init(time: Int64, after: Int, before: Int = 0, highest: Int = 0, query: UInt32) {
        self.time = time
        self.after = after
        self.before = before
        self.highest = highest
        self.query = query
    }

    /// Nil unless this is the text of a revision.
    init?(_ text: String) {
        // Enough for four numbers of 19 digits and one of 8.
        guard text.utf8.count <= 96 else { return nil }
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 5, let time = Int64(parts[0]), let after = Int(parts[1]),
            let before = Int(parts[2]), let highest = Int(parts[3]),
            let query = UInt32(parts[4], radix: 16), after >= 0, before >= 0, highest >= 0
        else { return nil }
        self.init(time: time, after: after, before: before, highest: highest, query: query)
    }
}
