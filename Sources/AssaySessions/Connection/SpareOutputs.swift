/// Spare buffers for the answers of a turn. A connection borrows one while it has something to
/// write, so that an idle connection keeps none.
struct SpareOutputs {
    private var spares: [[UInt8]] = []

    /// The usual number of connections answered in one turn; 4 MiB at most.
    private static let keptLimit = 16
    private static let largestKept = 256 << 10

    mutating func take() -> [UInt8] { spares.popLast() ?? [] }

    mutating func keep(_ output: consuming [UInt8]) {
        guard spares.count < Self.keptLimit, output.capacity > 0,
            output.capacity <= Self.largestKept
        else { return }
        output.removeAll(keepingCapacity: true)
        spares.append(output)
    }
}
