import ArgumentParser
import AssayCommandLine
import AssayMint
import AssayModels

struct MintReceiptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipt",
        abstract: "Sign app receipts of StoreKit 1, of any size.",
        discussion: """
            Subscriptions with their renewals and single purchases, in the form of the
            sandbox: about 415 bytes per record. The same options give the same payload.
            Pin receipt-root.pem of the authority's folder to trust what it signs.

            EXAMPLES
              assay mint receipt --ca ./ca --records 3 --output receipt.txt
              assay mint receipt --ca ./ca --size 16MB --base64 none --output receipt.der
            """)

    @Option(
        help: ArgumentHelp(
            "The folder of the authority, made by 'assay mint ca'.", valueName: "folder"),
        completion: .directory)
    var ca: String

    @Option(help: ArgumentHelp("Number of in-app records. (default: 3)", valueName: "n"))
    var records: Int?

    @Option(
        help: ArgumentHelp(
            "Fill this size with records: a number of bytes, or with KB or MB.", valueName: "size"),
        transform: sizeArgument)
    var size: Int?

    @Option(help: "The bundle identifier.")
    var bundleId = "com.example.game"

    @Option(
        help: ArgumentHelp("The App Store id of the app, in Production.", valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64 = 1_234_567_890

    @Option(
        help: ArgumentHelp(
            "The environment: Production, Sandbox or Xcode. (default: Production)",
            valueName: "name"),
        completion: .environments,
        transform: environmentArgument)
    var environment: StoreEnvironment = .production

    @Option(
        help: ArgumentHelp(
            "The date of the signature, \(DateArgument.help). (default: now)", valueName: "time"))
    var date: DateArgument?

    @Option(
        help: ArgumentHelp(
            "The digest: sha1, as in most real receipts, or sha256. (default: sha256)",
            valueName: "digest"),
        completion: .choices(DigestChoice.self),
        transform: choiceArgument)
    var digest: DigestChoice = .sha256

    @Option(
        help: ArgumentHelp(
            "The encoding: der, like Apple, or ber, like Xcode. (default: der)",
            valueName: "encoding"),
        completion: .choices(EncodingChoice.self),
        transform: choiceArgument)
    var encoding: EncodingChoice = .der

    @Option(
        help: ArgumentHelp(
            "The form of base64: line, one line; lines, of 76 characters each; none, raw bytes. "
                + "(default: line)",
            valueName: "form"),
        completion: .choices(Base64Choice.self),
        transform: choiceArgument)
    var base64: Base64Choice = .line

    @Option(help: ArgumentHelp("The seed of all random values.", valueName: "n"))
    var seed: UInt64 = 1

    @Option(
        help: ArgumentHelp("The file to write, or - for standard output.", valueName: "file"),
        completion: .file())
    var output = "-"

    enum DigestChoice: String, Choice { case sha1, sha256 }
    enum EncodingChoice: String, Choice { case der, ber }
    enum Base64Choice: String, Choice { case line, lines, none }

    /// Octets per segment of a BER OCTET STRING.
    private static let berSegment = 4096
    /// The largest receipt that `--size` accepts.
    private static let largest = Input.evidenceLimit
    /// Octets per record, at the largest number of records.
    private static let recordSize = 415

    func validate() throws {
        guard records == nil || size == nil else {
            throw ValidationError("write --records or --size, not both")
        }
        let most = Self.largest / Self.recordSize
        guard (0...most).contains(records ?? 0) else {
            throw ValidationError("--records must be from 0 to \(most)")
        }
        guard size ?? 0 <= Self.largest else {
            throw ValidationError("--size must be at most \(Self.largest >> 20)MB")
        }
        guard [.production, .sandbox, .xcode].contains(environment) else {
            throw ValidationError("app receipts exist for Production, Sandbox and Xcode only")
        }
    }

    func run() throws {
        var sample = ReceiptSample(
            bundleId: bundleId, appAppleId: appAppleId, environment: environment,
            creationDate: date?.timestamp ?? .now)
        sample.seed = seed
        if let records { sample.records = .count(records) }
        let ca = try ReceiptCA.read(from: ca)
        let minter = ReceiptMinter(
            ca.chain, digest: digest == .sha1 ? .sha1 : .sha256,
            encoding: encoding == .der ? .der : .ber(segment: Self.berSegment))
        let receipt: [UInt8]
        do throws(MintError) {
            receipt =
                if let size {
                    try minter.sign(sample, size: size)
                } else {
                    try minter.sign(sample.payload)
                }
        } catch {
            throw Failure("can't sign: \(error.message)")
        }
        // A receipt without records has about 4,700 bytes.
        if let size, receipt.count > size, size < Self.recordSize * 20 {
            throw Failure(
                "--size \(size) is too small: a receipt without records has \(receipt.count) bytes")
        }
        try write(receipt)
    }

    private func write(_ receipt: [UInt8]) throws {
        let content =
            switch base64 {
            case .line: ReceiptMinter.base64(receipt)
            case .lines: ReceiptMinter.base64(receipt, lineLength: 76)
            case .none: receipt
            }
        guard content.count <= Input.evidenceLimit else {
            throw Failure(
                "the receipt has \(content.count) bytes, above the largest limit of a verifier, "
                    + "\(Input.evidenceLimit)" + (base64 == .none ? "" : "; try --base64 none"))
        }
        guard output != "-" else { return try Output.content(content, isText: base64 != .none) }
        try Output.file(output, content)
    }
}

extension ReceiptCA {
    /// Reads the receipt authority that `assay mint ca` wrote beside the other one.
    static func read(from folder: String) throws -> ReceiptCA {
        var files: [DevelopmentCA.File] = []
        for name in fileNames {
            guard let content = try Input.readIfPresent(folder + "/" + name) else { continue }
            files.append(.init(name: name, contents: content, secret: false))
        }
        guard !files.isEmpty else {
            throw Failure(
                "\(folder) has no authority for receipts: make one with 'assay mint ca FOLDER'")
        }
        do throws(MintError) {
            return try ReceiptCA(files: files)
        } catch {
            throw Failure("the authority for receipts in \(folder) can't be used: \(error.message)")
        }
    }
}

/// Parses a number of bytes, KB (1024) or MB (1048576).
func sizeArgument(_ text: String) throws -> Int {
    let units = [("KB", 1 << 10), ("MB", 1 << 20), ("", 1)]
    let upper = text.uppercased()
    for (suffix, factor) in units where upper.hasSuffix(suffix) {
        guard let number = Int(upper.dropLast(suffix.count)), number > 0, number <= 1 << 30 else {
            break
        }
        return number * factor
    }
    throw ValidationError("write the size as a whole number of bytes, or as 512KB or 16MB")
}
