import ArgumentParser
import Assay
import AssayMint
import AssayModels

/// The options of all kinds of minted evidence.
struct MintOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of the authority, as 'assay mint ca' wrote it.", valueName: "folder"))
    var ca: String

    @Option(
        help: ArgumentHelp(
            "Sign this JSON as it is, instead of a sample; - is standard input.",
            valueName: "file"))
    var payload: String?

    @Option(help: "Of a sample: its app.")
    var bundleId = "com.example.game"

    @Option(
        help: ArgumentHelp("Of a sample: the App Store id of its app.", valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64 = 1_234_567_890

    @Option(
        help: ArgumentHelp(
            "Of a sample: Production, Sandbox, Xcode or LocalTesting. (default: Production)",
            valueName: "name"),
        transform: choiceArgument)
    var environment: EnvironmentChoice = .production

    @Option(help: "Of a sample: its product. (default: the bundle id and .premium.monthly)")
    var productId: String?

    @Option(
        help: ArgumentHelp(
            "Of a sample: when it was signed, \(DateArgument.help). (default: now)",
            valueName: "time"))
    var date: DateArgument?

    @Option(help: ArgumentHelp("How many; samples are different purchases.", valueName: "n"))
    var count = 1

    @Option(
        help: ArgumentHelp(
            "A folder to write one file each into, or - for one line each on standard output.",
            valueName: "folder"))
    var output = "-"

    func validate() throws {
        guard count >= 1 else { throw ValidationError("--count has to be 1 or more") }
        guard environment != .unspecified else {
            throw ValidationError(
                "a sample names its environment: sign a payload without one by --payload")
        }
    }

    func minter() throws -> Minter { Minter(try DevelopmentCA.read(from: ca).chain) }

    /// The values of the sample with this index.
    func sample(_ index: Int, signedDate: Timestamp) -> SampleValues {
        SampleValues(
            index: index, bundleId: bundleId, appAppleId: appAppleId,
            environment: environment.environment, signedDate: signedDate, productId: productId)
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
            throw Failure("\(folder) holds no authority: make one with 'assay mint ca \(folder)'")
        }
        do throws(MintError) {
            return try DevelopmentCA(files: files)
        } catch {
            throw Failure("\(folder) holds no usable authority: \(error.reason)")
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

extension MintError {
    /// The reason in plain words, with the remedy if there is one.
    var reason: String {
        switch self {
        case .keyGenerationFailed: "OpenSSL made no key"
        case .noRandomness: "OpenSSL gave no random bytes"
        case .signingFailed: "OpenSSL did not sign"
        case .missingFile(let name): "\(name) is missing"
        case .malformedFile(let name):
            "\(name) is not the PEM of a certificate or of an unencrypted private key"
        case .keyMismatch(let name): "\(name) is not the key of its certificate"
        case .foreignCertificate(let name):
            "\(name) was not made by 'assay mint ca', and evidence of Apple's can't be minted"
        case .notAToken(let kind): "a \(kind.name) is no JWS"
        case .missingIssuerKey(let name): "\(name) is missing, which has to sign"
        }
    }
}
