import ArgumentParser
import AssayCommandLine
import AssayIO
import AssayMint

struct MintCACommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ca",
        abstract: "Make a development authority of the same form as Apple's.",
        discussion: """
            Writes root.pem, intermediate.pem and leaf.pem, each with its private key
            (mode 0600), and receipt-root.pem and so on with RSA keys, for receipts of
            StoreKit 1. Pin root.pem, or receipt-root.pem, to trust what the authority
            signs. Never replaces a file. If a file can't be written, the others are
            removed.

            EXAMPLES
              assay mint ca ./ca
              assay verify --kind transaction --root ./ca/root.pem token.jws
            """)

    @Option(
        help: ArgumentHelp(
            "The start of its validity, \(DateArgument.help). (default: now)", valueName: "time"))
    var date: DateArgument?

    @Argument(
        help: ArgumentHelp("The folder to write to; created if it does not exist."),
        completion: .directory)
    var folder: String

    func run() throws {
        let files: [DevelopmentCA.File]
        do throws(MintError) {
            let now = date?.timestamp ?? .now
            files = try DevelopmentCA.make(at: now).files() + ReceiptCA.make(at: now).files()
        } catch {
            throw Failure("can't make an authority: \(error.message)")
        }
        try write(files)
    }

    /// Writes all of the files or none: an incomplete authority can't sign and blocks the next
    /// run.
    private func write(_ files: [DevelopmentCA.File]) throws {
        let isNewFolder = try Folder.make(folder, mode: 0o700)
        var written: [String] = []
        do {
            for file in files {
                try Folder.add(
                    file.name, file.contents, to: folder, mode: file.secret ? 0o600 : 0o644)
                written.append(file.name)
            }
        } catch {
            for name in written { try? SystemFile.remove(folder + "/" + name) }
            if isNewFolder { try? SystemFile.removeFolder(folder) }
            throw error
        }
    }
}

/// Creates the folders that the tool writes into.
enum Folder {
    /// - Returns: true if the folder is new.
    @discardableResult
    static func make(_ path: String, mode: Int32 = 0o755) throws -> Bool {
        do throws(LoopError) {
            return try SystemFile.createFolder(path, mode: mode)
        } catch {
            throw Failure("can't make the folder \(path): \(error)")
        }
    }

    static func add(
        _ name: String, _ content: [UInt8], to folder: String, mode: Int32 = 0o644
    ) throws {
        try Output.file(folder + "/" + name, content, mode: mode, instead: "folder")
    }
}
