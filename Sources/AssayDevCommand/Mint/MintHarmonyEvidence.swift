import ArgumentParser
import AssayBytes
import AssayCommandLine
import AssayMint
import AssayModels

/// A subcommand that signs evidence of HarmonyOS, under the authority's intermediate.
protocol MintHarmonyEvidence: MintEvidence {}

extension MintHarmonyEvidence {
    /// A chain with a new leaf, which has Huawei's marker in the place of Apple's.
    func minter() throws -> Minter {
        let authority = try DevelopmentCA.read(from: options.ca)
        do throws(MintError) {
            return Minter(try authority.issueHarmonyChain(at: .now))
        } catch {
            throw Failure("can't issue a leaf: \(error.message)")
        }
    }
}

struct MintHarmonyPurchase: MintHarmonyEvidence {
    static let kind = EvidenceKind.harmonyPurchase
    static let configuration: CommandConfiguration = about(
        "Sign purchases as Huawei's IAP Kit does on HarmonyOS. The bundle id is the application.",
        example: "--bundle-id 100000001")
    @OptionGroup var options: MintOptions

    static func sample(_ values: SampleValues, _ minter: Minter) -> [UInt8] {
        Samples.harmonyPurchase(
            index: values.index, applicationId: values.bundleId,
            productId: values.productId ?? "premium", environment: values.environment,
            signedDate: values.signedDate)
    }
}

struct MintHarmonySubscription: MintHarmonyEvidence {
    static let kind = EvidenceKind.harmonySubscription
    static let configuration: CommandConfiguration = about(
        "Sign states of subscriptions as Huawei's IAP Kit does on HarmonyOS.",
        example: "--bundle-id 100000001")
    @OptionGroup var options: MintOptions

    static func sample(_ values: SampleValues, _ minter: Minter) -> [UInt8] {
        Samples.harmonySubscription(
            index: values.index, applicationId: values.bundleId,
            productId: values.productId ?? "premium.monthly", environment: values.environment,
            signedDate: values.signedDate)
    }
}

struct MintHarmonyNotification: MintHarmonyEvidence {
    static let kind = EvidenceKind.harmonyNotification
    static let configuration: CommandConfiguration = about(
        "Sign notifications as Huawei's IAP Kit does for HarmonyOS.",
        example: "--bundle-id 100000001 --post-body")
    @OptionGroup var options: MintOptions

    @Flag(help: "Write the POST body, {\"jwsNotification\": …}, instead of the token alone.")
    var postBody = false

    func form(_ token: [UInt8]) -> (content: [UInt8], suffix: String) {
        guard postBody else { return (token, "jws") }
        var writer = JSONWriter()
        writer.object { $0.member("jwsNotification", String(decoding: token, as: UTF8.self)) }
        return (writer.text, "json")
    }

    static func sample(_ values: SampleValues, _ minter: Minter) -> [UInt8] {
        Samples.harmonyNotification(
            index: values.index, applicationId: values.bundleId,
            productId: values.productId ?? "premium", environment: values.environment,
            signedDate: values.signedDate)
    }
}
