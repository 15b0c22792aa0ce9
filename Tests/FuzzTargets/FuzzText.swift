/// Mutates text line by line.
enum LineMutation {
    private static let newline = UInt8(ascii: "\n")

    /// - Parameter others: the texts to take lines from.
    static func mutate(
        _ text: [UInt8], _ mutation: inout FuzzMutation, from others: [[UInt8]]
    ) -> [UInt8] {
        guard !mutation.once(in: 4) else { return mutation.usual(text) }
        var lines = split(text)
        let index = mutation.below(lines.count)
        switch mutation.below(6) {
        case 0: lines.remove(at: index)
        case 1: lines.insert(lines[index], at: index)
        case 2: lines.swapAt(index, mutation.below(lines.count))
        case 3: lines.insert(mutation.element(of: split(mutation.element(of: others))), at: index)
        case 4: lines[index] = mutation.element(of: split(mutation.element(of: others)))
        default: lines[index] = mutation.usual(lines[index])
        }
        return Array(lines.joined(separator: [newline]))
    }

    private static func split(_ text: [UInt8]) -> [[UInt8]] {
        text.split(separator: newline, omittingEmptySubsequences: false).map(Array.init)
    }
}
