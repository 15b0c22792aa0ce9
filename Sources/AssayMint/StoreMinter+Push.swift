import Assay
import AssayBytes
import AssayKeys
public import AssayModels

/// The claims of the OIDC token that Google adds to a Pub/Sub push. Tests can make each invalid.
public struct PushClaims: Sendable {
    /// The audience of the push subscription.
    public var audience: String
    /// The e-mail address of the service account that pushes.
    public var serviceAccount: String
    /// When the token was issued. It is valid for an hour.
    public var issued: Timestamp

    /// Creates claims.
    public init(audience: String, serviceAccount: String, issued: Timestamp) {
        self.audience = audience
        self.serviceAccount = serviceAccount
        self.issued = issued
    }

    /// The claims as JSON, with Google's members.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { claims in
            claims.member("aud", audience)
            claims.member("azp", "100000000000000000001")
            claims.member("email", serviceAccount)
            claims.member("email_verified", true)
            claims.member("exp", issued.seconds + 3600)
            claims.member("iat", issued.seconds)
            claims.member("iss", "https://accounts.google.com")
            claims.member("sub", "100000000000000000001")
        }
        return writer.text
    }
}

/// Signs the tokens of Pub/Sub pushes as Google does.
extension StoreMinter {
    /// The key's name in tokens and in the JWK Set.
    public var keyName: String { hexadecimal(key.keyIdentifier.span) }

    /// The public key as a JWK Set (RFC 7517), in the form of Google's.
    public var jwks: [UInt8] { Self.jwks([(keyName, self)]) }

    /// A JWK Set of several keys.
    package static func jwks(_ keys: [(name: String, minter: StoreMinter)]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { set in
            set.array("keys") { list in
                for (name, minter) in keys {
                    let (modulus, exponent) = minter.numbers
                    list.object { key in
                        key.member("kid", name)
                        key.member("kty", "RSA")
                        key.member("alg", "RS256")
                        key.member("use", "sig")
                        key.member("n", modulus)
                        key.member("e", exponent)
                    }
                }
            }
        }
        return writer.text
    }

    /// The numbers of the RSAPublicKey (RFC 8017, A.1.1) in base64url.
    private var numbers: (modulus: String, exponent: String) {
        let octets = key.publicKey
        func text(_ number: ArraySlice<UInt8>) -> String {
            let magnitude = Array(number.drop { $0 == 0 })
            return String(decoding: Base64URL.encode(magnitude.span), as: UTF8.self)
        }
        do throws(DERError) {
            let (modulus, exponent) = try Self.numbers(of: octets)
            return (text(octets[modulus]), text(octets[exponent]))
        } catch {
            preconditionFailure("no RSAPublicKey: \(error)")
        }
    }

    private static func numbers(
        of key: [UInt8]
    ) throws(DERError) -> (modulus: Range<Int>, exponent: Range<Int>) {
        var reader = DERReader(key.span)
        var fields = try reader.readInside(.sequence)
        let modulus = try fields.readIntegerOctets()
        return (modulus.content, try fields.readIntegerOctets().content)
    }

    /// A token with these claims and, by default, the header that Google writes.
    package func token(_ claims: [UInt8], header: String? = nil) throws(MintError) -> [UInt8] {
        let header = header ?? #"{"alg":"RS256","kid":"\#(keyName)","typ":"JWT"}"#
        let signed =
            Base64URL.encode(Array(header.utf8).span) + [UInt8(ascii: ".")]
            + Base64URL.encode(claims.span)
        let signature = try minting { () throws(SigningKeyError) in
            try key.sign(signed, digest: .sha256)
        }
        return signed + [UInt8(ascii: ".")] + Base64URL.encode(signature.span)
    }

    /// The evidence of a push: JSON with the Authorization header and the body.
    public func push(_ body: [UInt8], _ claims: PushClaims) throws(MintError) -> [UInt8] {
        Self.push(body, token: try token(claims.json))
    }

    package static func push(_ body: [UInt8], token: [UInt8]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("authorization", "Bearer " + String(decoding: token, as: UTF8.self))
            object.member("body", String(decoding: body, as: UTF8.self))
        }
        return writer.text
    }
}

extension Samples {
    /// Returns a DeveloperNotification of Google Play.
    public static func googleNotification(
        index: Int, bundleId: String, productId: String, signedDate: Timestamp,
        about: GoogleNotificationSubject = .subscription
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("version", "1.0")
            payload.member("packageName", bundleId)
            payload.member("eventTimeMillis", String(signedDate.milliseconds))
            payload.object(about.rawValue) { inside in
                let isVoided = about == .voidedPurchase
                if !isVoided { inside.member("version", "1.0") }
                guard about != .test else { return }
                // 4: purchased; of a one-time product 1.
                if !isVoided {
                    inside.member(
                        "notificationType", (about == .oneTimeProduct ? 1 : 4) as Int64)
                }
                inside.member("purchaseToken", purchaseToken("AO-J1O", index))
                switch about {
                case .oneTimeProduct: inside.member("sku", productId)
                case .voidedPurchase:
                    inside.member("orderId", "GPA.3300-0000-0000-" + String(index, width: 5))
                    inside.member("productType", 2 as Int64)
                    inside.member("refundType", 1 as Int64)
                default: inside.member("subscriptionId", productId)
                }
            }
        }
        return writer.text
    }

    /// Returns the body with which Pub/Sub pushes a message.
    public static func pushBody(
        index: Int, data: [UInt8], signedDate: Timestamp,
        subscription: String = "projects/example/subscriptions/play"
    ) -> [UInt8] {
        let id = "1370000000" + String(index, width: 6)
        var writer = JSONWriter()
        writer.object { body in
            body.object("message") { message in
                message.member("data", String(decoding: Base64.encode(data.span), as: UTF8.self))
                message.member("messageId", id)
                message.member("message_id", id)
                message.member("publishTime", signedDate.rfc3339Milliseconds)
                message.member("publish_time", signedDate.rfc3339Milliseconds)
            }
            body.member("subscription", subscription)
        }
        return writer.text
    }
}
