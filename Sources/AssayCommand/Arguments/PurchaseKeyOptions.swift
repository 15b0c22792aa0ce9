import ArgumentParser
import Assay
import AssayCommandLine

/// The keys of other stores than Apple's.
struct PurchaseKeyOptions: ParsableArguments {
    @Option(
        name: .customLong("google-key"),
        help: ArgumentHelp(
            "The app's licence key of Google Play, as a file or as base64. Repeat for more.",
            valueName: "key"),
        completion: .file())
    var googleKeys: [String] = []

    @Option(
        name: .customLong("huawei-key"),
        help: ArgumentHelp(
            "The app's key of Huawei AppGallery, as a file or as base64. Repeat for more.",
            valueName: "key"),
        completion: .file())
    var huaweiKeys: [String] = []

    @Option(
        name: .customLong("google-jwks"),
        help: ArgumentHelp(
            "A file with the keys of Google's tokens, for google-notification: "
                + "https://www.googleapis.com/oauth2/v3/certs.",
            valueName: "file"),
        completion: .file())
    var googleJWKS: String?

    @Option(
        name: .customLong("google-audience"),
        help: ArgumentHelp(
            "The audience of the push subscription, for google-notification. Repeat for more.",
            valueName: "text"))
    var googleAudiences: [String] = []

    @Option(
        name: .customLong("google-service-account"),
        help: ArgumentHelp(
            "The service account that pushes, for google-notification. Repeat for more.",
            valueName: "email"))
    var googleServiceAccounts: [String] = []

    @Flag(
        name: .customLong("allow-1024-bit-keys"),
        help: "Accept such keys of other stores, which are not safe from factoring.")
    var allowsLegacyKeys = false

    var isEmpty: Bool {
        googleKeys.isEmpty && huaweiKeys.isEmpty && !allowsLegacyKeys && googleJWKS == nil
            && googleAudiences.isEmpty && googleServiceAccounts.isEmpty
    }

    var arguments: PurchaseKeyArguments {
        PurchaseKeyArguments(
            google: googleKeys, huawei: huaweiKeys, allowsLegacyKeys: allowsLegacyKeys,
            jwks: googleJWKS, audiences: googleAudiences, serviceAccounts: googleServiceAccounts)
    }

    /// Adds the keys to a policy.
    func extend(_ policy: Policy) throws -> Policy {
        var policy = policy
        (policy.google.keys, policy.huawei.keys) = try arguments.read()
        policy.googlePush = try arguments.push()
        return policy
    }
}

/// Keys as the command line names them, each a file or base64.
struct PurchaseKeyArguments: Sendable {
    var google: [String] = []
    var huawei: [String] = []
    var allowsLegacyKeys = false
    /// The file with Google's keys of tokens.
    var jwks: String?
    var audiences: [String] = []
    var serviceAccounts: [String] = []

    /// The accepted pushes of Google Play.
    func push() throws -> PushPolicy {
        PushPolicy(
            keys: try jwks.map { file in
                try PushKeys(file: file) { Failure("--google-jwks: \($0)") }
            }, audiences: audiences, serviceAccounts: serviceAccounts)
    }

    func read() throws -> (google: [PurchaseKey], huawei: [PurchaseKey]) {
        (
            google: try google.map { try key($0, "--google-key") },
            huawei: try huawei.map { try key($0, "--huawei-key") }
        )
    }

    private func key(_ text: String, _ option: String) throws -> PurchaseKey {
        try PurchaseKey(argument: text, allowsLegacySize: allowsLegacyKeys) {
            "\(option): \($0)"
                + (allowsLegacyKeys ? "" : $1 ? ": --allow-1024-bit-keys" : "")
        }
    }
}

extension PurchaseKey {
    /// Reads a key from its base64, or from a file: the base64 of a key begins with MI.
    ///
    /// - Parameter describe: makes the message of a reason; whether the size is the old one.
    init(
        argument: String, allowsLegacySize: Bool, folder: String = "",
        describe: (String, Bool) -> String
    ) throws {
        let isText = argument.hasPrefix("MI") && argument.utf8.count > 60
        let path = argument.hasPrefix("/") ? argument : folder + argument
        let content = isText ? Array(argument.utf8) : try Input.read(path)
        do throws(PurchaseKeyError) {
            try self.init(content, allowsLegacySize: allowsLegacySize)
        } catch {
            throw Failure(describe(error.description, error == .unsupportedSize(bits: 1024)))
        }
    }
}

extension PushKeys {
    /// Reads the keys of a file.
    convenience init(file: String, _ failure: (String) -> Failure) throws {
        let content = try Input.read(file)
        do throws(PushKeysError) {
            try self.init(content)
        } catch {
            throw failure("\(file) can't be used: \(error)")
        }
    }
}
