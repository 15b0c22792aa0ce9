import Assay
import AssayBytes
import AssayCommandLine
import AssayModels

/// A certificate that an operator fetched.
struct FetchedRoot {
    let path: String
    let anchor: TrustAnchor
}

/// How soon a root has to be replaced.
enum RootUrgency: String, Comparable {
    case none
    /// It ends within a year: an update with its successor has to be planned.
    case year
    /// It ends within three months.
    case threeMonths
    case over

    /// Days before the end from which a root has this urgency. A year, in which a release with the
    /// successor reaches every server; and the 90 days of the alert `AssayRootExpires`.
    static let (daysOfYear, daysOfThreeMonths): (Int64, Int64) = (365, 90)

    init(secondsLeft: Int64) {
        self =
            switch secondsLeft {
            case ..<0: .over
            case ..<(Self.daysOfThreeMonths * 86_400): .threeMonths
            case ..<(Self.daysOfYear * 86_400): .year
            default: .none
            }
    }

    private var rank: Int {
        switch self {
        case .none: 0
        case .year: 1
        case .threeMonths: 2
        case .over: 3
        }
    }

    static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }
}

/// The pinned roots, compared with fetched certificates.
struct RootsReport {
    /// What a fetched certificate is beside the pinned ones.
    enum Match: String {
        case pinned
        /// The name and the key of a pinned root in another certificate, which can end later.
        case renewal
        /// The same, but the key did not sign it: somebody copied the name and the key.
        case notSigned
        /// The name of a pinned root with another key: its successor, or no root of this name.
        case otherKey
        case notPinned

        init(_ fetched: TrustAnchor, among pinned: [TrustAnchor]) {
            if pinned.contains(where: { $0.fingerprint == fetched.fingerprint }) {
                self = .pinned
            } else if pinned.contains(where: { $0.hasNameAndKey(of: fetched) }) {
                self = fetched.isSelfSigned ? .renewal : .notSigned
            } else {
                self = pinned.contains { $0.hasName(of: fetched) } ? .otherKey : .notPinned
            }
        }

        var text: String {
            switch self {
            case .pinned: "is pinned"
            case .renewal: "is a renewal of a pinned root, with its key: pin it as well"
            case .notSigned:
                "has the name and key of a pinned root, which did not sign it: don't pin it"
            case .otherKey: "has the name of a pinned root and another key: compare both"
            case .notPinned: "is not pinned"
            }
        }
    }

    struct Pinned {
        let anchor: TrustAnchor
        let urgency: RootUrgency
        /// The file that has it; nil if none has.
        let file: String?
    }

    private(set) var pinned: [Pinned] = []
    private(set) var files: [(fetched: FetchedRoot, match: Match)] = []
    private let now: Timestamp

    init(_ anchors: [TrustAnchor], _ fetched: [FetchedRoot], at now: Timestamp) {
        self.now = now
        pinned = anchors.map { anchor in
            Pinned(
                anchor: anchor,
                urgency: RootUrgency(secondsLeft: anchor.notAfter.seconds - now.seconds),
                file: fetched.first { $0.anchor.fingerprint == anchor.fingerprint }?.path)
        }
        files = fetched.map { ($0, Match($0.anchor, among: anchors)) }
    }

    /// How soon something has to be done: about the first end, or about a difference.
    var urgency: RootUrgency {
        let first = pinned.map(\.urgency).max() ?? .none
        return max(first, differs ? .year : .none)
    }

    /// Whether the files have other certificates than those that are pinned for Production.
    private var differs: Bool {
        files.contains { $0.match != .pinned } || pinned.contains(where: isMissing)
    }

    /// Whether files were fetched, and none of them has this root. Nobody publishes roots for
    /// development.
    private func isMissing(_ root: Pinned) -> Bool {
        !files.isEmpty && root.file == nil && !root.anchor.development
    }

    // MARK: Output

    var text: String {
        var lines: [String] = []
        for root in pinned {
            let anchor = root.anchor
            lines.append(
                "\(anchor.name), until \(anchor.notAfter.rfc3339), "
                    + "\(anchor.daysLeft(now: now)) days"
                    + (anchor.development ? ", development only" : ""))
            lines.append("  sha256 \(anchor.fingerprint)")
            if anchor.notBefore > now {
                lines.append("  begins at \(anchor.notBefore.rfc3339), and verifies nothing before")
            }
            switch root.urgency {
            case .none: break
            case .year: lines.append("  WARNING: it ends within a year")
            case .threeMonths: lines.append("  WARNING: it ends within three months")
            case .over: lines.append("  WARNING: it has ended")
            }
            if let file = root.file {
                lines.append("  is in \(file)")
            } else if isMissing(root) {
                lines.append("  WARNING: no file has it")
            }
        }
        for (fetched, match) in files where match != .pinned {
            lines.append(
                "WARNING: \(fetched.path) \(match.text): \(fetched.anchor.name), "
                    + "\(fetched.anchor.notBefore.rfc3339) to \(fetched.anchor.notAfter.rfc3339), "
                    + "sha256 \(fetched.anchor.fingerprint)")
        }
        return lines.map { TerminalText.escaped($0) }.joined(separator: "\n")
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("at", now.rfc3339)
            object.array("roots") { list in
                for root in pinned {
                    list.object { object in
                        object.root(root.anchor, at: now)
                        object.member("development", root.anchor.development)
                        object.member("urgency", root.urgency.rawValue)
                        object.member("file", root.file)
                    }
                }
            }
            object.array("files") { list in
                for (fetched, match) in files {
                    list.object { object in
                        object.member("file", fetched.path)
                        object.root(fetched.anchor, at: now)
                        object.member("match", match.rawValue)
                    }
                }
            }
        }
        return writer.text
    }
}

extension JSONWriter {
    fileprivate mutating func root(_ anchor: TrustAnchor, at now: Timestamp) {
        member("name", anchor.name)
        member("sha256", anchor.fingerprint)
        member("notBefore", anchor.notBefore.rfc3339)
        member("notAfter", anchor.notAfter.rfc3339)
        member("daysLeft", anchor.daysLeft(now: now))
    }
}
