import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import Glibc
import Synchronization
import TestSupport
import Testing

/// `assay serve` when the system has no more memory for it.
@Suite(
    .ownThread, .serialized, .timeLimit(.minutes(5)),
    .disabled(
        if: Sanitizer.isOn, "a sanitizer takes more addresses than a limit of them could leave"))
struct MemoryTests {
    /// A genuine receipt, so that any other verdict is wrong; larger than the memory that is
    /// already free.
    private static let receipt = Result { () throws -> (root: [UInt8], bytes: [UInt8]) in
        let authority = try ReceiptCA.make(at: Present.now)
        var sample = ReceiptSample(bundleId: Minted.bundleId, creationDate: Present.now)
        sample.records = .bytes(8_000_000)
        let root = PEM.encode(authority.rootCertificate, label: "CERTIFICATE")
        return (root, try ReceiptMinter(authority.chain).sign(sample.payload))
    }

    private static func frames() throws -> [UInt8] {
        let sandbox = Expectations(environments: [.sandbox])
        let token = try Present.token.get()
        var frames: [UInt8] = []
        for id in 1...40 as ClosedRange<UInt64> {
            frames += RawClient.verify(id, .transaction, token, expecting: sandbox)
        }
        return frames
            + RawClient.verify(41, .appReceipt, try receipt.get().bytes, expecting: sandbox)
    }

    /// Sends requests until the server is gone or the time is over.
    private static func ask(
        _ path: String, _ frames: [UInt8], until end: ContinuousClock.Instant,
        _ note: (ResponseHead) -> Void
    ) {
        while ContinuousClock.now < end {
            // The server is gone when it refuses a connection or closes within an exchange.
            guard let client = try? RawClient(.unix(path: path)),
                (try? client.send(frames)) != nil
            else { return }
            for _ in 1...41 {
                guard let answer = try? client.receive() else { return }
                note(answer.head)
            }
        }
    }

    @Test(
        "line 70: out of memory: a last line reports it, and no verdict is wrong",
        .enabled(if: TimedTests.areEnabled),
        arguments: [0, 1, 3, 8, 20, 100])
    func shortage(megabytes: Int) throws {
        let (root, receiptRoot) = (temporaryPath("root"), temporaryPath("root"))
        let path = temporaryPath("short")
        try Present.writeRoot(root)
        try SystemFile.create(receiptRoot, Self.receipt.get().root, mode: 0o600)
        // Threads share one arena. Otherwise each would reserve 64 MB of address space.
        let server = try ServerProcess(
            [
                "--listen", "unix:\(path)", "--root", root, "--root", receiptRoot, "--workers", "2",
            ], environment: ["MALLOC_ARENA_MAX": "1"])
        try #require(!server.ready.isEmpty, "\(server.log)")
        try server.limitAddresses(to: #require(server.addressBytes) + megabytes << 20)

        let frames = try Self.frames()
        let end = ContinuousClock.now + .seconds(4)
        let state = Locked((valid: 0, refused: 0, wrong: [String]()))
        let pool = try WorkerPool(count: 6, name: "callers")
        for _ in 0..<6 {
            pool.submit {
                Self.ask(path, frames, until: end) { head in
                    state.withLock { state in
                        switch (head.status, head.result) {
                        case (.ok, .verification(let answer)) where answer.verdict == .valid:
                            state.valid += 1
                        case (.resourceExhausted, _), (.deadlineExceeded, _), (.internal, _):
                            state.refused += 1
                        default: state.wrong.append("\(head)")
                        }
                    }
                }
            }
        }
        pool.stop()
        let (valid, refused, wrong) = state.withLock { $0 }
        #expect(wrong == [])
        let served = (try? RawClient(.unix(path: path)).ping()) != nil
        if served {
            // The memory was enough.
            #expect(server.end() == 0)
        } else {
            #expect(server.wait() < 0, "a signal ended it")
            // Threads can fail together: another one can log the same after this one.
            let log = server.log.split(separator: "\n")
            let last = log.last { $0.hasPrefix("assay: ended by ") } ?? ""
            #expect(last.contains("because the system is out of memory"), "\(log.suffix(3))")
        }
        if megabytes == 0 { #expect(!served) }
        print("\(megabytes) MB: \(served ? "served" : "ended"), \(valid) valid, \(refused) refused")
    }
}

extension RawClient {
    /// Throws when the server does not answer.
    fileprivate func ping() throws {
        try send(Self.ping(1))
        guard try receive() != nil else { throw BlockingClient.Failure(what: "no answer") }
    }
}
