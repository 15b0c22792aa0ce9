import ArgumentParser
import Assay
import AssayIO
import AssayModels

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify one item of evidence and print the verdict.",
        discussion: """
            EXAMPLES
              A transaction that your app sent you:
                assay verify --kind transaction --bundle-id com.example.game token.jws
              A page of a customer's history, as the App Store Server API answered it:
                assay verify --kind server-answer --bundle-id com.example.game \\
                  history.json
              A sandbox notification as the App Store posted it, with readable output:
                assay verify --kind notification --environment Sandbox \\
                  --format text body.json
              Evidence that a development authority signed, from a pipe:
                assay mint transaction --ca ./ca |
                  assay verify --kind transaction --root ./ca/root.pem -
              Xcode's StoreKit testing: pin the certificate that Xcode saved:
                assay verify --kind app-transaction --environment Xcode \\
                  --root StoreKitTestCertificate.cer token.jws
              A StoreKit 1 receipt of one device, in the format of verifyReceipt:
                assay verify --kind app-receipt --device-id 7EB61F70-E56D-46F1-... \\
                  --in-app latest --format verify-receipt receipt.b64
              The verdict of a running server:
                assay verify --kind transaction \\
                  --server unix:/run/assay/assay.sock token.jws

            OUTPUT
              One JSON object: verdict and detail always; kind if it is known;
              environment, dedupKey and certificate if the signature verifies;
              payload if the verdict is VALID. certificate.notAfter is the last
              second of the signing certificate's validity (RFC 3339).

            EXIT STATUS
              0  VALID
              1  refused: verdict and detail say why
              2  wrong usage, or a file or server could not be read or reached
            """)

    @Option(
        help: ArgumentHelp(
            "The kind of the evidence: \(KindChoice.names). auto detects it from the payload.",
            valueName: "kind"),
        completion: .choices(KindChoice.self),
        transform: choiceArgument)
    var kind: KindChoice

    @OptionGroup var accepted: EvidenceOptions

    @OptionGroup var remote: ServerOptions

    @Option(
        name: .customLong("device-id"),
        help: ArgumentHelp(
            "The expected device. For an app receipt: identifierForVendor or a Mac's address, in "
                + "hexadecimal. For StoreKit 2: AppStore.deviceVerificationID.",
            valueName: "id"))
    var device: DeviceArgument?

    @Option(
        help: ArgumentHelp(
            "The in-app records of an app receipt to print: all, latest (of each original "
                + "transaction), none, or product=ID. All records are checked. (default: all)",
            valueName: "records"),
        completion: .list(["all", "latest", "none", "product="]),
        transform: inAppArgument)
    var inApp: InAppSelection = .all

    @Option(
        help: ArgumentHelp(
            "json; text, a list of the checks and the main fields; verify-receipt, the answer of "
                + "Apple's verifyReceipt endpoint, for receipts. (default: json)",
            valueName: "format"),
        completion: .choices(OutputFormat.self),
        transform: choiceArgument)
    var format: OutputFormat = .json

    @Argument(
        help: ArgumentHelp(
            "A compact JWS, the POST body of a notification, the JSON of a Server API answer, or a "
                + "receipt (DER or base64); - is standard input.",
            valueName: "file"),
        completion: .file())
    var file: String

    func validate() throws {
        if let device, kind == .appReceipt || kind == .notificationV1,
            ![6, 16].contains(device.octets?.count)
        {
            throw ValidationError(
                "--device-id of an app receipt must be 16 octets (identifierForVendor) or 6 (a "
                    + "Mac's address) in hexadecimal")
        }
        if format == .verifyReceipt, kind != .appReceipt, kind != .transactionReceipt {
            throw ValidationError(
                "--format verify-receipt needs --kind app-receipt or transaction-receipt")
        }
        try remote.check(accepted)
        if remote.server != nil, accepted.at != nil {
            throw ValidationError(
                "--at can't be used with --server: a server uses its own clock")
        }
    }

    func run() async throws {
        let evidence = try Input.evidence(file)
        let report = try await report(on: evidence)
        switch format {
        case .json: try Output.line(json: report.json)
        case .text:
            try Output.line(
                report.text(
                    of: .init(
                        namesBundle: accepted.bundleId != nil,
                        namesApp: accepted.appAppleId != nil,
                        isRemote: remote.server != nil)))
        case .verifyReceipt: try Output.line(json: report.verifyReceipt ?? [])
        }
        guard report.verification.verdict == .valid else { throw ExitStatus.refused }
    }

    private func report(on evidence: [UInt8]) async throws -> VerificationReport {
        let named = kind.kind ?? Verifier.likelyKind(of: evidence.span)
        // Evidence that is refused before its kind matters still gets its verdict.
        var answer = try await answer(evidence, as: named ?? .transaction)
        if answer.verification.verdict == .untrustedChain {
            answer.verification.detail +=
                remote.server == nil
                ? "; to trust another root, add --root FILE"
                : "; a server trusts the roots that 'assay serve --root FILE' pins"
        }
        return named == nil ? answer.ofUnknownKind : answer
    }

    private func answer(
        _ evidence: [UInt8], as kind: EvidenceKind
    ) async throws -> VerificationReport {
        if let server = remote.server {
            return try await RemoteVerification(
                server: server, tls: remote.tls.context(for: server),
                timeout: remote.answerTimeout
            )
            .report(
                on: evidence, as: kind, expecting: expectations(of: kind), app: remote.app ?? "",
                inApp: inApp, isVerifyReceipt: format == .verifyReceipt)
        }
        let now = accepted.now
        let verification = Verifier(trust: try accepted.store()).verify(
            evidence.span, as: kind, policy: accepted.policy, expecting: expectations(of: kind),
            inApp: inApp, at: now)
        var report = VerificationReport(verification)
        if format == .verifyReceipt {
            report.verifyReceipt = verifyReceiptResponse(for: verification, requestDate: now)
        }
        return report
    }

    private func expectations(of kind: EvidenceKind) -> Expectations {
        var expectations = Expectations(
            bundleId: accepted.bundleId, appAppleId: accepted.appAppleId,
            environments: accepted.acceptedEnvironments)
        if kind == .appReceipt || kind == .notificationV1 {
            expectations.deviceIdentifier = device.map { $0.octets ?? [] }
        } else {
            expectations.deviceVerificationId = device?.text
        }
        return expectations
    }
}

