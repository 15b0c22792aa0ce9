import AssayIO
import Foundation

/// Measures how fast a processor is while others use it.
///
/// The speed of a shared machine varies by a third within seconds, so two loads that follow each
/// other can't be compared by the clock. This process verifies a few signatures on the same
/// processor 50 times a second, for one percent of its time, and reports the processor time that
/// one takes.
final class SpeedProbe {
    /// The argument with which the bench starts itself as a probe.
    static let argument = "speed-probe"
    private static let signatures = 8
    private static let pauseMicroseconds: UInt32 = 20_000

    private struct Sample {
        let time: UInt64
        let nanoseconds: Double
    }

    private let process = Process()
    private let output = Pipe()
    private var unread = Data()
    private var samples: [Sample] = []

    init(processors: String) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = [
            "--pdeathsig", "TERM", "taskset", "-c", processors, "/proc/\(getpid())/exe",
            Self.argument,
        ]
        process.standardOutput = output
        try process.run()
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// The middle of the processor times of a signature between two times of the monotonic clock.
    func nanoseconds(from start: UInt64, to end: UInt64) throws -> Double {
        while samples.last?.time ?? 0 < end {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                throw AssayProcess.Failed(description: "the speed probe ended")
            }
            unread += more
            while let newline = unread.firstIndex(of: UInt8(ascii: "\n")) {
                let words = String(decoding: unread[..<newline], as: UTF8.self)
                    .split(separator: " ")
                unread.removeSubrange(...newline)
                guard words.count == 2, let time = UInt64(words[0]),
                    let nanoseconds = Double(words[1])
                else { continue }
                samples.append(Sample(time: time, nanoseconds: nanoseconds))
            }
        }
        return samples.filter { $0.time >= start && $0.time <= end }.map(\.nanoseconds).median
    }

    /// The work of the process itself: a line per sample, with the time and the nanoseconds that
    /// one signature took, until its reader closes the pipe.
    static func run() -> Never {
        signal(SIGPIPE, SIG_DFL)
        let signer = Signer()
        let signed = signer.signature()
        while true {
            let before = ProcessorTime.ofThread
            for _ in 0..<signatures { precondition(signer.evpVerifies(signed)) }
            let each = Double(ProcessorTime.ofThread - before) / Double(signatures)
            let line = "\(SystemClock.monotonicNanoseconds) \(each)\n"
            FileHandle.standardOutput.write(Data(line.utf8))
            usleep(pauseMicroseconds)
        }
    }
}
