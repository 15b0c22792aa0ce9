/// Finds what somebody may have meant.
enum Suggestion {
    /// "did you mean "x"?" where one of the names is near, or all of the names.
    static func remedy(for word: String, among names: [String]) -> String {
        // What is longer is near to none, and would take long to compare.
        let isLong = word.utf8.count > 4 * (names.map(\.utf8.count).max() ?? 0)
        let near = (isLong ? [] : names).map {
            (name: $0, distance: distance(word.lowercased(), $0.lowercased()))
        }
        .filter { $0.distance <= max(1, $0.name.count / 3) }
        .min { $0.distance < $1.distance }
        if let near { return "did you mean \"\(near.name)\"?" }
        return "write one of " + names.joined(separator: ", ")
    }

    /// How many letters have to be changed, added or taken away (Levenshtein).
    static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (index, letter) in left.enumerated() {
            var next = [index + 1]
            for (column, other) in right.enumerated() {
                next.append(
                    min(
                        next[column] + 1, row[column + 1] + 1,
                        row[column] + (letter == other ? 0 : 1)))
            }
            row = next
        }
        return row[right.count]
    }
}
