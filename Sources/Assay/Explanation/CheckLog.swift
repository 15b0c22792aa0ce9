import AssayLocks
package import AssayModels

/// The checks that the verifier begins, in their order, for an explanation.
///
/// A check that began has passed unless the verifier refuses next. A verification without a log
/// pays one comparison a check. With one it looks up no known chain, so that each check is made.
package struct CheckLog: Sendable {
    /// One check that began.
    package struct Entry: Sendable, Equatable {
        /// The member that holds the evidence; empty for the evidence itself.
        package let member: String
        /// The kind of the evidence in this member.
        package let kind: EvidenceKind
        package let check: Check
        /// What the evidence has, as text.
        package let found: String?
        /// What is accepted.
        package let expected: String?
        package internal(set) var hasFailed = false
    }

    private final class Entries: Sendable {
        let list = Locked<[Entry]>([])
    }

    private let entries = Entries()
    private var member = ""
    private var kind: EvidenceKind

    init(_ kind: EvidenceKind) { self.kind = kind }

    var all: [Entry] { entries.list.withLock { $0 } }

    /// The log of evidence in a member of this evidence.
    func inside(_ member: String, _ kind: EvidenceKind) -> CheckLog {
        var log = self
        log.member = self.member.isEmpty ? member : self.member + "." + member
        log.kind = kind
        return log
    }

    func begin(_ check: Check, found: String? = nil, expected: String? = nil) {
        let entry = Entry(
            member: member, kind: kind, check: check, found: found, expected: expected)
        entries.list.withLock { list in
            // The last one stays the last, for `didRefuse`.
            if list.count == Self.longest { list.removeLast() }
            list.append(entry)
        }
    }

    /// Records that the check that began last has failed.
    func didRefuse() {
        entries.list.withLock { list in
            guard !list.isEmpty else { return }
            list[list.count - 1].hasFailed = true
        }
    }

    /// More than the checks of 256 signed members, which is the limit of an answer.
    private static let longest = 16_384
}
