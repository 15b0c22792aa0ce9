import ArgumentParser
import AssayCommandLine
import AssayMint
import AssayModels

/// The options of a minted purchase of another store.
struct MintPurchaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder for the store's key. The key is made at the first use.",
            valueName: "folder"),
        completion: .directory)
    var ca: String

    @Option(
        help: ArgumentHelp(
            "Sign this text unchanged, instead of a sample; - is standard input.",
            valueName: "file"),
        completion: .file())
    var payload: String?

    @Option(name: [.customLong("package-name"), .long], help: "The package of a sample's app.")
    var bundleId = "com.example.game"

    @Option(help: "The product of a sample. (default: the package and .premium)")
    var productId: String?

    @Option(
        help: ArgumentHelp(
            "The environment of a sample: Production or Sandbox. (default: Production)",
            valueName: "name"),
        completion: .environments,
        transform: environmentArgument)
    var environment: StoreEnvironment = .production

    @Flag(help: "A purchase that is not paid yet.")
    var pending = false

    @Option(
        help: ArgumentHelp(
            "The time of a sample's purchase, \(DateArgument.help). (default: now)",
            valueName: "time"))
    var date: DateArgument?

    @Option(
        help: ArgumentHelp("How many to sign; samples are different purchases.", valueName: "n"))
    var count = 1

    func validate() throws {
        guard count >= 1 else { throw ValidationError("--count must be 1 or more") }
        guard environment == .production || environment == .sandbox else {
            throw ValidationError("another store's purchase is of Production or Sandbox")
        }
    }

    var product: String { productId ?? bundleId + ".premium" }

    var moment: Timestamp { date?.timestamp ?? .now }

    /// Signs the purchases and prints one on each line.
    ///
    /// - Parameter sample: makes the text of the purchase with this index.
    func run(
        store: String, _ scheme: StoreMinter.Scheme,
        _ sample: (Int, MintPurchaseOptions) -> [UInt8]
    ) throws {
        try run(store: store) { minter, given, index throws(MintError) in
            try minter.sign(given ?? sample(index, self), scheme)
        }
    }

    /// - Parameter sign: signs the given text, or the sample with this index.
    func run(
        store: String, _ sign: (StoreMinter, [UInt8]?, Int) throws(MintError) -> [UInt8]
    ) throws {
        let minter = try StoreMinter.read(store: store, from: ca)
        let given = try payload.map { try Input.read($0) }
        for index in 0..<count {
            let evidence: [UInt8]
            do throws(MintError) {
                evidence = try sign(minter, given, index)
            } catch {
                throw Failure("can't sign: \(error.message)")
            }
            try Output.line(evidence)
        }
    }
}

extension StoreMinter {
    /// The key of the folder for a kind that needs no chain.
    static func read(for kind: EvidenceKind, from ca: String) throws -> StoreMinter {
        guard kind == .googleNotification else {
            return try read(store: kind.store.rawValue.lowercased(), from: ca)
        }
        return try read(store: "google-push", from: ca, publicFile: "google-jwks.json") { $0.jwks }
    }

    /// The store's key of the folder, which is made if it is missing.
    static func read(store: String, from ca: String) throws -> StoreMinter {
        try read(store: store, from: ca, publicFile: store + "-licence-key.txt") {
            $0.publicKey + [0x0A]
        }
    }

    /// - Parameters:
    ///   - publicFile: the file that a new key's public part is written to.
    ///   - publicPart: its content.
    static func read(
        store: String, from ca: String, publicFile: String, _ publicPart: (StoreMinter) -> [UInt8]
    ) throws -> StoreMinter {
        let name = store + "-key.pem"
        let content = try Input.readIfPresent(ca + "/" + name)
        do throws(MintError) {
            if let content { return try StoreMinter(pem: content, named: name) }
        } catch {
            throw Failure("the key in \(ca) can't be used: \(error.message)")
        }
        let (minter, pem): (StoreMinter, [UInt8])
        do throws(MintError) {
            let made = try StoreMinter()
            (minter, pem) = (made, try made.pem())
        } catch {
            throw Failure("can't make a key: \(error.message)")
        }
        try Folder.make(ca)
        try Folder.add(name, pem, to: ca, mode: 0o600)
        try Folder.add(publicFile, publicPart(minter), to: ca)
        return minter
    }
}

struct MintGooglePurchase: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: EvidenceKind.googlePurchase.name,
        abstract: "Sign purchases as Google Play does.",
        discussion: """
            The folder gets google-key.pem, and google-licence-key.txt for --google-key.

            EXAMPLE
              assay mint google-purchase --ca ./ca --bundle-id com.example.game
            """)
    @OptionGroup var options: MintPurchaseOptions

    func run() throws {
        try options.run(store: "google", .google) { index, options in
            Samples.googlePurchase(
                index: index, bundleId: options.bundleId, productId: options.product,
                environment: options.environment, signedDate: options.moment,
                state: options.pending ? 4 : 0)
        }
    }
}

struct MintHuaweiPurchase: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: EvidenceKind.huaweiPurchase.name,
        abstract: "Sign purchases as Huawei AppGallery does on Android.",
        discussion: """
            The folder gets huawei-key.pem, and huawei-licence-key.txt for --huawei-key.

            EXAMPLE
              assay mint huawei-purchase --ca ./ca --pss
            """)
    @OptionGroup var options: MintPurchaseOptions

    @Flag(help: "Sign by RSASSA-PSS.")
    var pss = false

    func run() throws {
        try options.run(store: "huawei", pss ? .huaweiPSS : .huawei) { index, options in
            Samples.huaweiPurchase(
                index: index, bundleId: options.bundleId, productId: options.product,
                environment: options.environment, signedDate: options.moment,
                state: options.pending ? 3 : 0)
        }
    }
}

struct MintHuaweiNotification: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: EvidenceKind.huaweiNotification.name,
        abstract: "Sign notifications as Huawei AppGallery posts them for apps on Android.",
        discussion: """
            A sample has an order inside, with a signature of its own. The folder gets
            huawei-key.pem, and huawei-licence-key.txt for --huawei-key.

            EXAMPLE
              assay mint huawei-notification --ca ./ca
            """)
    @OptionGroup var options: MintPurchaseOptions

    func run() throws {
        try options.run(store: "huawei") { minter, given, index throws(MintError) in
            if let given { return try minter.huaweiNotification(given) }
            let order = Samples.huaweiPurchase(
                index: index, bundleId: options.bundleId, productId: options.product,
                environment: options.environment, signedDate: options.moment,
                state: options.pending ? 3 : 0)
            return try minter.huaweiNotification(
                about: order, productId: options.product, environment: options.environment)
        }
    }
}
