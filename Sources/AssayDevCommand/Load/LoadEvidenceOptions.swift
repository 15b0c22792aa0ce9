import ArgumentParser
import Assay
import AssayCommandLine
import AssayLoad
import AssayIO
import AssayMint
import AssayModels
import AssayWire

/// The evidence that a load run sends.
struct LoadEvidenceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The signing authority, a folder made by 'assay mint ca'; the server needs its "
                + "root.pem as --root.", valueName: "folder"),
        completion: .directory)
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "Kinds and their shares, such as transaction=80,notification=20; app-receipt needs a "
                + "size, such as app-receipt:64KB=5 or app-receipt:1MB=5; resolve:20=5 sends "
                + "Resolve requests of 20 transactions. "
                + "(default: transaction=100)",
            valueName: "mix"),
        transform: KindMix.init(text:))
    var mix: KindMix = KindMix(shares: [.init(.transaction, share: 100)])

    @Option(
        help: ArgumentHelp(
            "Percentage of forged evidence: changed after signing, or signed by another authority.",
            valueName: "percent"))
    var forged = 0.0

    @Option(
        name: .customLong("unseen"),
        help: ArgumentHelp(
            "Percentage of tokens with a chain unknown to the server: each costs it two "
                + "P-384 signatures more.", valueName: "percent"))
    var unknownChains = 0.0

    @Option(
        name: .customLong("file"),
        help: ArgumentHelp(
            "Evidence to send instead; it must be VALID. Repeat for more.",
            valueName: "kind=path"),
        transform: KindFile.init(text:))
    var files: [KindFile] = []

    @Option(help: "The bundle identifier in minted evidence.")
    var bundleId = "com.example.game"

    @Option(
        help: ArgumentHelp("The App Store id in minted evidence.", valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64 = 1_234_567_890

    @Option(
        help: ArgumentHelp(
            "The environment of the evidence: \(StoreEnvironment.names). "
                + "(default: Production)", valueName: "name"),
        completion: .environments,
        transform: environmentArgument)
    var environment: StoreEnvironment = .production

    @Flag(help: "Request answers without the typed payload.")
    var noPayload = false

    func validate() throws {
        guard (ca == nil) != files.isEmpty else {
            throw ValidationError(
                "name either --ca, to mint evidence, or --file, evidence to send")
        }
        guard forged >= 0, unknownChains >= 0, forged + unknownChains <= 100 else {
            throw ValidationError("--forged and --unseen are percentages: together at most 100")
        }
        guard
            unknownChains == 0
                || mix.shares.contains(where: {
                    $0.kind != .appReceipt && $0.items == nil && $0.kind.store == .apple
                })
        else {
            throw ValidationError("--unseen applies to tokens, and --mix has none")
        }
        guard
            !mix.shares.contains(where: { $0.kind == .appReceipt })
                || [.production, .sandbox, .xcode].contains(environment)
        else { throw ValidationError("app receipts exist for Production, Sandbox and Xcode only") }
        if !files.isEmpty, forged + unknownChains > 0 {
            throw ValidationError("--forged and --unseen need minted evidence: name --ca")
        }
    }

    func groups(chains: Int) throws -> [LoadGroup] {
        guard let ca else { return try fileGroups() }
        let authority = try DevelopmentCA.read(from: ca)
        let wantsReceipts = mix.shares.contains { $0.kind == .appReceipt }
        let receipts = wantsReceipts ? try ReceiptCA.read(from: ca) : nil
        var stores: [EvidenceKind: StoreMinter] = [:]
        for kind in mix.shares.map(\.kind) where !kind.traits.hasChain {
            stores[kind] = try StoreMinter.read(for: kind, from: ca)
        }
        Output.note("minting evidence ...")
        do throws(MintError) {
            var pool = try EvidencePool(
                authority, receipts: receipts, stores: stores, bundleId: bundleId,
                appAppleId: appAppleId, environment: environment, at: .now)
            pool.returnsTypedPayload = !noPayload
            var groups: [LoadGroup] = []
            for share in mix.shares {
                groups += try self.groups(of: share, pool, chains)
            }
            return groups
        } catch {
            throw Failure("can't mint: \(error.message)")
        }
    }

    private func groups(
        of part: KindMix.Share, _ pool: EvidencePool, _ chains: Int
    ) throws(MintError) -> [LoadGroup] {
        var groups: [LoadGroup] = []
        func add(_ prefix: String, _ percent: Double, _ items: [LoadItem]) {
            groups.append(LoadGroup(prefix + part.name, weight: part.share * percent, items))
        }
        // Receipts get no share of unknown chains: validating their chain costs too little. A
        // Resolve has none either: its items would wait for one another's chains.
        // Another store's purchase has no chain.
        let hasChain = part.size == nil && part.items == nil && part.kind.store == .apple
        let unknownChains = hasChain ? unknownChains : 0
        let genuine = 100 - forged - unknownChains
        if let items = part.items {
            if genuine > 0 { add("", genuine, try pool.resolves(ofItems: items)) }
            if forged > 0 {
                add("forged ", forged, try pool.resolves(ofItems: items, isForged: true))
            }
            return groups
        }
        if genuine > 0 { add("", genuine, try pool.genuine(part.kind, size: part.size)) }
        if forged > 0 { add("forged ", forged, try pool.forged(part.kind, size: part.size)) }
        if unknownChains > 0 {
            let wanted = Double(chains) * part.share / mix.total * unknownChains / 100
            let count = min(max(Int(wanted * 1.1), 16), LoadLimits.mintedChains)
            add("unknown-chain ", unknownChains, try pool.unknownChains(part.kind, count: count))
        }
        return groups
    }

    private func fileGroups() throws -> [LoadGroup] {
        var expectations = Expectations.none
        expectations.environments = [environment]
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
        /// Transactions of a Resolve; nil for Verify.
        var items: Int?
        var share: Double

        init(
            _ kind: EvidenceKind, size: Int? = nil, _ sizeText: String = "", items: Int? = nil,
            share: Double
        ) {
            self.kind = kind
            self.size = size
            self.sizeText = sizeText
            self.items = items
            self.share = share
        }

        var name: String {
            if let items { return "resolve \(items)" }
            return size == nil ? kind.name : kind.name + " " + sizeText
        }
    }

    let shares: [Share]

    var total: Double { shares.map(\.share).reduce(0, +) }

    init(shares: [Share]) { self.shares = shares }

    @Sendable init(text: String) throws {
        self.init(shares: try text.split(separator: ",").map(Self.share))
        guard !shares.isEmpty else { throw ValidationError("name at least one kind") }
    }

    private static func share(_ part: Substring) throws -> Share {
        let pair = part.split(separator: "=", maxSplits: 1)
        let named = (pair.first ?? "").split(separator: ":", maxSplits: 1)
        if named.first == "resolve" { return try resolve(named, pair) }
        let kind = try mintedKind(String(named.first ?? ""))
        guard (kind == .appReceipt) == (named.count == 2) else {
            throw ValidationError(
                "app-receipt needs a size, as in app-receipt:64KB=5; other kinds have none")
        }
        let share = try number(of: pair, named: kind.name)
        guard named.count == 2 else { return Share(kind, share: share) }
        let size = try sizeArgument(String(named[1]))
        guard size <= Input.evidenceLimit else {
            throw ValidationError("a receipt can have at most \(Input.evidenceLimit >> 20)MB")
        }
        return Share(kind, size: size, String(named[1]), share: share)
    }

    private static func number(of pair: [Substring], named name: String) throws -> Double {
        guard let share = pair.count == 2 ? Double(pair[1]) : 1, share > 0, share.isFinite else {
            throw ValidationError("write a share as a number above 0, as in \(name)=20")
        }
        return share
    }

    private static func resolve(_ named: [Substring], _ pair: [Substring]) throws -> Share {
        let limit = RequestLimits.resolveItems
        guard named.count == 2, let items = Int(named[1]), (1...limit).contains(items) else {
            throw ValidationError(
                "resolve needs a number of items from 1 to \(limit), as in resolve:20=5")
        }
        return Share(
            .transaction, items: items, share: try number(of: pair, named: "resolve:\(items)"))
    }

    private static func mintedKind(_ name: String) throws -> EvidenceKind {
        // The tool can't mint the others.
        let kinds = EvidenceKind.allCases.filter {
            $0.format != .transactionReceipt && $0.format != .notificationV1
        }
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
