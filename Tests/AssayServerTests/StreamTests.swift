import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AssayIO

private func echo(_ stream: Stream) {
    stream.setHandler { [unowned stream] event in
        switch event {
        case .received:
            guard let bytes = stream.received.unread else { return }
            let copy = [UInt8](capacity: bytes.count) { output in
                let span = bytes.span
                for index in span.indices { output.append(span[index]) }
            }
            stream.received.skip(bytes.count)
            stream.write(copy)
        case .ended: stream.finish()
        case .failed: stream.close()
        case .connected, .written, .closed: break
        }
    }
    stream.resumeReading()
}

private func listenEchoing(_ loop: EventLoop, at endpoint: Endpoint) throws -> Endpoint {
    try loop.call { () throws(LoopError) in
        try Listener(on: loop, at: endpoint, onConnection: echo).endpoint
    }
}

@Suite(.ownThread, .timeLimit(.minutes(1))) struct StreamTests {
    @Test(arguments: ["tcp://127.0.0.1:0", "tcp://[::1]:0", "tcp://localhost:0", "unix"])
    func echoes(address: String) throws {
        try withLoop { loop in
            let text = address == "unix" ? "unix:" + temporaryPath("echo") : address
            let endpoint = try listenEchoing(loop, at: Endpoint(text))
            let client = try BlockingClient(endpoint)
            for size in [1, 2, 4_096, 65_536, 100_000, 1] {
                let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) }
                try client.send(bytes)
                #expect(try client.receive(exactly: size) == bytes)
            }
            client.finishWriting()
            #expect(try client.receiveToEnd() == [])
        }
    }

    @Test("a reset after the last bytes is not the end of the stream", arguments: [true, false])
    func resetAfterBytes(isReset: Bool) throws {
        try withLoop { loop in
            let accepted = Latch()
            let over = Latch()
            let seen = Locked<(bytes: Int, end: String)>((0, ""))
            let endpoint = try loop.call { () throws(LoopError) in
                try Listener(on: loop, at: .tcp(host: "127.0.0.1", port: 0)) { stream in
                    stream.setHandler { event in
                        switch event {
                        case .received:
                            let count = stream.received.unreadCount
                            stream.received.skip(count)
                            seen.withLock { $0.bytes += count }
                        case .ended:
                            seen.withLock { $0.end += "ended" }
                            stream.close()
                        case .failed(let error):
                            seen.withLock { $0.end += error == .connectionReset ? "reset" : "?" }
                            stream.close()
                        case .closed: over.open()
                        case .connected, .written: break
                        }
                    }
                    stream.resumeReading()
                    accepted.open()
                }.endpoint
            }
            let client = try BlockingClient(endpoint)
            accepted.wait()
            // The loop finds the bytes and what follows them in one poll.
            let gate = Latch()
            loop.post { gate.wait() }
            try client.send([1, 2, 3])
            if isReset { client.reset() } else { client.finishWriting() }
            gate.open()
            over.wait()
            let (bytes, end) = seen.withLock { $0 }
            #expect(bytes == 3)
            #expect(end == (isReset ? "reset" : "ended"))
        }
    }

    @Test func aUnixSocketHasItsModeAndIsRemoved() throws {
        let path = temporaryPath("mode")
        try withLoop { loop in
            _ = try listenEchoing(loop, at: .unix(path: path))
            var status = stat()
            #expect(unsafe stat(path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o660)
        }
        #expect(unsafe access(path, F_OK) != 0)
    }

    @Test func aStaleSocketIsReplacedAndNothingElse() throws {
        try withLoop { loop in
            let stale = temporaryPath("stale")
            leaveSocket(at: stale)
            #expect(try listenEchoing(loop, at: .unix(path: stale)) == .unix(path: stale))
            #expect(throws: LoopError.addressInUse) {
                try listenEchoing(loop, at: .unix(path: stale))
            }
            try BlockingClient(.unix(path: stale)).send([1])

            let file = temporaryPath("file")
            _ = unsafe creat(file, 0o600)
            #expect(throws: LoopError.notASocket) { try listenEchoing(loop, at: .unix(path: file)) }
            unsafe unlink(file)
            #expect(throws: LoopError.notFound) {
                try listenEchoing(loop, at: .unix(path: "/tmp/assay-no-such-folder/a"))
            }
        }
    }

    @Test func anAddressInUseIsReported() throws {
        try withLoop { loop in
            let endpoint = try listenEchoing(loop, at: .tcp(host: "127.0.0.1", port: 0))
            #expect(throws: LoopError.addressInUse) { try listenEchoing(loop, at: endpoint) }
            #expect(throws: LoopError.addressNotAvailable) {
                try listenEchoing(loop, at: .tcp(host: "192.0.2.1", port: 0))
            }
        }
    }

    @Test(arguments: ["tcp", "unix"])
    func connects(transport: String) throws {
        try withLoop { loop in
            let asked =
                transport == "tcp"
                ? Endpoint.tcp(host: "localhost", port: 0) : .unix(path: temporaryPath("connect"))
            let endpoint = try listenEchoing(loop, at: asked)
            let done = Latch()
            let answer = Locked<Int>(0)
            try loop.call { () throws(LoopError) in
                var own: Stream?
                own = try Stream.connect(to: endpoint, on: loop) { event in
                    guard let stream = own else { return }
                    switch event {
                    case .connected: stream.write([UInt8](repeating: 7, count: 300_000))
                    case .received:
                        let count = stream.received.unreadCount
                        stream.received.skip(count)
                        let total = answer.withLock { answer in
                            answer += count
                            return answer
                        }
                        if total == 300_000 { stream.finish() }
                    case .closed:
                        own = nil
                        done.open()
                    case .ended, .written: break
                    case .failed: stream.close()
                    }
                }
            }
            done.wait()
            #expect(answer.withLock { $0 } == 300_000)
        }
    }

    /// Data written before the end of a stream arrives, even while its peer is still writing.
    @Test func theLastBytesOfAStreamArrive() throws {
        try withLoop { loop in
            let last = [UInt8](repeating: 9, count: 2_000_000)
            let endpoint = try loop.call { () throws(LoopError) in
                try Listener(on: loop, at: .tcp(host: "127.0.0.1", port: 0)) { stream in
                    stream.setHandler { [unowned stream] event in
                        guard case .received = event, !stream.isFinishing else { return }
                        stream.write(last)
                        stream.finish()
                    }
                    stream.resumeReading()
                }.endpoint
            }
            let client = try BlockingClient(endpoint)
            try client.send([UInt8](repeating: 1, count: 12_000_000))
            #expect(try client.receiveToEnd() == last)
        }
    }

    @Test func aRefusedConnectionFails() throws {
        try withLoop { loop in
            let path = temporaryPath("refused")
            let errors = Locked<[LoopError]>([])
            let done = Latch()
            try loop.call { () throws(LoopError) in
                var own: Stream?
                own = try Stream.connect(to: .unix(path: path), on: loop) { event in
                    if case .failed(let error) = event {
                        errors.withLock { $0.append(error) }
                        own?.close()
                    }
                    if case .closed = event {
                        own = nil
                        done.open()
                    }
                }
            }
            done.wait()
            #expect(errors.withLock { $0 } == [.notFound])
        }
    }
}

/// Leaves a bound socket file without a listener.
func leaveSocket(at path: String) {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) {
        unsafe $0.copyBytes(from: path.utf8)
    }
    unsafe withUnsafeBytes(of: &address) { bytes in
        _ = unsafe bind(
            descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!,
            socklen_t(bytes.count))
    }
    close(descriptor)
}
