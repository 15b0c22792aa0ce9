import CLibuv
import Glibc
import TestSupport
import Testing

@testable import AssayIO

@Suite(.ownThread, .timeLimit(.minutes(1))) struct ListenerTests {
    /// A client that sends the first packet of a handshake, and drops what it receives until
    /// `receive`.
    private struct HalfOpen {
        let descriptor: Int32

        init(port: UInt16, isDeaf: Bool) {
            descriptor = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            if isDeaf {
                let drop = sock_filter(code: UInt16(BPF_RET | BPF_K), jt: 0, jf: 0, k: 0)
                Listener.attach([drop], to: descriptor)
            }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
            let code = unsafe withUnsafePointer(to: &address) {
                unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            #expect(code == 0 || errno == EINPROGRESS)
        }

        func receive() {
            var none: Int32 = 0
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_DETACH_FILTER, &none, socklen_t(MemoryLayout<Int32>.size)
            )
        }

        var isConnected: Bool {
            var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            return unsafe poll(&state, 1, 0) > 0
        }
    }

    /// The system sends the second packet again after a second.
    @Test(
        "a listener that ends completes a handshake that has begun, and begins none",
        .enabled(if: TimedTests.areEnabled)
    )
    func handshakes() throws {
        try withLoop { loop in
            let accepted = Latch()
            let count = Locked(0)
            let listener = try loop.call { () throws(LoopError) in
                let listener = try Listener(on: loop, at: .tcp(host: "127.0.0.1", port: 0)) {
                    $0.close()
                    count.withLock { $0 += 1 }
                    accepted.open()
                }
                return LoopBound(listener, to: loop)
            }
            let port = try loop.call { () throws(LoopError) in
                UInt16(listener.value.endpoint.hostAndPort!.1)
            }
            let early = HalfOpen(port: port, isDeaf: true)
            try loop.call { () throws(LoopError) in listener.value.refuseNewHandshakes() }
            let late = HalfOpen(port: port, isDeaf: false)
            early.receive()
            #expect(accepted.wait())
            #expect(early.isConnected && !late.isConnected)
            #expect(count.withLock { $0 } == 1)
            for client in [early, late] { close(client.descriptor) }
        }
    }
}
