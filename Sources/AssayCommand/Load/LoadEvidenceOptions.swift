import ArgumentParser
import AssayLoad
import AssayIO
import AssayMint
import AssayModels
import AssayWire

/// The evidence that a load run sends.
struct LoadEvidenceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The authority that signs, as 'assay mint ca' wrote it; the server has to have its "
                + "root.pem as --root.", valueName: "folder"))
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "Kinds and their shares, such as transaction=80,notification=20; app-receipt has a "
                + "size, such as app-receipt:64KB=5, or app-receipt:1MB=5. "
                + "(default: transaction=100)",
            valueName: "mix"),
        transform: KindMix.init(text:))
    var mix: KindMix = KindMix(shares: [.init(.transaction, share: 100)])

    @Option(
        help: ArgumentHelp(
            "Percent that are forged: changed after they were signed, or a stranger's.",
            valueName: "percent"))
    var forged = 0.0

    @Option(
        help: ArgumentHelp(
            "Percent of the tokens whose chain the server has not seen: each costs it two "
                + "signatures of P-384 more.", valueName: "percent"))
    var unseen = 0.0

    @Option(
        name: .customLong("file"),
        help: ArgumentHelp(
            "Evidence to send instead, which has to be VALID. Repeat for more.",
            valueName: "kind=path"),
        transform: KindFile.init(text:))
    var files: [KindFile] = []

    @Option(help: "The app of what is minted.")
    var bundleId = "com.example.game"

    @Option(
        help: ArgumentHelp("The App Store id of the app of what is minted.", valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64 = 1_234_567_890

    @Option(
        help: ArgumentHelp(
            "The environment of the evidence: \(EnvironmentChoice.names). "
                + "(default: Production)", valueName: "name"),
        transform: choiceArgument)
    var environment: EnvironmentChoice = .production

    @Flag(help: "Have the server leave the typed payload out of its answers.")
    var noPayload = false

    func validate() throws {
        guard (ca == nil) != files.isEmpty else {
            throw ValidationError(
                "name either --ca, an authority to mint with, or --file, evidence to send")
        }
        guard (0...100).contains(forged), (0...100).contains(unseen), forged + unseen <= 100 else {
            throw ValidationError("--forged and --unseen are percentages, 100 together at most")
        }
        guard unseen == 0 || mix.shares.contains(where: { $0.kind != .appReceipt }) else {
            throw ValidationError("--unseen is about tokens, and --mix has none")
        }
        guard
            !mix.shares.contains(where: { $0.kind == .appReceipt })
                || [.production, .sandbox, .xcode].contains(environment)
        else { throw ValidationError("an app receipt is of Production, Sandbox or Xcode") }
        if !files.isEmpty, forged + unseen > 0 {
            throw ValidationError("--forged and --unseen are minted: name --ca")
        }
    }

    func groups(chains: Int) throws -> [LoadGroup] {
        guard let ca else { return try fileGroups() }
        let authority = try DevelopmentCA.read(from: ca)
        let wantsReceipts = mix.shares.contains { $0.kind == .appReceipt }
        let receipts = wantsReceipts ? try ReceiptCA.read(from: ca) : nil
        Output.note("minting evidence ...")
        do throws(MintError) {
            var pool = try EvidencePool(
                authority, receipts: receipts, bundleId: bundleId, appAppleId: appAppleId,
                environment: environment.environment, at: .now)
            pool.returnsTypedPayload = !noPayload
            var groups: [LoadGroup] = []
            for share in mix.shares {
                groups += try self.groups(of: share, pool, chains)
            }
            return groups
        } catch {
            throw Failure("nothing was minted: \(error.reason)")
        }
    }

    private func groups(
        of part: KindMix.Share, _ pool: EvidencePool, _ chains: Int
    ) throws(MintError) -> [LoadGroup] {
        var groups: [LoadGroup] = []
        func add(_ prefix: String, _ percent: Double, _ items: [LoadItem]) {
            groups.append(LoadGroup(prefix + part.name, weight: part.share * percent, items))
        }
        // Receipts get no share of unknown chains: validating their chain costs too little.
        let unseen = part.size == nil ? unseen : 0
        let genuine = 100 - forged - unseen
        if genuine > 0 { add("", genuine, try pool.genuine(part.kind, size: part.size)) }
        if forged > 0 { add("forged ", forged, try pool.forged(part.kind, size: part.size)) }
        if unseen > 0 {
            let wanted = Double(chains) * part.share / mix.total * unseen / 100
            let count = min(max(Int(wanted * 1.1), 16), LoadLimits.mintedChains)
            add("unseen ", unseen, try pool.unseen(part.kind, count: count))
        }
        return groups
    }

    private func fileGroups() throws -> [LoadGroup] {
        var expectations = Expectations.none
        expectations.environments = [environment.environment]
        return try files.map { file in
            let call = VerifyCall(
                kind: file.kind, expectations: expectations, returnsTypedPayload: !noPayload)
            let evidence = try Input.evidence(file.path)
            return LoadGroup(file.path, weight: 1, [LoadItem(call, evidence, expecting: .valid)])
        }
    }
}

/// The mix of kinds, such as `transaction=80,app-receipt:1MB=20`. The shares need not add up to
/// 100.
struct KindMix: Sendable {
    struct Share: Sendable {
        var kind: EvidenceKind
        /// Bytes of an app receipt. Other kinds have the size of Apple's evidence.
        var size: Int?
        var sizeText: String
        var share: Double

        init(_ kind: EvidenceKind, size: Int? = nil, _ sizeText: String = "", share: Double) {
            self.kind = kind
            self.size = size
            self.sizeText = sizeText
            self.share = share
        }

        var name: String { size == nil ? kind.name : kind.name + " " + sizeText }
    }

    let shares: [Share]

    var total: Double { shares.map(\.share).reduce(0, +) }

    init(shares: [Share]) { self.shares = shares }

    @Sendable init(text: String) throws {
        self.init(shares: try text.split(separator: ",").map(Self.share))
        guard !shares.isEmpty else { throw ValidationError("name a kind") }
    }

    private static func share(_ part: Substring) throws -> Share {
        let pair = part.split(separator: "=", maxSplits: 1)
        let named = (pair.first ?? "").split(separator: ":", maxSplits: 1)
        let kind = try mintedKind(String(named.first ?? ""))
        guard (kind == .appReceipt) == (named.count == 2) else {
            throw ValidationError("app-receipt has a size, as in app-receipt:64KB=5, others none")
        }
        guard let share = pair.count == 2 ? Double(pair[1]) : 1, share > 0, share.isFinite else {
            throw ValidationError("write a share as a number above 0, as in \(kind.name)=20")
        }
        guard named.count == 2 else { return Share(kind, share: share) }
        let size = try sizeArgument(String(named[1]))
        guard size <= Input.evidenceLimit else {
            throw ValidationError("a receipt has \(Input.evidenceLimit >> 20)MB at most")
        }
        return Share(kind, size: size, String(named[1]), share: share)
    }

    private static func mintedKind(_ name: String) throws -> EvidenceKind {
        // The tool can't mint transaction receipts.
        let kinds = EvidenceKind.allCases.filter { $0 != .transactionReceipt }
        guard let kind = kinds.first(where: { $0.name == name }) else {
            throw ValidationError(Suggestion.remedy(for: name, among: kinds.map(\.name)))
        }
        return kind
    }
}

/// A kind and the file to send, such as `transaction=token.jws`.
struct KindFile: Sendable {
    let kind: EvidenceKind
    let path: String

    @Sendable init(text: String) throws {
        let pair = text.split(separator: "=", maxSplits: 1)
        guard pair.count == 2 else {
            throw ValidationError("write a kind and a file, as in transaction=token.jws")
        }
        guard let kind = EvidenceKind(name: String(pair[0])) else {
            throw ValidationError(
                Suggestion.remedy(for: String(pair[0]), among: EvidenceKind.allCases.map(\.name)))
        }
        self.kind = kind
        path = String(pair[1])
    }
}
