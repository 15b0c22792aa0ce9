import ArgumentParser
import AssayLoad
import AssayLoop
import AssayMint
import AssayModels
import AssayWire

/// What is sent.
struct LoadEvidenceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The authority that signs, as 'assay mint ca' wrote it; the server has to have its "
                + "root.pem as --root.", valueName: "folder"))
    var ca: String?

    @Option(
        help: ArgumentHelp(
            "Kinds and their shares, such as transaction=80,notification=20.",
            valueName: "mix"))
    var mix: KindMix = KindMix(shares: [(.transaction, 100)])

    @Option(
        help: ArgumentHelp(
            "Percent that are forged: changed after they were signed, or a stranger's.",
            valueName: "percent"))
    var forged = 0.0

    @Option(
        help: ArgumentHelp(
            "Percent whose chain the server has not seen: each costs it two signatures of "
                + "P-384 more.", valueName: "percent"))
    var unseen = 0.0

    @Option(
        name: .customLong("file"),
        help: ArgumentHelp(
            "Evidence to send instead, which has to be VALID. Repeat for more.",
            valueName: "kind=path"))
    var files: [KindFile] = []

    @Option(help: "The app of what is minted.")
    var bundleId = "com.example.game"

    @Option(
        help: ArgumentHelp("The App Store id of the app of what is minted.", valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64 = 1_234_567_890

    @Option(help: "The environment of the evidence: \(EnvironmentChoice.names).")
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
        if !files.isEmpty, forged + unseen > 0 {
            throw ValidationError("--forged and --unseen are minted: name --ca")
        }
    }

    func groups(chains: Int) throws -> [LoadGroup] {
        guard let ca else { return try fileGroups() }
        let authority = try DevelopmentCA.read(from: ca)
        do throws(MintError) {
            var pool = try EvidencePool(
                authority, bundleId: bundleId, appAppleId: appAppleId,
                environment: environment.environment, at: .now)
            pool.returnsTypedPayload = !noPayload
            return try groups(pool, chains)
        } catch {
            throw Failure("nothing was minted: \(error.reason)")
        }
    }

    private func groups(_ pool: EvidencePool, _ chains: Int) throws(MintError) -> [LoadGroup] {
        var groups: [LoadGroup] = []
        SystemFile.writeStandardError("minting evidence ...\n")
        for (kind, share) in mix.shares {
            let genuine = 100 - forged - unseen
            if genuine > 0 {
                groups.append(
                    LoadGroup(kind.name, weight: share * genuine, try pool.genuine(kind)))
            }
            if forged > 0 {
                groups.append(
                    LoadGroup(
                        "forged " + kind.name, weight: share * forged, try pool.forged(kind)))
            }
            if unseen > 0 {
                let wanted = Double(chains) * share / mix.total * unseen / 100
                let count = min(max(Int(wanted * 1.1), 16), LoadLimits.mintedChains)
                groups.append(
                    LoadGroup(
                        "unseen " + kind.name, weight: share * unseen,
                        try pool.unseen(kind, count: count)))
            }
        }
        return groups
    }

    private func fileGroups() throws -> [LoadGroup] {
        var expectations = Expectations.none
        expectations.environments = [environment.environment]
        return try files.map { file in
            let call = VerifyCall(
                kind: file.kind, expectations: expectations, returnsTypedPayload: !noPayload)
            let evidence = try Input.read(file.path, limit: Input.evidenceLimit)
            return LoadGroup(file.path, weight: 1, [LoadItem(call, evidence, expecting: .valid)])
        }
    }
}

/// `transaction=80,notification=20`; the shares need not make a hundred.
struct KindMix: ExpressibleByArgument, Sendable {
    let shares: [(kind: EvidenceKind, share: Double)]

    var total: Double { shares.map(\.share).reduce(0, +) }

    init(shares: [(EvidenceKind, Double)]) { self.shares = shares.map { ($0.0, $0.1) } }

    init?(argument: String) {
        var shares: [(EvidenceKind, Double)] = []
        for part in argument.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            guard let name = pair.first, let kind = EvidenceKind(name: String(name)),
                kind != .appReceipt, kind != .transactionReceipt
            else { return nil }
            guard let share = pair.count == 2 ? Double(pair[1]) : 1, share > 0 else { return nil }
            shares.append((kind, share))
        }
        guard !shares.isEmpty else { return nil }
        self.init(shares: shares)
    }

    var defaultValueDescription: String {
        shares.map { "\($0.kind.name)=\($0.share.short)" }.joined(separator: ",")
    }
}

/// `transaction=token.jws`
struct KindFile: ExpressibleByArgument, Sendable {
    let kind: EvidenceKind
    let path: String

    init?(argument: String) {
        let pair = argument.split(separator: "=", maxSplits: 1)
        guard pair.count == 2, let kind = EvidenceKind(name: String(pair[0])) else { return nil }
        self.kind = kind
        path = String(pair[1])
    }
}