extension TrustStore {
    /// Returns this store with the intermediate of a file added.
    func adding(file: String) throws -> TrustStore {
        let content = try Input.read(file)
        do throws(TrustStoreError) {
            return try adding(intermediate: content)
        } catch {
            throw Failure("\(file) is not an intermediate for the chains of receipts: \(error)")
        }
    }

    /// The error for a file that is not one certificate. Names common mistakes.
    private static func notPinned(_ file: String, _ content: [UInt8], _ reason: String) -> Failure {
        let text = String(decoding: content.prefix(1 << 20), as: UTF8.self)
        let count = text.ranges(of: "-----BEGIN CERTIFICATE-----").count
        let fault =
            if content.isEmpty {
                "it is empty"
            } else if text.contains("PRIVATE KEY-----") {
                "it contains a private key"
            } else if count > 1 {
                "it contains \(count) certificates; write each to a file of its own"
            } else {
                "it is not one X.509 certificate, PEM or DER: \(reason)"
            }
        return Failure("\(file) can't be pinned: \(fault)")
    }

    /// Returns this store with the certificate of a file pinned.
    func pinning(file: String, development: Bool = false) throws -> TrustStore {
        let content = try Input.read(file)
        do throws(TrustStoreError) {
            return try pinning(content, development: development)
        } catch .notACertificate(let reason) {
            throw Self.notPinned(file, content, reason)
        } catch .unsupportedKey {
            throw Failure(
                "\(file) can't be pinned: its key is of another type than RSA, P-256 and P-384")
        }
    }
}
