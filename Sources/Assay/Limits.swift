/// Every bound of the verification core, with its reason.
package enum Limits {
    /// Nesting of objects and arrays. Apple's deepest payload (a transaction with Advanced
    /// Commerce refunds) nests 5 deep; parsing recurses once a level.
    package static let jsonDepth = 32
    /// Bytes of one JSON text. The largest that arrives is a notification's POST body: a JWS of
    /// at most 64 KiB around nested ones; four times that is never reached by Apple's.
    package static let jsonSize = 256 << 10
    /// Members of one object up to which a new name is compared with those before it. Above,
    /// names are sorted once at the object's end, so that a hostile object costs O(n log n).
    /// Apple's largest object has 33 members.
    static let jsonMembersComparedDirectly = 48

    /// Real certificates carry about ten extensions; the bound keeps the search for duplicates
    /// short.
    package static let certificateExtensions = 32

    /// A compact JWS. A transaction takes 3 to 10 KB, most of it certificates; Apple's largest, a
    /// notification with three nested ones, stays below 30 KiB.
    package static let jwsBytes = 64 * 1024
    /// The POST body of a notification: its JWS and what JSON escaping may add.
    package static let notificationBytes = 256 * 1024
    /// Certificates in `x5c`: leaf, intermediate and root, as Apple's libraries insist.
    package static let x5cCertificates = 3
    /// One DER certificate in `x5c`; Apple's take 600 to 1,100 octets.
    package static let x5cEntryBytes = 4 * 1024

    /// Clocks of signer and verifier may differ by this much before a date lies in the future.
    package static let clockSkewMilliseconds: Int64 = 5 * 60 * 1000

    /// Headers whose chain is valid and under which a signature held, which nobody but the owner of
    /// a leaf's key can make more of; Apple uses one leaf for about two years. An entry takes some
    /// 10 KB.
    package static let knownChains = 256
    /// Those of them that a token is compared with before anything is hashed. Apple signs with one
    /// leaf in each environment, and for some weeks with the next one.
    static let recentChains = 4
    /// Refused chains that are remembered, so that repeating one costs no public-key operation;
    /// an entry takes some 500 bytes, none of them a certificate's.
    package static let refusedChains = 4096
    /// How long a refused chain is remembered.
    package static let refusedChainMilliseconds: Int64 = 60 * 1000
    /// Leaves under their intermediates, which a pinned root's signature stands behind; an entry
    /// takes some 3 KB. Each certificate has two forms (`ECDSATwin`), so that anybody can make four
    /// entries of one chain, and no more.
    package static let validatedPairs = 256
    /// Intermediates under pinned roots, in two forms each; Apple has used one for StoreKit 2 so
    /// far.
    package static let validatedIntermediates = 64

    /// One certificate of a receipt; Apple's take up to 1,500 octets.
    package static let cmsCertificateBytes = 16 * 1024
    /// The SignerInfo; Apple's takes 460 octets.
    package static let cmsSignerInfoBytes = 16 * 1024
    /// Object identifiers, algorithm identifiers and versions.
    package static let cmsSmallElementBytes = 256
    /// Segments of a receipt's content below this size, and how many of them are read. Software
    /// that writes segments makes them of 1,000 octets or more, and only the last is shorter. Each
    /// costs up to 32 ns: all of them 0.1 ms, about what a receipt's signature costs.
    package static let cmsShortSegmentBytes = 64
    package static let cmsShortSegments = 4096
    /// Entries of digestAlgorithms; Apple names one.
    package static let cmsDigestAlgorithms = 8
    /// One attribute of a receipt, an in-app record included; Apple's take up to 500 octets. It is
    /// the most that is carried over from one chunk to the next.
    package static let receiptAttributeBytes = 64 * 1024
    /// Attributes without a name that are kept for the caller, of a receipt and of its in-app
    /// records each; Apple's receipts have about ten, of some 300 octets together.
    package static let receiptUnknownAttributes = 256
    package static let receiptUnknownBytes = 64 * 1024
    /// Layouts of in-app records that are remembered while a receipt is read; they differ by the
    /// lengths of product ids, mostly. All of them take 15 KB.
    package static let inAppLayouts = 8
    /// A record whose layout is remembered, and its attributes; Apple's take up to 500 octets, and
    /// have up to 22.
    package static let inAppLayoutBytes = 512
    package static let inAppLayoutAttributes = 24
    /// Room is made at once for the records of what has arrived: for one in so many octets at the
    /// most, and with so much text each. Apple's take from 300 octets, with 60 of text.
    static let smallestReservedRecordBytes = 256
    static let largestReservedTextBytes = 96
    /// A buffer of a receipt that arrives is freed when it is empty and larger than this.
    static let keptCarryBytes = 4 * 1024
    /// Base64 of a receipt is decoded in pieces of this size, which stay in the processor's cache.
    package static let base64ChunkBytes = 32 * 1024
    /// JSON that wraps a receipt for the sake of a game engine. It is held whole, unlike a receipt.
    package static let receiptWrapperBytes = 1024 * 1024

    /// Certificates that evidence may bring along. Apple's receipts carry three.
    package static let bagCertificates = 16
    /// Links of RSA chains known to hold; Apple has used nine signing certificates since 2009,
    /// and an entry takes some 10 KB: two certificates, parsed, with their keys.
    package static let validatedLinks = 256
    /// Octets at a certificate's end that its hash in tables is made of. They are its signature's,
    /// which two certificates of one issuer do not share.
    static let certificateHashBytes = 32
    /// Prepared RSA keys that are kept for each certificate, for as many threads at once.
    static let idleRSAKeys = 8

    /// Bits of an RSA key that signs certificates or receipts: what Apple's have, and nothing below
    /// is safe from being factored.
    package static let smallestRSAKeyBits = 2048
    /// Bits of Apple's old key of transaction receipts, the one exception.
    package static let legacyRSAKeyBits = 1024
    /// What Apple's hierarchy has at the most, and OpenSSL verifies in reasonable time.
    package static let largestRSAKeyBits = 4096
    /// The public exponent of every Apple key. Smaller ones invite forgeries (e = 3).
    package static let smallestRSAExponent: UInt64 = 65_537

    /// A transaction receipt, as text or in base64. The largest seen takes 3,769 bytes.
    package static let transactionReceiptBytes = 64 * 1024
    /// Members of one text property list; purchase-info has had 24 at most.
    package static let textPropertyListMembers = 128

    /// Signatures that share one inversion. It costs 8 to 18 µs, so that a share is below a
    /// fortieth of a verification; their numbers take 10 KB a thread.
    static let signaturesPerInversion = 64
    /// Signatures of a batch for which room is kept between batches; about 120 bytes each.
    static let signaturesKept = 4096
    /// Idle batch verifiers that are kept; more threads than this at once are not expected.
    static let idleBatchVerifiers = 64
    /// Keys that a thread keeps ready for EVP. Apple uses one or two at a time.
    static let preparedKeys = 8
    /// Signatures of a key that have to hold before it gets a table: by then, doing without has
    /// cost about what the table costs.
    package static let keyTableUses = 512
    /// Tables at once, 150 KB each. Apple uses one leaf key for about two years, and one more for
    /// each environment at the most.
    package static let keyTables = 16
}
