import AssayBytes
package import AssayModels

// What is wrong with a question, whatever the evidence is. Such a value would refuse every
// purchase, or none, and no verdict would say that the caller's value is the cause. So each entry
// point asks these rules, and refuses the question (INVALID_ARGUMENT).

/// A name that is none of `StoreEnvironment.known`.
package struct UnknownEnvironment: Error, CustomStringConvertible {
    let name: String

    /// What is wrong.
    package var problem: String { "\(quoted(name)) is not an environment" }

    /// What to write instead.
    package var remedy: String {
        Suggestion.remedy(for: name, among: StoreEnvironment.known.map(\.rawValue))
    }

    package var description: String { problem + ": " + remedy }
}

extension StoreEnvironment {
    /// The environment with a name in Apple's spelling.
    package static func named(_ name: String) throws(UnknownEnvironment) -> Self {
        guard let known = Self.known.first(where: { $0.rawValue.equalsByBytes(name) }) else {
            throw UnknownEnvironment(name: name)
        }
        return known
    }
}

extension Timestamp {
    /// The moments that a question can name. The App Store opened in 2008. An earlier moment is a
    /// number of seconds, and one after the year 9999 a number of microseconds.
    package static let moments =
        Timestamp(milliseconds: 1_199_145_600_000)...Timestamp(milliseconds: 253_402_300_799_999)

    /// What is wrong with a moment that a caller names; nil if nothing is.
    ///
    /// - Parameter name: the name of the caller's value.
    package func problem(as name: String) -> String? {
        guard !Self.moments.contains(self) else { return nil }
        let (product, overflow) = milliseconds.multipliedReportingOverflow(by: 1000)
        let seconds = Timestamp(milliseconds: product)
        return "\(name) is \(milliseconds): write milliseconds since 1970, of the years 2008 to "
            + "9999"
            + (!overflow && Self.moments.contains(seconds)
                ? "; as seconds, which it seems to be, it is \(seconds.rfc3339)" : "")
    }
}

extension Expectations {
    /// What is wrong with these expectations; nil if nothing is.
    ///
    /// - Parameter kinds: of the evidence, as far as they are known.
    package func problem(of kinds: [EvidenceKind]) -> String? {
        for environment in environments {
            do throws(UnknownEnvironment) {
                _ = try StoreEnvironment.named(environment.rawValue)
            } catch {
                return error.description
            }
        }
        return notOlderThan?.problem(as: "notOlderThan")
            ?? accountProblem(appAccountToken, of: kinds)
    }
}

extension EntitlementPolicy {
    /// What is wrong with this policy; nil if nothing is.
    ///
    /// - Parameter kinds: of the evidence, as far as they are known.
    package func problem(of kinds: [EvidenceKind]) -> String? {
        knownAt?.problem(as: "knownAt") ?? accountProblem(expectedAppAccountToken, of: kinds)
    }
}

/// What is wrong with an expected account. The App Store's accounts are UUIDs; those of Google Play
/// are texts of the app.
private func accountProblem(_ account: String?, of kinds: [EvidenceKind]) -> String? {
    guard let account, kinds.contains(where: { $0.store == .apple }),
        !UUIDText.isValid(account)
    else { return nil }
    return "the expected app account token is not a UUID, as every appAccountToken of the App "
        + "Store is: " + quoted(account)
}
