import ArgumentParser
import Assay
import AssayCommandLine
import AssayEntitlements
import AssayIO
import AssayModels
import AssayServer
import AssayStore

/// How much of a list to read.
struct ApiWalk {
    var isAll = false
    var mostPages: Int?
    /// Where to begin.
    var revision: String?
}

/// Reads a list or a single answer, and prints what came.
struct ApiReading {
    let options: ApiOptions
    var walk = ApiWalk()
    /// Whether the answers are about one customer, so that entitlements can be decided.
    var isOneCustomer = true

    /// The time of a list of many pages, unless the user names another one.
    private static let timeOfLists = Duration.seconds(600)

    func run(_ make: () throws(StoreError) -> StoreCall) async throws {
        let call = try Self.call(make)
        let client = try options.client()
        defer { client.close() }
        let folder = try options.save.map { try ApiFolder($0) }
        var printer = ApiPrinter(
            isJSON: options.json, isOneCustomer: isOneCustomer, at: options.at?.timestamp)
        let progress = ApiProgress(isOn: walk.isAll)
        let pages = client.pages(
            call, from: walk.revision, limit: walk.mostPages,
            timeout: options.timeout ?? (walk.isAll ? Self.timeOfLists : nil))
        do {
            for try await page in pages {
                try folder?.save(page.body, call.name)
                progress.clear()
                try printer.print(page)
                progress.show(printer)
                if !walk.isAll { break }
            }
        } catch let error as StoreError {
            progress.clear()
            try Self.fail(error)
        }
        progress.clear()
        try printer.finish()
    }

    static func call(_ make: () throws(StoreError) -> StoreCall) throws -> StoreCall {
        do throws(StoreError) { return try make() } catch { throw Failure(error.description) }
    }

    /// Reports an error, with the exit status that its kind has.
    static func fail(_ error: StoreError) throws -> Never {
        guard error.isRefusal else { throw Failure(error.description) }
        Output.note("assay: " + TerminalText.escaped(error.description))
        throw ExitStatus.refused
    }
}

extension StoreError {
    /// Whether the App Store refused the request as such, or evidence was refused. What another key
    /// or another time can change is no refusal.
    fileprivate var isRefusal: Bool {
        guard let status = refusal?.httpStatus else { return reason == .unverified }
        return (400...499).contains(status) && ![401, 429].contains(status)
    }
}

/// A folder of answers, a file each.
final class ApiFolder {
    private let path: String
    private var count = 0

    init(_ path: String) throws {
        self.path = path.hasSuffix("/") ? path : path + "/"
        do throws(LoopError) {
            try SystemFile.createFolder(path, mode: 0o700)
        } catch {
            throw Failure("can't make the folder \(path): \(error)")
        }
    }

    /// Writes `history-0001.json` and so on. Never replaces a file.
    func save(_ body: [UInt8], _ name: String) throws {
        count += 1
        let digits = String(count)
        let number = String(repeating: "0", count: max(4 - digits.count, 0)) + digits
        // Purchases of a customer are private, so only the user can read the file.
        try Output.file(
            path + "\(name)-\(number).json", body, mode: 0o600, instead: "folder")
    }
}

/// The progress of a long list, on a terminal.
struct ApiProgress {
    private let isShown: Bool

    init(isOn: Bool) {
        isShown = isOn && StandardError.isTerminal && !SystemFile.isStandardOutputTerminal
    }

    func show(_ printer: ApiPrinter) {
        guard isShown else { return }
        StandardError.write("\(printer.pages) pages, \(printer.items) items")
    }

    func clear() {
        // To the start of the line, and erase it.
        if isShown { StandardError.write("\r\u{1b}[K") }
    }
}
