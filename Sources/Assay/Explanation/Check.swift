package import AssayModels

/// A check of the verifier, for explanations.
package enum Check: String, CaseIterable, Sendable {
    // MARK: Form
    case form
    case segments
    case payloadText
    case header
    case algorithm
    case receipt
    case purchaseInfo
    case signerInfo
    case signerAlgorithm
    case legacyKey
    case purchaseDate
    case signerCertificate
    case purchaseText
    case signatureText
    case pushBody
    // MARK: Chain
    case chainLength
    case certificates
    case pinnedLeaf
    case leafForm
    case intermediateForm
    case leafUsage
    case intermediateUsage
    case leafIssuer
    case rootName
    case rootUsage
    case chainAlgorithms
    case leafMarker
    case intermediateMarker
    case denyList
    case signingDate
    case validity
    case leafKey
    case rootSignature
    case leafSignature
    case signatures
    case rootValidity
    // MARK: Signature
    case storeKey
    case purchaseSignature
    case tokenKey
    case tokenSignature
    case tokenIssuer
    case tokenAudience
    case tokenSender
    case tokenDates
    case signatureForm
    case signature
    // MARK: Policy
    case revocation
    case kind
    case decoding
    case bundle
    case app
    case environment
    case rootPurpose
    case agreement
    case members
    case memberExpectations
    case product
    case accountToken
    case transaction
    case device
    case age

    /// What the check asks, as a statement that holds if it passes.
    package var statement: String {
        switch self {
        case .form: "the evidence has the form of its kind"
        case .segments: "three segments of base64url"
        case .payloadText: "the payload is a JSON object"
        case .header: "the header is a JSON object without unsupported members"
        case .algorithm: "the algorithm is one of the kind"
        case .receipt: "a complete receipt with well-formed attributes"
        case .purchaseInfo: "purchase-info is a property list with valid dates"
        case .purchaseDate: "purchase-info has a purchase date"
        case .signerInfo: "signer and certificates are valid DER"
        case .signerAlgorithm: "the signer's algorithms are supported"
        case .legacyKey: "the policy accepts the signature's key size"
        case .signerCertificate: "the signer's certificate is in the receipt"
        case .purchaseText: "the signed text is a JSON object"
        case .signatureText: "the signature is base64"
        case .storeKey: "the policy has a key of the store for this app"
        case .purchaseSignature: "a key of the app signed exactly these bytes"
        case .pushBody: "the body is a message of Pub/Sub"
        case .tokenKey: "the JWK Set has the token's key"
        case .tokenSignature: "that key signed the token"
        case .tokenIssuer: "Google issued the token"
        case .tokenAudience: "the token's audience is accepted"
        case .tokenSender: "the token's service account is accepted"
        case .tokenDates: "the token is valid now"
        case .chainLength: "the header has three certificates"
        case .certificates: "the certificates are valid DER"
        case .pinnedLeaf: "the only certificate is itself pinned"
        case .leafForm: "the leaf is an X.509 v3 certificate without unknown critical extensions"
        case .intermediateForm:
            "the intermediate is an X.509 v3 certificate without unknown critical extensions"
        case .leafUsage: "the leaf may sign messages, and is no authority"
        case .intermediateUsage: "the intermediate is an authority"
        case .leafIssuer: "the intermediate has the name of the leaf's issuer"
        case .rootName: "a pinned root has the name of the intermediate's issuer"
        case .rootUsage: "the root is an authority"
        case .chainAlgorithms: "keys and signatures of the chain are of supported types"
        case .leafMarker: "the leaf has the store's marker for its purpose"
        case .intermediateMarker: "the intermediate has the store's marker for its purpose"
        case .denyList: "no certificate of the chain is denied"
        case .signingDate: "the signing date is possible"
        case .validity: "the certificates were valid at the signing date"
        case .leafKey: "the leaf's key is a point of its curve"
        case .signatures:
            "the pinned root signed the intermediate, and the intermediate signed the leaf"
        case .rootSignature: "the pinned root signed the intermediate"
        case .leafSignature: "the intermediate signed the leaf"
        case .rootValidity: "the root that signed was valid at the signing date"
        case .signatureForm: "the signature has 64 octets, both numbers in range"
        case .signature: "the leaf's key signed the evidence"
        case .revocation: "no certificate of the chain was revoked when it signed"
        case .kind: "the payload is of the expected kind"
        case .decoding: "every member has its type"
        case .bundle: "the bundle is the expected one"
        case .app: "the app id is the expected one"
        case .environment: "the environment is accepted"
        case .rootPurpose: "the root may sign for this environment"
        case .agreement: "the nested evidence is of the notification's app and environment"
        case .memberExpectations: "the members are what the caller expects"
        case .members: "the members are of one app and environment"
        case .product: "the product is an expected one"
        case .accountToken: "the app account token is the expected one"
        case .transaction: "the transaction is the expected one"
        case .device: "the evidence is bound to the expected device"
        case .age: "the evidence is not too old"
        }
    }

    /// The verdicts that this check can give.
    package var verdicts: Set<Verdict> {
        switch self {
        case .form, .receipt: [.malformed, .wrongKind, .invalidChain]
        case .segments, .payloadText, .header, .purchaseInfo, .certificates, .purchaseDate,
            .signerInfo, .purchaseText, .pushBody:
            [.malformed]
        case .signatureText: [.malformed, .invalidSignature]
        case .storeKey, .tokenIssuer, .tokenAudience, .tokenSender: [.untrustedChain]
        case .purchaseSignature, .tokenSignature: [.invalidSignature]
        case .tokenKey: [.untrustedChain, .unsupportedAlgorithm]
        case .decoding: [.malformed, .wrongKind]
        case .algorithm, .legacyKey: [.unsupportedAlgorithm]
        case .signerAlgorithm: [.malformed, .unsupportedAlgorithm]
        case .chainLength: [.invalidChain, .malformed, .untrustedChain]
        case .signerCertificate, .leafUsage, .intermediateUsage, .rootUsage: [.invalidChain]
        case .leafForm: [.invalidChain, .untrustedChain]
        case .intermediateForm: [.invalidChain]
        case .pinnedLeaf: [.invalidChain, .unsupportedAlgorithm, .certificateRevoked]
        case .leafIssuer: [.invalidChain, .untrustedChain]
        case .rootName: [.untrustedChain]
        case .chainAlgorithms: [.unsupportedAlgorithm, .invalidChain]
        case .leafMarker, .intermediateMarker: [.wrongCertificatePurpose]
        case .denyList, .revocation: [.certificateRevoked]
        case .signingDate, .tokenDates: [.invalidDate]
        case .validity, .rootValidity: [.certificateExpired]
        case .leafKey, .leafSignature: [.invalidChain]
        case .rootSignature, .signatures: [.untrustedChain, .invalidChain]
        case .signatureForm: [.invalidSignature]
        case .signature: [.invalidSignature]
        case .kind: [.wrongKind]
        case .bundle: [.wrongBundle]
        case .app: [.wrongApp]
        case .environment: [.wrongEnvironment]
        case .rootPurpose: [.wrongEnvironment, .untrustedChain]
        case .agreement: [.wrongBundle, .wrongApp, .wrongEnvironment, .untrustedChain]
        case .members: [.wrongBundle, .wrongEnvironment, .mismatch]
        case .product, .accountToken, .transaction, .device, .age, .memberExpectations: [.mismatch]
        }
    }

    private static let jws: [Check] = [
        .form, .segments, .payloadText, .header, .algorithm, .chainLength, .certificates,
        .leafForm, .intermediateForm, .leafUsage, .intermediateUsage, .leafIssuer, .rootName,
        .rootUsage, .chainAlgorithms, .leafMarker, .intermediateMarker, .denyList, .pinnedLeaf,
        .signingDate, .validity, .leafKey, .rootSignature, .leafSignature, .rootValidity,
        .signatureForm, .signature, .revocation, .kind, .decoding,
    ]
    /// The chains of receipts: several certificates can have the issuer's name.
    private static let receiptChain: [Check] = [
        .pinnedLeaf, .leafForm, .leafUsage, .leafIssuer, .intermediateForm, .rootName, .rootUsage,
        .chainAlgorithms, .leafMarker, .intermediateMarker, .denyList, .signingDate, .validity,
        .signatures, .signature, .revocation,
    ]
    private static let policy: [Check] = [.bundle, .app, .environment, .rootPurpose]
    private static let expectations: [Check] = [
        .product, .accountToken, .transaction, .device, .age,
    ]

    /// The checks of evidence of a kind, in their order. Evidence has those that apply to it.
    ///
    /// - Parameter isNested: whether it is a member of a notification.
    package static func all(of kind: EvidenceKind, isNested: Bool) -> [Check] {
        switch kind.format {
        case .jws: jws + (isNested ? [.agreement] : policy + expectations)
        case .appReceipt:
            [.form, .receipt, .signerInfo, .signerAlgorithm, .signerCertificate] + receiptChain
                + policy + expectations
        case .transactionReceipt:
            [.form, .purchaseInfo, .certificates, .legacyKey, .purchaseDate] + receiptChain
                + policy + expectations
        case .serverAnswer: [.form, .members, .memberExpectations]
        case .notificationV1: [.form]
        case .signedText, .signedBody:
            [
                .form, .purchaseText, .algorithm, .signatureText, .storeKey, .purchaseSignature,
                .kind, .bundle, .environment, .signingDate,
            ] + expectations
        case .push:
            [
                .form, .pushBody, .segments, .header, .algorithm, .tokenKey, .tokenSignature,
                .tokenIssuer, .tokenAudience, .tokenSender, .tokenDates, .kind, .bundle,
                .environment, .signingDate,
            ] + expectations
        }
    }
}
