/// Bytes that the server holds for all of its connections, by what they are.
struct Budget {
    var limit: Int

    /// Evidence that was accepted and is not answered.
    private(set) var evidence = 0
    /// Receipts that are arriving: as much of each as it may come to keep.
    private(set) var receipts = 0
    /// Received, of frames that are not complete or not taken yet.
    var buffered = 0
    /// Answers that the system has not taken yet.
    var unwritten = 0

    init(limit: Int) { self.limit = limit }

    var held: Int { evidence + receipts + buffered + unwritten }

    /// Whether no more is taken on until some has been answered.
    var isFull: Bool { held > limit }

    func admits(_ bytes: Int) -> Bool { held + bytes <= limit }

    /// Receipts that arrive slowly hold their share for long, and must leave the others theirs:
    /// all of them together get half, or a single one what it needs.
    func admits(receipt bytes: Int) -> Bool {
        admits(bytes) && (receipts == 0 || receipts + bytes <= limit / 2)
    }

    mutating func give(_ bytes: Int) { evidence += bytes }

    mutating func takeBack(_ bytes: Int) {
        evidence -= bytes
        precondition(evidence >= 0, "what is taken back was given")
    }

    mutating func give(receipt bytes: Int) { receipts += bytes }

    mutating func takeBack(receipt bytes: Int) {
        receipts -= bytes
        precondition(receipts >= 0, "what is taken back was given")
    }
}
