import ArgumentParser
import Assay
import AssayClient
import AssayCommandLine
import AssayIO
import AssayModels

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify evidence and print the verdict: one item, or many.",
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
              Last month's tokens, one on each line:
                assay verify --kind transaction --bundle-id com.example.game \\
                  --lines tokens.txt > verdicts.jsonl
              JSON lines from a pipe, with the evidence in the member "receipt":
                zcat receipts.jsonl.gz | assay verify --kind auto \\
                  --lines - --member receipt --in-app none
              With the statuses of the signing certificates, which a cron job fetched:
                assay verify --kind transaction --revocation /var/lib/ocsp token.jws
              A folder of evidence:
                assay verify --kind auto ./evidence
              A purchase of Google Play, with the app's licence key:
                assay verify --kind google-purchase --google-key licence-key.txt \\
                  --bundle-id com.example.game purchase.json

            OUTPUT
              One JSON object: verdict and detail always; kind if it is known;
              environment, evidenceKey and certificate if the signature verifies, and
              dedupKey if it is of one purchase; payload if the verdict is VALID.
              Grant once by dedupKey, store evidence by evidenceKey. certificate.notAfter
              is the last second of the signing certificate's validity (RFC 3339).
              Of several files, a folder or --lines: one such object on each line, in
              the order of the input. It begins with line (from 1) or file. An item
              that can't be read has error and detail instead of a verdict. Empty
              lines are skipped. Standard error gets the count of each verdict.

            EXIT STATUS
              0  VALID; of many items, all
              1  refused: verdict and detail say why; of many items, any
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

    @OptionGroup(title: "Revocation") var revocation: RevocationOptions

    @OptionGroup(title: "Other stores") var stores: PurchaseKeyOptions

    @OptionGroup var remote: ServerOptions

    @Option(
        name: .customLong("device-id"),
        help: ArgumentHelp(
            "The expected device. For an app receipt: identifierForVendor or a Mac's address, in "
                + "hexadecimal; repeat it for each address of a Mac. For StoreKit 2: "
                + "AppStore.deviceVerificationID.",
            valueName: "id"))
    var devices: [DeviceArgument] = []

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
            "A compact JWS, the POST body of a notification, the JSON of a Server API answer, a "
                + "receipt (DER or base64), or JSON with another store's purchase and its "
                + "signature; - is standard input. Of a folder, each file.",
            valueName: "file"),
        completion: .file())
    var files: [String] = []

    @Option(
        help: ArgumentHelp(
            "Verify each line of this file: a token, a receipt in base64, or JSON in one line. "
                + "- is standard input.",
            valueName: "file"),
        completion: .file())
    var lines: String?

    @Option(
        help: ArgumentHelp(
            "With --lines: each line is a JSON object, and this member has the evidence.",
            valueName: "name"))
    var member: String?

    func validate() throws {
        try checkInput()
        try checkDevices()
        if format == .verifyReceipt, kind != .appReceipt, kind != .transactionReceipt {
            throw ValidationError(
                "--format verify-receipt needs --kind app-receipt or transaction-receipt")
        }
        try remote.check(accepted)
        try revocation.check(remote)
        try remote.check(stores)
        if remote.server != nil, accepted.at != nil {
            throw ValidationError(
                "--at can't be used with --server: a server uses its own clock")
        }
    }

    private func checkDevices() throws {
        let isReceipt = kind == .appReceipt || kind == .notificationV1
        if isReceipt, devices.contains(where: { ![6, 16].contains($0.octets?.count) }) {
            throw ValidationError(
                "--device-id of an app receipt must be 16 octets (identifierForVendor) or 6 (a "
                    + "Mac's address) in hexadecimal")
        }
        if devices.count > 1, !isReceipt {
            throw ValidationError(
                "several --device-id need --kind app-receipt: other evidence has one device")
        }
        guard devices.count <= Expectations.otherDeviceLimit + 1 else {
            throw ValidationError(
                "write at most \(Expectations.otherDeviceLimit + 1) times --device-id")
        }
    }

    private func checkInput() throws {
        guard lines != nil || !files.isEmpty else {
            throw ValidationError(
                "Missing expected argument '<file>': name files or folders, or --lines FILE")
        }
        guard lines == nil || files.isEmpty else {
            throw ValidationError("--lines takes the place of files: leave out \"\(files[0])\"")
        }
        if member != nil, lines == nil {
            throw ValidationError("--member names a member of JSON lines: add --lines FILE")
        }
        if lines != nil || files.count > 1, format != .json { throw Self.onlyJSON }
    }

    private static let onlyJSON = ValidationError(
        "several items are reported as lines of JSON: leave out --format")

    func run() async throws {
        if let lines { return try await verifyAll(.lines(lines)) }
        if files.count > 1 || BulkInput.isFolder(files[0]) {
            if format != .json { throw Failure(Self.onlyJSON.message) }
            return try await verifyAll(BulkInput(files: files))
        }
        try await verifyOne(files[0])
    }

    private func verifyAll(_ input: BulkInput) async throws {
        let bulk = BulkVerification(input: input, member: member, question: try question())
        guard let server = remote.server else {
            return try await bulk.run(try verifier())
        }
        try await bulk.run(
            server, remote.tls.context(for: server), app: remote.app ?? "",
            // Bulk work is served after all other requests.
            timeout: remote.timeout ?? ClientOptions.longestTimeout)
    }

    private func verifier() throws -> Verifier {
        Verifier(
            trust: try accepted.store(), revocation: try revocation.statuses(at: accepted.now))
    }

    private func question() throws -> EvidenceQuestion {
        var policy = try stores.extend(accepted.policy)
        policy.revocation = revocation.policy
        return EvidenceQuestion(
            kind: kind, accepted: .init(accepted, policy: policy), devices: devices,
            inApp: inApp, isRemote: remote.server != nil)
    }

    private func verifyOne(_ file: String) async throws {
        let evidence = try Input.evidence(file)
        let report = try await report(on: evidence, try question())
            .adding(OptionHint.text(file: file, evidence))
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

    private func report(
        on evidence: [UInt8], _ question: EvidenceQuestion
    ) async throws -> VerificationReport {
        let named = kind.kind ?? Verifier.likelyKind(of: evidence.span)
        // Evidence that is refused before its kind matters still gets its verdict.
        let answer = try await answer(evidence, as: named ?? .transaction, question)
        return question.finished(answer, isOfUnknownKind: named == nil)
    }

    private func answer(
        _ evidence: [UInt8], as kind: EvidenceKind, _ question: EvidenceQuestion
    ) async throws -> VerificationReport {
        if let server = remote.server {
            return try await RemoteVerification(
                server: server, tls: remote.tls.context(for: server),
                timeout: remote.answerTimeout
            )
            .report(
                on: evidence, as: kind, expecting: question.expectations(of: kind),
                app: remote.app ?? "",
                inApp: inApp, isVerifyReceipt: format == .verifyReceipt)
        }
        let now = accepted.now
        let verification = try verifier().verify(
            evidence.span, as: kind, policy: question.accepted.policy,
            expecting: question.expectations(of: kind),
            inApp: inApp, at: now)
        var report = VerificationReport(verification)
        if format == .verifyReceipt {
            report.verifyReceipt = verifyReceiptResponse(for: verification, requestDate: now)
        }
        return report
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
                reason
            }
        return Failure("\(file) can't be pinned: \(fault)")
    }

    /// Returns this store with a root of HarmonyOS pinned.
    func pinning(harmonyFile file: String) throws -> TrustStore {
        let content = try Input.read(file)
        do throws(TrustStoreError) {
            return try pinningHarmony(content)
        } catch {
            if error.reason == .notACertificate {
                throw Self.notPinned(file, content, error.message)
            }
            throw Failure("\(file) can't be pinned: it is not a root that signs by RSA or ECDSA")
        }
    }

    /// Returns this store with those of the files pinned for HarmonyOS that are authorities. A
    /// certificate that is none is of Xcode.
    func pinningHarmony(authorities files: [String]) throws -> TrustStore {
        var store = self
        for file in files {
            if let harmony = try? store.pinningHarmony(Input.read(file)) { store = harmony }
        }
        return store
    }

    /// Returns this store with the certificate of a file pinned.
    func pinning(file: String, development: Bool = false) throws -> TrustStore {
        let content = try Input.read(file)
        do throws(TrustStoreError) {
            return try pinning(content, development: development)
        } catch {
            if error.reason == .notACertificate {
                throw Self.notPinned(file, content, error.message)
            }
            throw Failure("\(file) can't be pinned: \(error)")
        }
    }
}
