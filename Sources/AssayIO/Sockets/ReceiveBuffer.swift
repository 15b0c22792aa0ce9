/// The slab that the streams of a loop read into, one behind the other: small requests of many
/// connections lie side by side in it, and a connection with nothing to read holds no memory.
struct ReadArena {
    let pool = SlabPool()
    private(set) var slab: Slab?
    private(set) var filled = 0

    /// Whether bytes that end at `end` of `slab` can be read on with in place.
    func ends(at end: Int, of slab: Slab?) -> Bool { slab === self.slab && end == filled }

    var room: Int { (slab?.capacity ?? 0) - filled }

    mutating func replace() -> Slab {
        let new = Slab(capacity: Slab.standardCapacity, pool: pool)
        slab = new
        filled = 0
        return new
    }

    /// Begins again at the front of the slab where nobody holds bytes of it any more: the next read
    /// has all of its room, and memory that is in the processor's cache.
    mutating func rewind() {
        if slab != nil, isKnownUniquelyReferenced(&slab) { filled = 0 }
    }

    mutating func fill(to end: Int) {
        precondition(end >= filled && end <= slab?.capacity ?? 0)
        filled = end
    }
}

/// The bytes of one stream that were received and not yet taken, always in one piece.
///
/// Offsets into its slab: `taken <= received <= lent <= capacity`. Bytes before `taken` belong to
/// whoever took them, those up to `received` are unread, those up to `lent` are being read into.
package struct ReceiveBuffer {
    private var slab: Slab?
    private var taken = 0
    private var received = 0
    private var lent = 0
    /// How long the message that begins at `taken` is known to be; 0: not known.
    private var expected = 0

    /// What the last read brought: a guess at what the next one will.
    private var lastRead = 0

    /// A read with less room is not worth its system call, unless little comes anyway.
    private static let smallestRead = 4 * 1024

    package var unreadCount: Int { received - taken }

    /// All that is unread.
    package var unread: SlabBytes? {
        guard let slab, taken < received else { return nil }
        return SlabBytes(slab: slab, range: taken..<received)
    }

    /// Takes the first `count` unread bytes out.
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

    /// Tells how long the message at the front will be, so that there is room for it.
    package mutating func expect(_ count: Int) {
        precondition(count >= 0)
        expected = count
    }

    /// Lends the memory for the next read: bytes from the answer's `start` on.
    mutating func lend(from arena: inout ReadArena) -> (slab: Slab, start: Int, count: Int) {
        let slab = slabWithRoom(&arena)
        lent = slab.capacity
        checkOffsets()
        return (slab, received, lent - received)
    }

    /// The read has ended; `count` bytes have come.
    mutating func receive(_ count: Int, into arena: inout ReadArena) {
        precondition(count >= 0 && received + count <= lent)
        received += count
        lent = received
        if count > 0 { lastRead = count }
        if slab != nil, slab === arena.slab { arena.fill(to: received) }
        checkOffsets()
    }

    /// Between reads a stream holds no more memory than what it has unread, and never a slab that
    /// it shares with others: a few bytes must not keep 64 KiB alive.
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

    private mutating func slabWithRoom(_ arena: inout ReadArena) -> Slab {
        let wanted = max(expected - unreadCount, Self.smallestRead)
        if let slab, slab === arena.slab {
            if arena.ends(at: received, of: slab), arena.room >= wanted { return slab }
        } else if let slab, slab.capacity > received {
            // One that a large message has for itself is filled up. So is one that a torn sender's
            // bytes were moved to: to move them for each read would make every byte cost them all.
            let isLarge = slab.capacity > Slab.standardCapacity
            if isLarge || slab.capacity - received >= 2 * lastRead { return slab }
        }
        if unreadCount + wanted <= arena.room {
            move(to: arena.slab!, at: arena.filled)
        } else if unreadCount + wanted <= Slab.standardCapacity {
            move(to: arena.replace(), at: 0)
        } else {
            moveToLargerSlab(pool: arena.pool)
        }
        return slab!
    }

    /// A message that fits no standard slab gets one of its own, which doubles as it fills: a
    /// length alone, which costs its sender nothing, reserves little.
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
