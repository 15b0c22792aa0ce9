/// Suggests the intended word for a misspelled one.
package enum Suggestion {
    /// Returns "did you mean "x"?" when a name is close, or a list of all names.
    package static func remedy(for word: String, among names: [String]) -> String {
        // A much longer word is close to no name and slow to compare.
        let isLong = word.utf8.count > 4 * (names.map(\.utf8.count).max() ?? 0)
        let near = (isLong ? [] : names).map {
            (name: $0, distance: distance(word.lowercased(), $0.lowercased()))
        }
        .filter { $0.distance <= max(1, $0.name.count / 3) }
        .min { $0.distance < $1.distance }
        if let near { return "did you mean \"\(near.name)\"?" }
        return "write one of " + names.joined(separator: ", ")
    }

    /// The number of letters to change, add or remove, or of neighbours to swap (Levenshtein
    /// distance with optimal string alignment).
    package static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var before: [Int] = []
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var next = [index + 1]
            for (column, other) in right.enumerated() {
                var least = min(
                    next[column] + 1, row[column + 1] + 1, row[column] + (letter == other ? 0 : 1))
                if index > 0, column > 0, letter == right[column - 1], left[index - 1] == other {
                    least = min(least, before[column - 1] + 1)
                }
                next.append(least)
            }
            (before, row) = (row, next)
        }
        return row[right.count]
    }
}
