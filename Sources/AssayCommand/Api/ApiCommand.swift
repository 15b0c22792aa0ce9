import ArgumentParser

struct ApiCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "api",
        abstract: "Ask Apple's App Store Server API, and verify what it answers.",
        discussion: """
            Signs each request with your key, asks production and then the sandbox, walks
            through pages, waits for rate limits, tries again where Apple says so, and
            verifies every signed member. Nothing unsigned is believed. Needs libcurl.

            THE KEY
              App Store Connect, Users and Access, Integrations, In-App Purchase: a key,
              its key id, and the issuer id. Only you may read the file: chmod 600.

                export ASSAY_STORE_KEY_FILE=~/SubscriptionKey_2X9R4HXF34.p8
                export ASSAY_STORE_KEY_ID=2X9R4HXF34
                export ASSAY_STORE_ISSUER_ID=57246542-96fe-1a63-e053-0824d011072a

            EXAMPLES
              What does the customer of this transaction own, by Apple's account?
                assay api history --bundle-id com.example.game --all 470001500000001
              Keep what Apple answered, and decide again later:
                assay api history --bundle-id com.example.game --all \\
                  --save ./customer-4711 470001500000001
                assay entitlements --bundle-id com.example.game ./customer-4711
              The number on a customer's receipt from the App Store:
                assay api order --bundle-id com.example.game MVWXYZ1234
              Notifications that your server did not accept yesterday:
                assay api notifications --bundle-id com.example.game --all \\
                  --start 2026-01-14T00:00:00Z --only-failures
              Does my server get notifications?
                assay api test-notification --bundle-id com.example.game

            EXIT STATUS
              0  the App Store answered, and every signed member is VALID
              1  the App Store refused the request, or a signed member was refused
              2  wrong usage, an unusable key, or the App Store could not be reached
            """,
        subcommands: [
            ApiStatuses.self, ApiHistory.self, ApiTransaction.self, ApiAppTransaction.self,
            ApiOrder.self, ApiRefunds.self, ApiNotifications.self, ApiTestNotification.self,
            ApiExtend.self, ApiMassExtend.self, ApiConsumption.self, ApiSetAccountToken.self,
            ApiFinish.self, ApiMessaging.self, ApiAdvancedCommerce.self, ApiGroups.self,
            ApiExternalPurchases.self,
        ])
}
