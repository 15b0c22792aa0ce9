/// The slab that all streams of a loop read into, one after the other. Small requests of many
/// connections share it, and a connection with nothing to read holds no memory.
struct ReadArena {
    let pool: SlabPool
    private(set) var slab: Slab?
    private(set) var filled = 0

    init(_ pool: SlabPool = SlabPool()) { self.pool = pool }

    /// Whether a read can continue in place after bytes that end at `end` of `slab`.
    func ends(at end: Int, of slab: Slab?) -> Bool { slab === self.slab && end == filled }

    var freeCount: Int { (slab?.capacity ?? 0) - filled }

    mutating func replace() -> Slab {
        let new = Slab(capacity: Slab.standardCapacity, pool: pool)
        slab = new
        filled = 0
        return new
    }

    /// Starts again at the front of the slab if nothing else holds its bytes. The next read then
    /// has the whole slab, and memory that is in the processor's cache.
    mutating func rewind() {
        if slab != nil, isKnownUniquelyReferenced(&slab) { filled = 0 }
    }

    mutating func fill(to end: Int) {
        precondition(end >= filled && end <= slab?.capacity ?? 0)
        filled = end
    }
}

/// The received and not yet taken bytes of one stream, always contiguous.
///
/// Offsets into the slab: `taken <= received <= lent <= capacity`. Bytes before `taken` belong to
/// their takers, bytes up to `received` are unread, and bytes up to `lent` are being read into.
package struct ReceiveBuffer {
    private var slab: Slab?
    private var taken = 0
    private var received = 0
    private var lent = 0
    /// Expected length of the message that begins at `taken`; 0 if unknown.
    private var expected = 0

    /// Size of the last read, used as an estimate of the next.
    private var lastRead = 0

    /// A read into less space is not worth its system call, except in a stream's own slab after
    /// small reads.
    private static let smallestRead = 4 * 1024

    package var unreadCount: Int { received - taken }

    /// All unread bytes; nil if there are none.
    package var unread: SlabBytes? {
        guard let slab, taken < received else { return nil }
        return SlabBytes(slab: slab, range: taken..<received)
    }

    /// Takes the first `count` unread bytes.
    package mutating func take(_ count: Int) -> SlabBytes {
        precondition(count > 0 && count <= unreadCount)
        defer {
            taken += count
            expected = 0
        }
        return SlabBytes(slab: slab!, range: taken..<taken + count)
    }

    /// Drops the first `count` unread bytes.
    package mutating func skip(_ count: Int) {
        precondition(count >= 0 && count <= unreadCount)
        taken += count
        expected = 0
    }

    /// Sets the length of the message at the front, so that the next read has space for it.
    package mutating func expect(_ count: Int) {
        precondition(count >= 0)
        expected = count
    }

    /// Lends memory for the next read: `count` bytes from `start` on.
    mutating func lend(from arena: inout ReadArena) -> (slab: Slab, start: Int, count: Int) {
        let slab = slabForNextRead(&arena)
        lent = slab.capacity
        checkOffsets()
        return (slab, received, lent - received)
    }

    /// Ends the read that `lend` began, with `count` received bytes.
    mutating func receive(_ count: Int, into arena: inout ReadArena) {
        precondition(count >= 0 && received + count <= lent)
        received += count
        lent = received
        if count > 0 { lastRead = count }
        if slab != nil, slab === arena.slab { arena.fill(to: received) }
        checkOffsets()
    }

    /// Releases the slab if nothing is unread, and moves unread bytes out of the shared slab: a
    /// few bytes must not keep 64 KiB alive.
    mutating func compact(_ arena: inout ReadArena) {
        if unreadCount == 0 {
            slab = nil
            (taken, received, lent) = (0, 0, 0)
            arena.rewind()
        } else if slab === arena.slab {
            move(to: Slab(capacity: Self.roundedUp(unreadCount), pool: arena.pool), at: 0)
        }
    }

    mutating func removeAll() { self = ReceiveBuffer() }

    private mutating func slabForNextRead(_ arena: inout ReadArena) -> Slab {
        let wanted = max(expected - unreadCount, Self.smallestRead)
        if let slab, slab === arena.slab {
            if arena.ends(at: received, of: slab), arena.freeCount >= wanted { return slab }
        } else if let slab, slab.capacity > received {
            // A large message fills its own slab. So do the bytes of a slow sender while there is
            // space: moving them for each read would take quadratic time.
            let isLarge = slab.capacity > Slab.standardCapacity
            if isLarge || slab.capacity - received >= 2 * lastRead { return slab }
        }
        if unreadCount + wanted <= arena.freeCount {
            move(to: arena.slab!, at: arena.filled)
        } else if unreadCount + wanted <= Slab.standardCapacity {
            move(to: arena.replace(), at: 0)
        } else {
            moveToLargerSlab(pool: arena.pool)
        }
        return slab!
    }

    /// Moves a message that fits no standard slab to its own slab, which doubles as it fills. An
    /// announced length costs its sender nothing, so it reserves little.
    private mutating func moveToLargerSlab(pool: SlabPool) {
        let needed = max(expected, unreadCount + Self.smallestRead)
        let capacity = min(needed, max(2 * Slab.standardCapacity, 2 * unreadCount))
        move(to: Slab(capacity: capacity, pool: pool), at: 0)
    }

    private mutating func move(to target: Slab, at offset: Int) {
        let count = unreadCount
        if count > 0 { target.copy(from: slab!, at: taken, count: count, to: offset) }
        slab = target
        (taken, received, lent) = (offset, offset + count, offset + count)
        checkOffsets()
    }

    private func checkOffsets() {
        precondition(taken <= received && received <= lent && lent <= slab?.capacity ?? 0)
    }

    private static func roundedUp(_ count: Int) -> Int {
        var capacity = 256
        while capacity < count { capacity *= 2 }
        return capacity
    }
}
