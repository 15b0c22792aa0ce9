import ArgumentParser
import Assay
import AssayModels

struct InspectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show what evidence contains, UNVERIFIED.",
        discussion: """
            Shows the header, the certificates and the payload of evidence of any kind,
            what kind it seems to be, and what could not be read. Checks no signature,
            chain, date or app: trust nothing that it shows. Reads damaged evidence as
            far as possible.

            EXAMPLES
              A token, a notification's body, a receipt or a Server API answer:
                assay inspect token.jws
              As JSON, from a pipe:
                pbpaste | assay inspect --format json -

            OUTPUT
              With --format json: verified (always false), warning, format, likelyKind,
              bytes, unverifiedHeader, unverifiedCertificates, unverifiedPayload or
              unverifiedPayloadText, nested (evidence in members of the payload) and
              problems.

            EXIT STATUS
              0  shown, whatever it is
              2  wrong usage, or a file could not be read
            """)

    @Option(
        help: ArgumentHelp("text, or json. (default: text)", valueName: "format"),
        completion: .choices(InspectFormat.self),
        transform: choiceArgument)
    var format: InspectFormat = .text

    @Argument(
        help: ArgumentHelp("A file of evidence; - is standard input.", valueName: "file"),
        completion: .file())
    var file: String

    func run() throws {
        let evidence = try Input.evidence(file)
        let inspection = Inspection(evidence.span)
        switch format {
        case .json: try Output.line(json: inspection.json)
        case .text: try Output.line(inspection.text)
        }
    }
}

/// The values of `inspect --format`.
enum InspectFormat: String, Choice {
    case text, json
}
