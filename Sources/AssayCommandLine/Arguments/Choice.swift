package import ArgumentParser
import Assay

/// An option with a fixed set of values.
package protocol Choice:
    RawRepresentable<String>, CaseIterable, CustomStringConvertible, Sendable
{}

extension Choice {
    package var description: String { rawValue }
    package static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

/// Parses a `Choice`. The error for an unknown value suggests the nearest one.
@Sendable package func choiceArgument<Value: Choice>(_ text: String) throws -> Value {
    if let value = Value(rawValue: text) { return value }
    throw ValidationError(Suggestion.remedy(for: text, among: Value.allCases.map(\.rawValue)))
}

extension CompletionKind {
    /// Completes the values of a `Choice`.
    package static func choices<Value: Choice>(_ type: Value.Type) -> CompletionKind {
        .list(Value.allCases.map(\.rawValue))
    }
}
