import ArgumentParser

struct SignCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign",
        abstract: "Sign what Apple wants signed: offers, and retention answers.",
        discussion: """
            Signs with your key for In-App Purchase, as your backend would for one
            customer. 'assay serve' signs as well: POST /v1/sign/... over HTTP.

            THE KEY
              App Store Connect, Users and Access, Integrations, In-App Purchase: a key,
              its key id, and the issuer id. Only you may read the file: chmod 600.
                export ASSAY_STORE_KEY_FILE=~/SubscriptionKey_2X9R4HXF34.p8
                export ASSAY_STORE_ISSUER_ID=57246542-96fe-1a63-e053-0824d011072a

            EXAMPLES
              A promotional offer, as a JWS for one customer:
                assay sign promotional-offer --bundle-id com.example.game \\
                  --product gold.month --offer win-back-50 --transaction-id 470001500000001
              The same for the original API: signature, nonce and time:
                assay sign promotional-offer --bundle-id com.example.game \\
                  --product gold.month --offer win-back-50 --offer-version 1
              Whether a customer gets an introductory offer:
                assay sign introductory-offer --bundle-id com.example.game \\
                  --product gold.month --transaction-id 470001500000001 --deny
              A request of Advanced Commerce, checked by Apple's rules:
                assay sign advanced-commerce --bundle-id com.example.game create.json
              The answer to a retention request that the App Store posted:
                assay sign retention-answer --bundle-id com.example.game \\
                  --app-apple-id 1234567890 --answer answer.json request.json

            OUTPUT
              One JSON object: what the app gives to StoreKit (jws; or keyId, nonce,
              timestamp and signature), or the body of the answer to the App Store.

            EXIT STATUS
              0  signed
              1  retention-answer: the request was refused; its verdict says why
              2  wrong usage, an unusable key, or a value that breaks Apple's rules
            """,
        subcommands: [
            SignPromotionalOffer.self, SignIntroductoryOffer.self, SignAdvancedCommerce.self,
            SignRetentionAnswer.self,
        ])
}
