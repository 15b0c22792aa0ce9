import ArgumentParser
import Assay
import AssayBytes
import AssayCommandLine
import AssayMint
import AssayModels

/// The options of all kinds of minted evidence.
struct MintOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of the authority, made by 'assay mint ca'.", valueName: "folder"),
        completion: .directory)
    var ca: String

    @Option(
        help: ArgumentHelp(
            "Sign this JSON unchanged, instead of a sample; - is standard input.",
            valueName: "file"),
        completion: .file())
    var payload: String?

    @Option(help: "The bundle identifier of a sample.")
    var bundleId = "com.example.game"

    @Option(
        help: ArgumentHelp("The App Store id of a sample's app.", valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64 = 1_234_567_890

    @Option(
        help: ArgumentHelp(
            "The environment of a sample: Production, Sandbox, Xcode or LocalTesting. "
                + "(default: Production)",
            valueName: "name"),
        completion: .environments,
        transform: environmentArgument)
    var environment: StoreEnvironment = .production

    @Option(help: "The product of a sample. (default: the bundle id and .premium.monthly)")
    var productId: String?

    @Option(
        help: ArgumentHelp(
            "The date of a sample's signature, \(DateArgument.help). (default: now)",
            valueName: "time"))
    var date: DateArgument?

    @Option(
        help: ArgumentHelp("How many to sign; samples are different purchases.", valueName: "n"))
    var count = 1

    @Option(
        help: ArgumentHelp(
            "A folder for one file each, or - for one line each on standard output.",
            valueName: "folder"),
        completion: .directory)
    var output = "-"

    func validate() throws {
        guard count >= 1 else { throw ValidationError("--count must be 1 or more") }
        guard environment != .unspecified else {
            throw ValidationError(
                "a sample names its environment: use --payload to sign a payload without one")
        }
    }

    func minter() throws -> Minter { Minter(try DevelopmentCA.read(from: ca).chain) }

    /// The values of the sample with this index.
    func sample(_ index: Int, signedDate: Timestamp) -> SampleValues {
        SampleValues(
            index: index, bundleId: bundleId, appAppleId: appAppleId,
            environment: environment, signedDate: signedDate, productId: productId)
    }
}

extension DevelopmentCA {
    /// Reads the files that `assay mint ca` wrote.
    static func read(from folder: String) throws -> DevelopmentCA {
        var files: [File] = []
        for name in DevelopmentCA.fileNames {
            guard let content = try Input.readIfPresent(folder + "/" + name) else { continue }
            files.append(.init(name: name, contents: content, secret: false))
        }
        guard !files.isEmpty else {
            throw Failure("\(folder) has no authority: make one with 'assay mint ca \(folder)'")
        }
        do throws(MintError) {
            return try DevelopmentCA(files: files)
        } catch {
            throw Failure("the authority in \(folder) can't be used: \(error.message)")
        }
    }
}

/// The values that a sample is made from.
struct SampleValues {
    var index: Int
    var bundleId: String
    var appAppleId: Int64
    var environment: StoreEnvironment
    var signedDate: Timestamp
    var productId: String?

    /// Makes one of `Samples`, with the requested product if the sample has one.
    func payload(
        _ sample: (Int, String, Int64, StoreEnvironment, Timestamp) -> [UInt8]
    ) -> [UInt8] {
        let payload = sample(index, bundleId, appAppleId, environment, signedDate)
        guard let productId, let members = try? JSONDocument.parse(payload).root.members else {
            return payload
        }
        var writer = JSONWriter()
        writer.object { object in
            for (name, value) in members.pairs {
                object.name(name)
                switch name {
                case "productId", "autoRenewProductId": object.value(productId)
                default: object.value(value)
                }
            }
        }
        return writer.text
    }
}
