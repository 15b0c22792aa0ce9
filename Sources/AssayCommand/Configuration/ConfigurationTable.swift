import Assay
import TOMLKit

/// A table of a configuration file, read key by key.
///
/// A missing value reads as nil. A value of the wrong type reads as nil too and is noted as a
/// problem. `finish` reports the keys that were never read as unknown.
final class ConfigurationTable {
    let file: String
    private let path: String
    private let table: TOMLTable
    private var asked: [String] = []
    private let notes: Notes

    /// The problems found so far, shared by all tables of a file.
    final class Notes {
        var problems: [ConfigurationProblem] = []
    }

    /// Parses a configuration file.
    ///
    /// - Throws: a problem with the line, when the text is not TOML.
    static func parse(_ text: [UInt8], file: String) throws(ConfigurationProblem)
        -> ConfigurationTable
    {
        // The parser would silently stop at a NUL.
        guard let string = String(validating: text, as: UTF8.self), !text.contains(0) else {
            throw ConfigurationProblem(
                source: file, location: "", problem: "not UTF-8 text", remedy: "save it as UTF-8")
        }
        if let found = TOMLPreflight.first(in: text) { throw problem(found, in: text, of: file) }
        do {
            let table = try TOMLTable(string: string)
            return ConfigurationTable(file: file, path: "", table: table, notes: Notes())
        } catch let error as TOMLParseError {
            let begin = error.source.begin
            throw ConfigurationProblem(
                source: file, location: "line \(begin.line), column \(begin.column)",
                problem: "not TOML: \(error.description)", remedy: "see https://toml.io/en/v1.0.0")
        } catch {
            throw ConfigurationProblem(
                source: file, location: "", problem: "not TOML: \(error)",
                remedy: "see https://toml.io/en/v1.0.0")
        }
    }

    private static func problem(
        _ found: (trap: TOMLPreflight, offset: Int), in text: [UInt8], of file: String
    ) -> ConfigurationProblem {
        let newline = UInt8(ascii: "\n")
        let before = text[..<found.offset]
        let line = before.count { $0 == newline } + 1
        let column = before.count - (before.lastIndex(of: newline) ?? -1)
        let (problem, remedy) =
            switch found.trap {
            case .tableName:
                (
                    "not TOML: a table name can't start with this character",
                    "write letters, digits, - and _, or put it in quotes"
                )
            case .depth:
                ("more than \(TOMLPreflight.mostDots) dots", "setting names have fewer dots")
            case .brace: ("a } inside an array", "end the array with ]")
            case .dateOrTime: ("a date or time: no setting has one", "put it in quotes")
            }
        return ConfigurationProblem(
            source: file, location: "line \(line), column \(column)", problem: problem,
            remedy: remedy)
    }

    private init(file: String, path: String, table: TOMLTable, notes: Notes) {
        self.file = file
        self.path = path
        self.table = table
        self.notes = notes
    }

    var problems: [ConfigurationProblem] { notes.problems }

    func has(_ key: String) -> Bool { table[key] != nil }

    /// The keys, sorted: for tables whose keys are the operator's names.
    var names: [String] { table.keys.sorted() }

    /// Notes a problem with a key, or with an element of its array (counted from 1).
    func note(_ key: String, _ problem: String, _ remedy: String, element: Int? = nil) {
        let index = element.map { "[\($0)]" } ?? ""
        notes.problems.append(
            ConfigurationProblem(
                source: file, location: location(key) + index, problem: problem, remedy: remedy))
    }

    // MARK: Values

    func string(_ key: String) -> String? {
        value(key, "a string, in double quotes") { $0.string }
    }

    func bool(_ key: String) -> Bool? { value(key, "true or false") { $0.bool } }

    func int(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let number = value(key, "a whole number", { $0.int }) else { return nil }
        guard range.contains(number) else {
            note(
                key, "\(number) is out of range",
                "write a number from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// The strings of an array; nil when it is missing or not an array. Skips elements of a
    /// wrong type.
    func strings(_ key: String) -> [String]? {
        let expected = "an array of strings, such as [\"…\", \"…\"]"
        guard let array = value(key, expected, { $0.array }) else { return nil }
        return array.enumerated().compactMap { index, element in
            guard let string = element.string else {
                note(
                    key, "of type \(element.type), not a string",
                    "put it in double quotes", element: index + 1)
                return nil
            }
            return string
        }
    }

    func table(_ key: String) -> ConfigurationTable? {
        value(key, "a table: [\(key)]") { $0.table }.map {
            ConfigurationTable(file: file, path: location(key), table: $0, notes: notes)
        }
    }

    func tables(_ key: String) -> [ConfigurationTable] {
        let expected = "tables: [[\(key)]]"
        guard let array = value(key, expected, { $0.array }) else { return [] }
        return array.enumerated().compactMap { index, element in
            guard let table = element.table else {
                note(key, "not a table", "write [[\(key)]] and its keys below", element: index + 1)
                return nil
            }
            return ConfigurationTable(
                file: file, path: location(key) + "[\(index + 1)]", table: table, notes: notes)
        }
    }

    /// Notes unknown keys: those that were never read.
    func finish() {
        for key in table.keys.sorted() where !asked.contains(key) {
            note(key, "unknown key", Suggestion.remedy(for: key, among: asked))
        }
    }

    private func value<Value>(
        _ key: String, _ expected: String, _ read: (any TOMLValueConvertible) -> Value?
    ) -> Value? {
        asked.append(key)
        guard let found = table[key] else { return nil }
        guard let value = read(found) else {
            note(key, "of type \(found.type)", "write \(expected)")
            return nil
        }
        return value
    }

    private func location(_ key: String) -> String { path.isEmpty ? key : path + "." + key }
}
