package import AssayIO
import Glibc

/// Opens a listening socket at a free port of the loopback interface, as a service manager does.
/// The caller closes it.
package func listeningSocket() throws -> (descriptor: Int32, endpoint: Endpoint) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = unsafe withUnsafeMutableBytes(of: &address) { bytes in
        let address = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!
        guard unsafe bind(descriptor, address, length) == 0, listen(descriptor, 128) == 0 else {
            return Int32(-1)
        }
        return unsafe getsockname(descriptor, address, &length)
    }
    guard code == 0 else { throw BlockingClient.Failure(what: "listen: errno \(errno)") }
    return (descriptor, .tcp(host: "127.0.0.1", port: UInt16(bigEndian: address.sin_port)))
}
