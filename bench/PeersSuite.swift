import Assay
import AssayMint
import AssayModels
import Foundation

/// The speed of other programs at the same work on the same machine, as a comparison and not as a
/// threshold.
enum PeersSuite {
    static func run(
        isQuick: Bool, withPeers: Bool
    ) throws -> (rows: [Row], omissions: [Omission]) {
        var (rows, omissions): ([Row], [Omission]) = ([], [])
        do {
            rows.append(try openSSLSpeed())
        } catch {
            omissions.append(Omission("openssl speed ecdsap256", "\(error)"))
        }
        guard withPeers else {
            omissions.append(
                Omission("libraries from PyPI", "add --peers to install and measure them"))
            return (rows, omissions)
        }
        let folder = try evidence()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        rows += try own(folder)
        let (others, problems) = libraries(folder, seconds: isQuick ? 1 : 5)
        return (rows + others, omissions + problems)
    }

    // MARK: openssl speed

    private static func openSSLSpeed() throws -> Row {
        let output = try Command.run(
            "/usr/bin/openssl", ["speed", "-seconds", "2", "-mr", "ecdsap256"])
        // +F5:NUMBER:BITS:SECONDS TO SIGN:SECONDS TO VERIFY; some versions print rates instead.
        guard let line = output.split(separator: "\n").last(where: { $0.hasPrefix("+F") }),
            let last = line.split(separator: ":").last.flatMap({ Double($0) }), last > 0
        else { throw AssayProcess.Failed(description: "no result in its output") }
        return Row(
            name: "openssl speed ecdsap256, verify", value: last < 1 ? 1 / last : last, spread: 0,
            unit: "/s", isMoreBetter: true, rounds: 1)
    }

    // MARK: The same evidence

    /// Creates a folder with one item of each kind, and the roots.
    private static func evidence() throws -> String {
        let folder = try AssayProcess.authority()
        for (name, arguments) in [
            ("token.jws", ["transaction"]), ("receipt.txt", ["receipt", "--size", "64KB"]),
        ] {
            let data = try AssayProcess.run(
                processors: nil,
                ["mint"] + arguments + ["--environment", "Sandbox", "--ca", folder])
            try data.write(to: URL(fileURLWithPath: folder + "/" + name))
        }
        return folder
    }

    /// Measures Assay's library with one item at a time on one thread, like the other libraries.
    private static func own(_ folder: String) throws -> [Row] {
        func read(_ name: String) throws -> [UInt8] {
            var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
            while bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
            return bytes
        }
        func root(_ name: String) throws -> [UInt8] {
            let lines = String(decoding: try read(name), as: UTF8.self).split(separator: "\n")
            return Array(
                Data(base64Encoded: lines.filter { !$0.hasPrefix("-") }.joined()) ?? Data())
        }
        let trust = try TrustStore.apple.pinning(root("root.pem"), development: true)
            .pinning(root("receipt-root.pem"), development: true)
        let verifier = Verifier(trust: trust, keyTables: .withSignatures)
        let policy = Policy(bundleId: "com.example.game", environments: [.sandbox])
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        var measurements = try [
            ("Assay in process, transaction", "token.jws", EvidenceKind.transaction),
            ("Assay in process, 64 KB receipt", "receipt.txt", .appReceipt),
        ].map { name, file, kind in
            let bytes = try read(file)
            func answer() -> Verification {
                verifier.verify(bytes.span, as: kind, policy: policy, at: now)
            }
            let first = answer()
            guard first.verdict == .valid else {
                throw AssayProcess.Failed(description: "\(file): \(first.detail)")
            }
            return Measurement(name) { precondition(answer().verdict == .valid) }
        }
        Measurement.rounds(7, of: .milliseconds(100), &measurements)
        return measurements.map { measurement in
            let rates = measurement.samples.map { 1e6 / $0 }
            return Row(
                name: measurement.name, value: rates.median, spread: rates.spread, unit: "/s",
                isMoreBetter: true, rounds: rates.count)
        }
    }

    // MARK: Libraries from PyPI

    private struct Line: Decodable {
        var name: String
        var rates: [Double]?
        var problem: String?
    }

    private static let home = "bench/results/peers"

    private static func libraries(
        _ folder: String, seconds: Int
    ) -> (rows: [Row], omissions: [Omission]) {
        do {
            let python = home + "/venv/bin/python"
            if !FileManager.default.fileExists(atPath: home + "/ready-2") {
                Bench.progress("  installing libraries from PyPI into \(home)")
                _ = try Command.run("/usr/bin/python3", ["-m", "venv", home + "/venv"])
                _ = try Command.run(
                    python,
                    [
                        "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                        "app-store-server-library", "apple-purchase-receipt-verifier",
                        "ipp-crypto", "intel-cmplr-lib-rt",
                    ])
                try Data().write(to: URL(fileURLWithPath: home + "/ready-2"))
            }
            let output = try Command.run(python, ["bench/peers.py", folder, "\(seconds)"])
            var (rows, omissions): ([Row], [Omission]) = ([], [])
            for text in output.split(separator: "\n") {
                let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
                if let rates = line.rates {
                    rows.append(
                        Row(
                            name: line.name, value: rates.median, spread: rates.spread, unit: "/s",
                            isMoreBetter: true, rounds: rates.count))
                } else {
                    omissions.append(Omission(line.name, line.problem ?? "no reason given"))
                }
            }
            return (rows, omissions)
        } catch {
            return ([], [Omission("libraries from PyPI", "\(error)")])
        }
    }
}

/// Runs a program of the system.
enum Command {
    static func run(_ path: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let (output, messages) = (Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = messages
        // Both pipes need a reader, otherwise the program would block on a full pipe.
        let reader = Thread {
            _ = messages.fileHandleForReading.readDataToEndOfFile()
        }
        try process.run()
        reader.start()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw AssayProcess.Failed(
                description: "\(path) ended with \(process.terminationStatus)")
        }
        return String(decoding: data, as: UTF8.self)
    }
}
