/// The limits of the verification core, each with its reason.
package enum Limits {
    /// Extensions of one certificate. Real certificates have about ten. The limit keeps the
    /// search for duplicates short.
    package static let certificateExtensions = 32

    /// Bytes of a compact JWS. A transaction takes 3 to 10 KB, most of it certificates. Apple's
    /// largest, a notification with three nested JWSs, stays below 30 KiB.
    package static let jwsBytes = 64 * 1024
    /// Bytes of a notification's POST body: its JWS plus JSON escaping.
    package static let notificationBytes = 256 * 1024
    /// Bytes of an answer of the App Store Server API. A page has at most 20 items; 20 of Apple's
    /// largest notifications take 600 KB. An answer is held and parsed whole before one of its
    /// signatures is verified.
    package static let serverAnswerBytes = 1024 * 1024
    /// Signed members of one answer. A page has at most 20, a customer's statuses two for each
    /// subscription. With nested ones they are at most 1,024 signatures, which take 10 to 30 ms.
    package static let serverAnswerTokens = 256
    /// Certificates in `x5c`: leaf, intermediate and root, as Apple's libraries require.
    package static let x5cCertificates = 3
    /// Bytes of one DER certificate in `x5c`. Apple's take 600 to 1,100 octets.
    package static let x5cEntryBytes = 4 * 1024

    /// Allowed clock difference between signer and verifier. A later signing date is in the
    /// future.
    package static let clockSkewMilliseconds: Int64 = 5 * 60 * 1000

    /// Known chains: JWS headers whose chain is valid and under which a signature held. Only the
    /// owner of a leaf's key can add more. Apple uses one leaf for about two years. An entry
    /// takes about 10 KB.
    package static let knownChains = 256
    /// Recently used known chains, which are compared with a token before anything is hashed.
    /// Apple signs with one leaf in each environment, and for a few weeks also with the next one.
    static let recentChains = 4
    /// Refused chains kept, so that a repeated one costs no public-key operation. An entry takes
    /// about 500 bytes and holds no certificate bytes.
    package static let refusedChains = 4096
    /// How long a refused chain is kept.
    package static let refusedChainMilliseconds: Int64 = 60 * 1000
    /// Leaf and intermediate pairs that were verified up to a pinned root. An entry takes about 3
    /// KB. Each certificate has two forms (`ECDSATwin`), so anybody can make four entries of one
    /// chain, and no more.
    package static let validatedPairs = 256
    /// Intermediates verified under pinned roots, in two forms each. Apple has used one for
    /// StoreKit 2 so far.
    package static let validatedIntermediates = 64

    /// Bytes of one certificate of a receipt. Apple's take up to 1,500 octets.
    package static let cmsCertificateBytes = 16 * 1024
    /// Bytes of the SignerInfo. Apple's takes 460 octets.
    package static let cmsSignerInfoBytes = 16 * 1024
    /// Bytes of object identifiers, algorithm identifiers and versions.
    package static let cmsSmallElementBytes = 256
    /// A content segment of a receipt is short below the first limit; the second one limits the
    /// number of short segments. Software that writes segments makes them 1,000 octets or longer,
    /// except the last. Each costs up to 32 ns; all 4,096 cost 0.1 ms, about as much as a
    /// receipt's signature.
    package static let cmsShortSegmentBytes = 64
    package static let cmsShortSegments = 4096
    /// Entries of digestAlgorithms. Apple's have one.
    package static let cmsDigestAlgorithms = 8
    /// Bytes of one attribute of a receipt, in-app records included. Apple's take up to 500
    /// octets. This bounds the bytes that are carried over from one chunk to the next.
    package static let receiptAttributeBytes = 64 * 1024
    /// Unnamed attributes that are kept for the caller, separately for a receipt and for its
    /// in-app records. Apple's receipts have about ten, with about 300 octets in total.
    package static let receiptUnknownAttributes = 256
    package static let receiptUnknownBytes = 64 * 1024
    /// Layouts of in-app records kept while a receipt is read. They differ mostly by the lengths
    /// of product ids. All eight take 31 KB.
    package static let inAppLayouts = 8
    /// Bytes and attributes of a record whose layout is kept, with the header of its attribute.
    /// Apple's records take up to 500 octets and have up to 22 attributes.
    package static let inAppLayoutBytes = 528
    package static let inAppLayoutAttributes = 24
    /// Capacity for the in-app records that have arrived is reserved up front: at most one record
    /// per this number of octets, with at most this much text each. Apple's records take 300
    /// octets or more, 60 of which are text.
    static let smallestReservedRecordBytes = 256
    static let largestReservedTextBytes = 96
    /// A streamed receipt frees its carry buffer when the buffer is empty and larger than this.
    static let keptCarryBytes = 4 * 1024
    /// Base64 of a receipt is decoded in chunks of this size, which stay in the processor's
    /// cache.
    package static let base64ChunkBytes = 32 * 1024
    /// Bytes of the JSON in which a game engine wraps a receipt. Unlike a receipt, it is buffered
    /// whole.
    package static let receiptWrapperBytes = 1024 * 1024

    /// Bytes of a version 1 notification, which is buffered whole like that JSON. Enough for a
    /// receipt of 700 KB, which has about two thousand records.
    package static let notificationV1Bytes = 1024 * 1024

    /// Bytes of an OCSP response. Apple's have up to 2 KB.
    package static let ocspResponseBytes = 64 * 1024
    /// Statuses in one OCSP response. Apple's have one.
    package static let ocspSingleResponses = 64
    /// Certificates in an OCSP response. Apple's have one, or none. Each that has the signer's name
    /// costs up to two public-key operations.
    package static let ocspCertificates = 8
    /// Bytes of a CRL: more than a hundred thousand entries.
    package static let revocationListBytes = 4 * 1024 * 1024
    /// OCSP responses and CRLs at once. Apple's chains have about ten certificates.
    package static let revocationDocuments = 1024
    /// Bytes of all of them.
    package static let revocationBytes = 64 * 1024 * 1024
    /// Certificates with a status. Those above are kept only while a cached chain has them.
    package static let revocationCertificates = 1024
    /// Bytes of a location in a certificate. Apple's have up to 50.
    package static let revocationLocationBytes = 512
    /// Bytes of the signed text of another store's purchase. Google's take 300 to 800 bytes; the
    /// longest member is the app's own developerPayload.
    package static let purchaseBytes = 64 * 1024
    /// Bytes of the JSON around it. Unity's has the product's details as well, twice escaped.
    package static let purchaseEnvelopeBytes = 256 * 1024
    /// Bytes of a list of owned purchases, each about 1 KB with its signature.
    package static let ownedPurchasesBytes = 1024 * 1024
    /// Bytes of a Pub/Sub push of Google Play, with its token. Google's take about 2 KB.
    package static let pushEnvelopeBytes = 64 * 1024
    /// Bytes of a JWK Set, and its keys. Google's has two or three keys in 1 KB.
    package static let pushKeysBytes = 64 * 1024
    package static let pushKeys = 32

    /// Certificates in one item of evidence. Apple's receipts have three.
    package static let bagCertificates = 16
    /// Verified links of RSA chains. Apple has used nine signing certificates since 2009. An
    /// entry takes about 10 KB: two parsed certificates with their keys.
    package static let validatedLinks = 256
    /// Sets of receipts' certificates whose chain is known. A chain's three certificates make 11
    /// of them, in all orders and with issuers left out. An entry takes about 5 KB.
    static let knownCertificateSets = 256
    /// Octets at a certificate's end that its table hash covers. They are part of the signature,
    /// which no two certificates of one issuer share.
    static let certificateHashBytes = 32
    /// Idle prepared RSA keys kept for each certificate. Each concurrent verification uses
    /// one.
    static let idleRSAKeys = 8

    /// Bits of an RSA key that signs certificates or receipts. Apple's keys have at least this
    /// size. Smaller ones are not safe from factoring.
    package static let smallestRSAKeyBits = 2048
    /// Bits of Apple's old key for transaction receipts, the only exception.
    package static let legacyRSAKeyBits = 1024
    /// The largest size in Apple's hierarchy, which OpenSSL verifies in reasonable time.
    package static let largestRSAKeyBits = 4096
    /// The public exponent of every Apple key. Smaller exponents invite forgeries (e = 3).
    package static let smallestRSAExponent: UInt64 = 65_537

    /// Bytes of a transaction receipt, as text or in base64. The largest seen takes 3,769 bytes.
    package static let transactionReceiptBytes = 64 * 1024
    /// Members of one text property list. purchase-info has had at most 24.
    package static let textPropertyListMembers = 128

    /// Signatures that share the inversions of a batch: one of the s and six of their sums, 1 to
    /// 2 µs each. Their share is then below a tenth of a verification. The operands take 200 KB
    /// per thread.
    static let signaturesPerInversion = 32
    /// Signatures of a batch whose memory is kept between batches; about 120 bytes each.
    static let signaturesKept = 4096
    /// Idle batch verifiers kept. More concurrent threads than this are not expected.
    static let idleBatchVerifiers = 64
    /// Keys that each thread keeps prepared for EVP. Apple uses one or two at a time.
    static let preparedKeys = 8
    /// Answers of the signature engine for one that the audit compares with OpenSSL's: a
    /// comparison costs about as much as 10 to 25 answers, so well below a hundredth of the work.
    static let answersPerAudit = 4096
    /// Signatures of certificates that the engine verifies for one that the audit compares: a
    /// comparison costs as much as ten of them.
    static let certificatesPerAudit = 512
    /// Answers that wait for the audit: those of some hundred thousand others.
    static let waitingAudits = 64
    /// Valid signatures of a key before it gets a table. At that point the verifications without
    /// a table have cost about as much more as the table does: 1.4 to 2.2 ms, against 40 to 60 µs
    /// that each saves. OpenSSL's own table takes 30 ms, which 600 signatures repay.
    package static let keyTableUses = 32
    /// Key tables at once, 823 KB each. Apple uses one leaf key for about two years, and at most
    /// one more for each environment.
    package static let keyTables = 16
    /// Signatures that a root's or intermediate's key verifies before it gets a table, where the
    /// thread that verifies also builds it. At that point the signatures without a table have cost
    /// about as much as the table does.
    static let issuerTableUses = 8
    /// Tables of keys of roots and intermediates at once: 590 KB each on P-384, 823 KB on P-256.
    /// Apple uses one root and one intermediate on P-384; the rest is for development roots.
    package static let issuerTables = 16
}
