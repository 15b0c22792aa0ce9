import AssayBytes
import AssayIO
import AssayModels

/// The inputs of a store in a file, one a line, so that a later process can go on with the store.
final class StoreJournal: Sendable {
    /// What earlier processes have written; none in a new journal.
    let inputs: [StoreInput]
    private let file: AppendedFile

    /// Opens the journal of a folder. Makes the folder if it is missing.
    init(_ folder: String, _ settings: StoreSettings) throws(LocalStoreError) {
        let path = folder + "/store.jsonl"
        do throws(LoopError) {
            try SystemFile.createFolder(folder, mode: 0o700)
            file = try AppendedFile(path, mode: 0o600)
        } catch {
            throw .unusable("can't keep the store in \(folder): \(error)")
        }
        guard file.claim() else {
            throw .unusable("another process has the store in \(folder)")
        }
        let content: [UInt8]?
        do throws(LoopError) {
            content = try SystemFile.read(path, limit: LocalStoreLimits.journalBytes)
        } catch {
            throw .unusable("can't read \(path): \(error)")
        }
        guard let content else {
            throw .unusable(
                "\(path) has more than \(LocalStoreLimits.journalBytes >> 20) MiB: remove it")
        }
        // A process that was killed can have written a part of its last line.
        let end = (content.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
        inputs = try Self.inputs(content[..<end], path, settings)
        do throws(LoopError) {
            try file.truncate(to: end)
            if end == 0 { try file.append(Self.header(settings)) }
        } catch {
            throw .unusable("can't write \(path): \(error)")
        }
    }

    func append(_ input: StoreInput) throws(LoopError) { try file.append(input.line) }

    private static func inputs(
        _ content: ArraySlice<UInt8>, _ path: String, _ settings: StoreSettings
    ) throws(LocalStoreError) -> [StoreInput] {
        let lines = content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard let first = lines.first, !content.isEmpty else { return [] }
        guard first.elementsEqual(header(settings).dropLast()) else {
            throw .unusable(
                "\(path) is of a store with another app or start, or of another version of "
                    + "Assay: use the same --bundle-id, --app-apple-id, --start and --ca, or "
                    + "another folder")
        }
        var inputs: [StoreInput] = []
        for (index, line) in lines.enumerated().dropFirst().dropLast() {
            guard let input = StoreInput(line: line) else {
                throw .unusable("\(path), line \(index + 1), is not an entry of a store")
            }
            inputs.append(input)
        }
        return inputs
    }

    /// The first line: what all later ones depend on.
    private static func header(_ settings: StoreSettings) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("version", AssayVersion.current)
            object.member("bundleId", settings.bundleId)
            object.member("appAppleId", settings.appAppleId)
            object.member("start", settings.start.milliseconds)
        }
        return writer.text + [UInt8(ascii: "\n")]
    }
}
