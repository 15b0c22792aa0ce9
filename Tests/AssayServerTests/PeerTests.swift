import Glibc
import Testing

@testable import AssayIO
@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// Clients: who is one, and what part of a resource each gets.
@Suite("Clients") struct PeerTests {
    /// A `sockaddr_in` or `sockaddr_in6` with an address.
    private static func address(_ family: Int32, _ octets: [UInt8]) -> [UInt8] {
        let before = family == AF_INET ? 4 : 8
        return [UInt8](repeating: 7, count: before) + octets + [0, 0, 0, 0]
    }

    @Test("A client is an address of IPv4, a network of 64 bits of IPv6, or the user of a socket")
    func keys() {
        func key(_ family: Int32, _ octets: [UInt8]) -> PeerKey {
            let bytes = Self.address(family, octets)
            return unsafe PeerKey(family: family, address: bytes.span.bytes)
        }
        let network: [UInt8] = [0x20, 1, 0xD, 0xB8, 0, 1, 0, 2]
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        let rows: [(Int32, [UInt8], PeerKey)] = [
            (AF_INET, [127, 0, 0, 1], .address(0x7F00_0001)),
            (AF_INET, [127, 0, 0, 2], .address(0x7F00_0002)),
            (AF_INET6, network + [0, 0, 0, 0, 0, 0, 0, 1], .network(0x2001_0DB8_0001_0002)),
            (AF_INET6, network + [9, 9, 9, 9, 9, 9, 9, 9], .network(0x2001_0DB8_0001_0002)),
            (
                AF_INET6, network.dropLast() + [3, 0, 0, 0, 0, 0, 0, 0, 1],
                .network(0x2001_0DB8_0001_0003)
            ),
            // An address of IPv4 is the same client over both.
            (AF_INET6, mapped + [127, 0, 0, 1], .address(0x7F00_0001)),
            // Its neighbours: ::1, and a prefix that is not mapped.
            (AF_INET6, [UInt8](repeating: 0, count: 15) + [1], .network(0)),
            (AF_INET6, mapped.dropLast() + [0xFE, 127, 0, 0, 1], .network(0)),
            (AF_UNIX, [0, 0, 0, 0], .unknown),
        ]
        for (family, octets, expected) in rows {
            #expect(key(family, octets) == expected, "\(octets)")
        }
    }

    @Test("A client gets more while it has at most eight times what is then left")
    func part() {
        let rows: [(own: Int, free: Int, isAllowed: Bool)] = [
            (0, 0, true), (0, -1, false), (8, 1, true), (9, 1, false), (800, 100, true),
            (801, 100, false), (1, 0, false),
        ]
        for row in rows {
            #expect(PeerPart.allows(row.own, leaving: row.free) == row.isAllowed, "\(row)")
        }
    }

    @Test("Of several clients each gets an equal part, and a new one finds something")
    func parts() {
        let budget = Budget(sharing: SharedBudget(limit: 9 << 20, workers: 1))
        let peers = (0..<3).map { Peer(.user($0), budget) }
        let cost = RequestCost(bytes: 1_000, state: 1_000, answer: 24)
        func fill(_ peers: some Sequence<Peer>) {
            while case let more = peers.filter({ $0.admits(cost) }), !more.isEmpty {
                for peer in more { peer.give(cost) }
            }
        }
        fill([peers[0]])
        #expect(peers[0].held.memory >> 20 == 8 && peers[0].admits(0) && !peers[0].admits(cost))
        #expect(peers[1].admits(cost) && !peers[1].isFull)
        // The first one gives back until it has no more than the others.
        while peers[0].held.memory > 0 { peers[0].takeBack(cost) }
        fill(peers)
        let parts = peers.map(\.held.memory)
        #expect(Set(parts).count == 1 && parts[0] > (9 << 20) / 4)
        #expect(budget.held + budget.due == parts.reduce(0, +))
        #expect(Peer(.user(9), budget).admits(cost))
    }

    @Test("A client is remembered while its requests hold memory")
    func memoryOutlivesConnections() {
        let budget = Budget(sharing: SharedBudget(limit: 9 << 20, workers: 1))
        let peer = Peer(.user(1), budget)
        #expect(peer.isGone)
        peer.didConnect()
        #expect(!peer.isGone)
        do {
            let reservation = Reservation(
                RequestCost(bytes: 10, state: 10, answer: 1), for: peer)
            peer.didDisconnect()
            #expect(!peer.isGone && peer.held.memory == 11)
            _ = consume reservation
        }
        #expect(peer.isGone && budget.held == 0)
    }
}
