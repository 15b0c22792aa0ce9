import AssayModels
import AssayTelemetry
import AssayWire

/// The cost class of a request, known before its work begins: a receipt of many megabytes takes a
/// thousand times as long as a token.
package struct WorkClass: Equatable, Sendable {
    let index: Int

    /// Each kind has one class, except app receipts and Server API answers: they have one per size,
    /// each size four times the previous one.
    private static let receiptSizes = 8
    private static let answerSizes = 5
    private static let smallestSizeBits = 12
    private static let kinds = EvidenceKind.allCases.count
    private static let answers = kinds + receiptSizes
    static let count = answers + answerSizes

    init(_ kind: EvidenceKind, bytes: Int) {
        let bits = Int.bitWidth - max(bytes, 1).leadingZeroBitCount
        let size = max(bits - Self.smallestSizeBits, 0) / 2
        switch kind {
        // The work for a version 1 notification is that for its receipt.
        case .appReceipt, .notificationV1: index = Self.kinds + min(size, Self.receiptSizes - 1)
        case .serverAnswer: index = Self.answers + min(size, Self.answerSizes - 1)
        default: index = Int(kind.rawValue) - 1
        }
    }

    /// An estimate that is too low on every machine. It causes no rejections, and divides the
    /// time of a mixed slice among its classes before any has been measured.
    var leastNanoseconds: Double {
        switch index {
        case Int(EvidenceKind.notification.rawValue) - 1: 30_000
        case ..<Self.kinds: 10_000
        case Self.answers...: 10_000 * Double(1 + index - Self.answers)
        default:
            20_000 + Double(1 << (Self.smallestSizeBits + 2 * (index - Self.kinds))) / 4
        }
    }

    static let all = (0..<count).map { WorkClass(index: $0) }

    private init(index: Int) { self.index = index }
}

/// Counts of requests by class of work.
package struct WorkLoad: Equatable, Sendable {
    private(set) var counts = [Int](repeating: 0, count: WorkClass.count)
    private(set) var total = 0

    init() {}

    init(_ slice: [Job]) {
        for index in slice.indices { add(slice[index].work) }
    }

    /// The items of a Resolve. One whose kind is not named counts as a transaction.
    static func items(of call: ResolveCall) -> Self {
        var load = WorkLoad()
        for item in call.items {
            var kind = EvidenceKind.transaction
            if case .named(let named) = item.kind { kind = named }
            load.add(WorkClass(kind, bytes: Int(item.length)))
        }
        return load
    }

    mutating func add(_ work: WorkClass) {
        counts[work.index] += 1
        total += 1
    }

    mutating func add(_ other: WorkLoad) {
        for index in counts.indices { counts[index] += other.counts[index] }
        total += other.total
    }

    mutating func remove(_ work: WorkClass) {
        counts[work.index] -= 1
        total -= 1
        precondition(counts[work.index] >= 0, "more requests were removed than added")
    }

    mutating func remove(_ other: WorkLoad) {
        for index in counts.indices { counts[index] -= other.counts[index] }
        total -= other.total
        precondition(total >= 0, "more requests were removed than added")
    }
}
