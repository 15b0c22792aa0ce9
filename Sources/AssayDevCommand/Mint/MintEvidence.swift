import ArgumentParser
import Assay
import AssayBytes
import AssayCommandLine
import AssayMint
import AssayModels

/// A subcommand that signs evidence of one kind.
protocol MintEvidence: ParsableCommand {
    var options: MintOptions { get }
    static var kind: EvidenceKind { get }
    /// What signs.
    func minter() throws -> Minter
    /// The output form of one item: the token itself, or the POST body that carries it.
    func form(_ token: [UInt8]) -> (content: [UInt8], suffix: String)
    static func sample(_ values: SampleValues, _ minter: Minter) throws(MintError) -> [UInt8]
}

extension MintEvidence {
    static func about(_ abstract: String, example: String) -> CommandConfiguration {
        CommandConfiguration(
            commandName: kind.name, abstract: abstract,
            discussion: "EXAMPLE\n  assay mint \(kind.name) --ca ./ca \(example)")
    }

    func minter() throws -> Minter { try options.minter() }

    func form(_ token: [UInt8]) -> (content: [UInt8], suffix: String) { (token, "jws") }

    func run() throws {
        let minter = try minter()
        let given = try options.payload.map { try Input.read($0) }
        let signedDate = options.date?.timestamp ?? .now
        if options.output != "-" { try Folder.make(options.output) }
        for index in 0..<options.count {
            let token: [UInt8]
            do throws(MintError) {
                let values = options.sample(index, signedDate: signedDate)
                let payload = if let given { given } else { try Self.sample(values, minter) }
                token = try minter.sign(payload)
            } catch {
                throw Failure("can't sign: \(error.message)")
            }
            let (content, suffix) = form(token)
            if options.output == "-" {
                try Output.line(content)
            } else {
                let name = "\(Self.kind.name)-\(index + 1).\(suffix)"
                try Folder.add(name, content, to: options.output)
            }
        }
    }
}

struct MintTransaction: MintEvidence {
    static let kind = EvidenceKind.transaction
    static let configuration: CommandConfiguration = about(
        "Sign transactions.", example: "--bundle-id com.example.game --count 3")
    @OptionGroup var options: MintOptions

    static func sample(_ values: SampleValues, _ minter: Minter) -> [UInt8] {
        values.payload(Samples.transaction)
    }
}

struct MintRenewalInfo: MintEvidence {
    static let kind = EvidenceKind.renewalInfo
    static let configuration: CommandConfiguration = about(
        "Sign renewal information.", example: "--environment Sandbox")
    @OptionGroup var options: MintOptions

    static func sample(_ values: SampleValues, _ minter: Minter) -> [UInt8] {
        values.payload(Samples.renewalInfo)
    }
}

struct MintAppTransaction: MintEvidence {
    static let kind = EvidenceKind.appTransaction
    static let configuration: CommandConfiguration = about(
        "Sign app transactions.", example: "--bundle-id com.example.game --app-apple-id 42")
    @OptionGroup var options: MintOptions

    static func sample(_ values: SampleValues, _ minter: Minter) -> [UInt8] {
        values.payload(Samples.appTransaction)
    }
}

struct MintNotification: MintEvidence {
    static let kind = EvidenceKind.notification
    static let configuration: CommandConfiguration = about(
        "Sign notifications, with a signed transaction and renewal information inside.",
        example: "--post-body --output ./notifications --count 10")
    @OptionGroup var options: MintOptions

    @Flag(help: "Write the POST body, {\"signedPayload\": …}, instead of the token alone.")
    var postBody = false

    func form(_ token: [UInt8]) -> (content: [UInt8], suffix: String) {
        guard postBody else { return (token, "jws") }
        var writer = JSONWriter()
        writer.object { $0.member("signedPayload", String(decoding: token, as: UTF8.self)) }
        return (writer.text, "json")
    }

    static func sample(_ values: SampleValues, _ minter: Minter) throws(MintError) -> [UInt8] {
        let transaction = try minter.sign(MintTransaction.sample(values, minter))
        let renewalInfo = try minter.sign(MintRenewalInfo.sample(values, minter))
        return Samples.notification(
            index: values.index, bundleId: values.bundleId, appAppleId: values.appAppleId,
            environment: values.environment, signedDate: values.signedDate,
            signedTransactionInfo: String(decoding: transaction, as: UTF8.self),
            signedRenewalInfo: String(decoding: renewalInfo, as: UTF8.self))
    }
}

struct MintRealtimeRequest: MintEvidence {
    static let kind = EvidenceKind.realtimeRequest
    static let configuration: CommandConfiguration = about(
        "Sign requests of the retention messaging API.", example: "--product-id premium.yearly")
    @OptionGroup var options: MintOptions

    static func sample(_ values: SampleValues, _ minter: Minter) -> [UInt8] {
        values.payload(Samples.realtimeRequest)
    }
}
