import Assay
import AssayIO
import AssayModels
import AssayServer
import AssayStore

/// `[app.keys]` of an app entry: the keys that sign for Apple, by names of the operator.
struct SigningSettings {
    private(set) var keys: [String: StoreKey] = [:]
    /// The name of the key for requests that name none.
    private(set) var standard = ""

    /// Reads the table; notes problems in it. Nil if there are some.
    init?(_ table: ConfigurationTable, folder: String) {
        let named = table.string("default")
        var isComplete = true
        for name in table.names where name != "default" {
            guard let entry = table.table(name) else {
                isComplete = false
                continue
            }
            keys[name] = StoreKey(
                entry, file: "file", folder: folder, page: "docs/signing.md")
            if keys[name] == nil { isComplete = false }
            entry.finish()
        }
        if table.names.allSatisfy({ $0 == "default" }) {
            table.note(
                "default", "no key beside it",
                "name the .p8 file of App Store Connect in a table such as [app.keys.main]")
            isComplete = false
        }
        table.finish()
        guard isComplete else { return nil }
        guard let standard = named ?? (keys.count == 1 ? keys.keys.first : nil) else {
            table.note("default", "missing beside several keys", "name the key of most requests")
            return nil
        }
        guard keys[standard] != nil else {
            table.note(
                "default", "\"\(standard)\" is no key of this table",
                Suggestion.remedy(for: standard, among: keys.keys.sorted()))
            return nil
        }
        self.standard = standard
    }

    /// What `serve --check` says about it.
    var summary: String {
        let ids = keys.sorted { $0.key < $1.key }.map { name, key in
            "\(name) (\(key.keyId))" + (name == standard && keys.count > 1 ? ", default" : "")
        }
        return "signs with " + ids.joined(separator: ", ")
    }

    /// The signer of an app entry.
    func signer(for app: AppSettings) -> KeySigner? {
        guard let bundleId = app.bundleId else { return nil }
        var signers: [String: StoreSigner] = [:]
        for (name, key) in keys { signers[name] = try? StoreSigner(bundleId: bundleId, key: key) }
        guard let standard = signers[standard] else { return nil }
        return KeySigner(signers, standard: standard, appAppleId: app.appAppleId)
    }
}

/// Has `AssayStore` sign for the server.
final class KeySigner: RequestSigner {
    private let signers: [String: StoreSigner]
    private let standard: StoreSigner
    let appAppleId: Int64?

    init(_ signers: [String: StoreSigner], standard: StoreSigner, appAppleId: Int64?) {
        self.signers = signers
        self.standard = standard
        self.appAppleId = appAppleId
    }

    private func signer(_ key: String?) throws(SigningFailure) -> StoreSigner {
        guard let key else { return standard }
        guard let signer = signers[key] else {
            throw .invalidRequest("key is not the name of a key of this app entry")
        }
        return signer
    }

    func sign(
        _ kind: SignatureKind, _ json: [UInt8], key: String?
    ) throws(SigningFailure) -> [UInt8] {
        let signer = try signer(key)
        let kind: SigningRequest.Kind =
            switch kind {
            case .promotionalOffer: .promotionalOffer
            case .introductoryOffer: .introductoryOffer
            case .advancedCommerce: .advancedCommerce
            }
        do throws(StoreError) {
            return try signer.answer(to: SigningRequest(kind, json: json))
        } catch {
            throw SigningFailure(error)
        }
    }

    func retentionAnswer(
        _ json: [UInt8], key: String?
    ) throws(SigningFailure) -> RetentionResponder {
        let signer = try signer(key)
        let answer: RetentionAnswer
        do throws(StoreError) {
            answer = try RetentionAnswer(json: json)
        } catch {
            throw SigningFailure(error)
        }
        let appAppleId = appAppleId
        return { request throws(SigningFailure) in
            // In the sandbox a policy accepts evidence without an app. An answer is signed only for
            // a request of this one.
            guard request.appAppleId == appAppleId else {
                throw .invalidRequest(
                    "the request names no app, or another one: its appAppleId is "
                        + "\(request.appAppleId)")
            }
            do throws(StoreError) {
                return try signer.body(of: answer, to: request)
            } catch {
                throw SigningFailure(error)
            }
        }
    }
}

extension SigningFailure {
    fileprivate init(_ error: StoreError) {
        self =
            error.reason == .unusableKey
            ? .unusableKey(error.message) : .invalidRequest(error.message)
    }
}
