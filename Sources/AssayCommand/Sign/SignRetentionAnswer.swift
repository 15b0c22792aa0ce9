import ArgumentParser
import Assay
import AssayCommandLine
import AssayModels
import AssayStore

struct SignRetentionAnswer: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retention-answer",
        abstract: "Verify a retention request of the App Store, and sign the answer to it.",
        discussion: """
            The answer has one of Apple's members: message, alternateProduct,
            promotionalOffer (with offerIdentifier, and productId and version where they
            are not the request's and 2), or advancedCommerceInfo (with request).

            EXAMPLES
              echo '{"promotionalOffer": {"offerIdentifier": "stay-50",
                "messageIdentifier": "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"}}' |
              assay sign retention-answer --bundle-id com.example.game \\
                --app-apple-id 1234567890 --answer - request.json
            """)

    @OptionGroup var options: SignOptions

    @OptionGroup var accepted: EvidenceOptions

    @Option(
        help: ArgumentHelp("The answer in JSON; - is standard input.", valueName: "file"),
        completion: .file())
    var answer: String

    @Argument(
        help: ArgumentHelp(
            "The request as the App Store posted it, or its JWS.", valueName: "file"),
        completion: .file())
    var request: String

    func validate() throws {
        guard accepted.bundleId != nil else {
            throw ValidationError("name the app: --bundle-id, which is part of each signature")
        }
        guard accepted.appAppleId != nil else {
            throw ValidationError(
                "name the app: --app-apple-id, because a retention request names no bundle id")
        }
        guard answer != "-" || request != "-" else {
            throw ValidationError("standard input is either the answer or the request")
        }
    }

    func run() throws {
        let choice = try Input.read(answer, limit: StoreLimits.signedBytes)
        let made = try SignOptions.value { () throws(StoreError) in
            try RetentionAnswer(json: choice)
        }
        let evidence = try Input.read(request, limit: Limits.notificationBytes)
        let signer = try options.signer(of: accepted.bundleId ?? "")
        let verifier = Verifier(trust: try accepted.store())
        let verification = verifier.verify(
            evidence.span, as: .realtimeRequest, policy: accepted.policy,
            // The policy has Apple's rule, by which the id decides in Production alone.
            expecting: Expectations(appAppleId: accepted.appAppleId), at: accepted.now)
        guard case .realtimeRequest(let verified) = verification.evidence,
            verification.verdict == .valid
        else {
            Output.note(
                "assay: the request is \(verification.verdict.name): "
                    + TerminalText.escaped(verification.detail))
            throw ExitStatus.refused
        }
        // In the sandbox the policy accepts a request that names no app.
        guard verified.payload.appAppleId == accepted.appAppleId else {
            Output.note("assay: the request names no app: its appAppleId is 0")
            throw ExitStatus.refused
        }
        try Output.line(
            json: try SignOptions.value { () throws(StoreError) in
                try signer.body(of: made, to: verified.payload)
            })
    }
}
