import Assay
import AssayBytes
import AssayIO
import AssayMint
import AssayModels
import Testing

@testable import AssayCommand

@Suite struct RootsTests {
    private static let now = Timestamp(milliseconds: 1_795_219_200_000)

    /// A root that ends some days after now, with the key of another one or its own.
    ///
    /// - Parameter isForged: whether that key did not sign it.
    private static func root(
        days: Int64, renewing other: IssuedCertificate? = nil, isForged: Bool = false
    ) throws -> IssuedCertificate {
        try DevelopmentCA.makeRoot(
            validity: Validity(
                notBefore: Timestamp(milliseconds: now.milliseconds - 86_400_000),
                notAfter: Timestamp(milliseconds: now.milliseconds + days * 86_400_000)),
            key: other?.key
        ) { builder in
            // An ECDSA signature of the numbers 1 and 1.
            if isForged { builder.signature = [0x30, 6, 2, 1, 1, 2, 1, 1] }
        }
    }

    private static func anchor(
        _ root: IssuedCertificate, development: Bool = false
    ) throws -> TrustAnchor {
        try #require(try TrustStore.empty.pinning(root.der, development: development).anchors.first)
    }

    private static func report(
        _ pinned: [TrustAnchor], _ fetched: [TrustAnchor] = []
    ) -> RootsReport {
        let files = fetched.enumerated().map {
            FetchedRoot(path: "\($0.offset).cer", anchor: $0.element)
        }
        return RootsReport(pinned, files, at: now)
    }

    @Test(
        "a warning a year and three months before the end, and after it",
        arguments: [
            (31_536_000, RootUrgency.none), (31_535_999, .year), (7_776_000, .year),
            (7_775_999, .threeMonths), (0, .threeMonths), (-1, .over),
        ] as [(Int64, RootUrgency)])
    func ends(secondsLeft: Int64, urgency: RootUrgency) {
        #expect(RootUrgency(secondsLeft: secondsLeft) == urgency)
    }

    @Test("the first end decides")
    func first() throws {
        let days: [Int64] = [400, 300, 80]
        let roots = try days.map { try Self.anchor(Self.root(days: $0)) }
        let words = ["within a year", "within three months", "it has ended"]
        for (count, urgency) in [(1, RootUrgency.none), (2, .year), (3, .threeMonths)] {
            let report = Self.report(Array(roots.prefix(count)))
            #expect(report.urgency == urgency)
            #expect(words.map(report.text.contains) == [count > 1, count > 2, false])
        }
        let over = Self.report([try Self.anchor(Self.root(days: -1))])
        #expect(over.urgency == .over && over.text.contains("it has ended"))
        #expect(Self.report([]).urgency == .none)
    }

    @Test("each file is pinned, a renewal, a forgery, a root with another key, or not pinned")
    func files() throws {
        let root = try Self.root(days: 400)
        let pinned = try Self.anchor(root)
        let renewed = try Self.anchor(Self.root(days: 4_000, renewing: root))
        let other = try Self.anchor(Self.root(days: 4_000))
        let forged = try Self.anchor(Self.root(days: 4_000, renewing: root, isForged: true))
        let apple = TrustStore.apple.anchors[0]
        let table: [(TrustAnchor, RootsReport.Match)] = [
            (pinned, .pinned), (renewed, .renewal), (other, .otherKey), (apple, .notPinned),
            (forged, .notSigned),
        ]
        for (fetched, match) in table {
            let report = Self.report([pinned], [fetched])
            #expect(report.files.map(\.match) == [match])
            let isPinned = match == .pinned
            #expect(report.urgency == (isPinned ? .none : .year))
            #expect(report.text.contains("no file has it") != isPinned)
            #expect(report.text.contains(match.text) != isPinned)
            #expect(report.text.contains("is in 0.cer") == isPinned)
            let json = try JSONDocument.parse(report.json).root
            let file = json["files"]?.elements.map { Array($0) }?.first
            let pin = json["roots"]?.elements.map { Array($0) }?.first
            #expect(file?["match"]?.string == match.rawValue)
            #expect(pin?["file"]?.string == (isPinned ? "0.cer" : nil))
            #expect(pin?["daysLeft"]?.int64 == 400)
        }
    }

    @Test("a root for development is in no file, and that is no difference")
    func development() throws {
        let pinned = try Self.anchor(Self.root(days: 400))
        let own = try Self.anchor(Self.root(days: 400), development: true)
        #expect(Self.report([pinned, own], [pinned]).urgency == .none)
        #expect(Self.report([pinned, own], [own]).urgency == .year)
    }

    @Test("a root that has not begun says when it will, and asks for nothing")
    func begins() throws {
        let root = try Self.anchor(Self.root(days: 400))
        for (now, isAhead) in [(root.notBefore, false), (root.notBefore.advanced(by: -1), true)] {
            let report = RootsReport([root], [], at: now)
            #expect(report.text.contains("begins at \(root.notBefore.rfc3339)") == isAhead)
            #expect(report.urgency == .none)
        }
    }

    @Test("the tool compares Apple's roots and those of --root, and says so by its exit status")
    func tool() throws {
        let folder = TemporaryFolder()
        let apple = try Tool.run("roots", "check", "--at", "2026-01-01T00:00:00Z")
        #expect(apple.status == 0 && !apple.output.contains("WARNING"), "\(apple)")
        #expect(apple.output.contains("Apple Root CA - G3, until 2039-04-30T18:19:06Z"))
        let late = try Tool.run("roots", "check", "--at", "2034-06-01T00:00:00Z")
        #expect(late.status == 1 && late.output.contains("within a year"))
        let urgent = try Tool.run(
            "roots", "check", "--at", "2040-01-01T00:00:00Z", "--format", "json")
        #expect(urgent.status == 3 && urgent.output.contains(#""urgency":"over""#))

        let root = try Self.root(days: 400)
        let path = folder("root.der")
        try SystemFile.create(path, root.der, mode: 0o600)
        let other = try Tool.run("roots", "check", "--at", "2026-11-30T00:00:00Z", path)
        #expect(other.status == 1 && other.output.contains("\(path) is not pinned"), "\(other)")
        let none = try Tool.run("roots", "check", folder("missing"))
        #expect(none.status == 2 && !none.error.isEmpty)
    }
}
