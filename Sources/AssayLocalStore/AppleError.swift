/// The errors of the App Store Server API, with Apple's codes: the HTTP status × 10000 + n.
enum AppleError: Int, Error, CaseIterable, Sendable {
    case generalBadRequest = 4_000_000
    /// Apple's documentation has the names of the errors of seats, and the numbers 4000004, 4030028
    /// and 4040022. Which belong together, is this project's reading.
    case notDeveloperManaged = 4_000_004
    case invalidRequestRevision = 4_000_005
    case invalidTransactionId = 4_000_006
    case invalidOriginalTransactionId = 4_000_008
    case invalidExtendByDays = 4_000_009
    case invalidExtendReasonCode = 4_000_010
    case invalidRequestIdentifier = 4_000_011
    case startDateTooFarInPast = 4_000_012
    case startDateAfterEndDate = 4_000_013
    case invalidPaginationToken = 4_000_014
    case invalidStartDate = 4_000_015
    case invalidEndDate = 4_000_016
    case invalidNotificationType = 4_000_018
    case multipleFiltersSupplied = 4_000_019
    case invalidTestNotificationToken = 4_000_020
    case invalidSort = 4_000_021
    case invalidProductType = 4_000_022
    case invalidProductId = 4_000_023
    case invalidInAppOwnershipType = 4_000_026
    case emptyStorefrontCountryCodes = 4_000_027
    case invalidStorefrontCountryCode = 4_000_028
    case invalidRevoked = 4_000_030
    case invalidStatus = 4_000_031
    case invalidAppAccountToken = 4_000_033
    case invalidConsumptionStatus = 4_000_034
    case invalidCustomerConsented = 4_000_035
    case invalidDeliveryStatus = 4_000_036
    case invalidSampleContentProvided = 4_000_041
    case appTransactionIdNotSupported = 4_000_048
    case invalidImage = 4_000_161
    case headerTooLong = 4_000_162
    case bodyTooLong = 4_000_163
    case appAccountTokenNotUUID = 4_000_183
    case familyTransactionNotSupported = 4_000_185
    case notOriginalTransactionId = 4_000_187
    case invalidPerformanceTest = 4_000_211
    case invalidRequestId = 4_000_212
    case invalidRealtimeURL = 4_000_215
    case invalidImageSize = 4_000_216
    case extensionIneligible = 4_030_004
    case maximumExtensions = 4_030_005
    case familyExtensionIneligible = 4_030_007
    case maximumImages = 4_030_014
    case maximumMessages = 4_030_016
    case imageInUse = 4_030_019
    case noPassingTest = 4_030_026
    case noAvailableSeats = 4_030_028
    case originalTransactionIdNotFound = 4_040_005
    case notificationURLNotFound = 4_040_007
    case testNotificationNotFound = 4_040_008
    case statusRequestNotFound = 4_040_009
    case transactionIdNotFound = 4_040_010
    case imageNotFound = 4_040_014
    case messageNotFound = 4_040_015
    case performanceTestNotFound = 4_040_018
    case defaultMessageNotFound = 4_040_020
    case realtimeURLNotFound = 4_040_021
    case seatClaimNotFound = 4_040_022
    case imageExists = 4_090_000
    case messageExists = 4_090_001
    case rateLimitExceeded = 4_290_000
    case generalInternal = 5_000_000
    case generalInternalRetryable = 5_000_001

    var status: Int { rawValue / 10_000 }

    /// The sentence beside the code.
    var message: String {
        switch self {
        case .generalBadRequest: "Bad request."
        case .notDeveloperManaged:
            "The transaction is not of a subscription with developer-hosted invitations."
        case .noAvailableSeats: "No seats are available."
        case .seatClaimNotFound: "Seat claim id not found."
        case .invalidRequestRevision: "Invalid request revision."
        case .invalidTransactionId: "Invalid transaction id."
        case .invalidOriginalTransactionId: "Invalid original transaction id."
        case .invalidExtendByDays: "Invalid extend by days value."
        case .invalidExtendReasonCode: "Invalid extend reason code."
        case .invalidRequestIdentifier: "Invalid request identifier."
        case .startDateTooFarInPast: "Start date is too far in the past."
        case .startDateAfterEndDate: "Start date is after end date, or the two are equal."
        case .invalidPaginationToken: "Invalid pagination token."
        case .invalidStartDate: "Invalid start date."
        case .invalidEndDate: "Invalid end date."
        case .invalidNotificationType: "Invalid notification type or subtype."
        case .multipleFiltersSupplied:
            "Supply either a transaction id or a notification type, but not both."
        case .invalidTestNotificationToken: "Invalid test notification token."
        case .invalidSort: "Invalid request sort."
        case .invalidProductType: "Invalid request product type."
        case .invalidProductId: "Invalid request product id."
        case .invalidInAppOwnershipType: "Invalid request in-app ownership type."
        case .emptyStorefrontCountryCodes: "Storefront country code list must not be empty."
        case .invalidStorefrontCountryCode: "Invalid storefront country code."
        case .invalidRevoked: "Invalid request revoked value."
        case .invalidStatus: "Invalid request status."
        case .invalidAppAccountToken: "Invalid app account token."
        case .invalidConsumptionStatus: "Invalid consumption status or percentage."
        case .invalidCustomerConsented: "Invalid customer consented: it must be true."
        case .invalidDeliveryStatus: "Invalid delivery status."
        case .invalidSampleContentProvided: "Invalid sample content provided."
        case .appTransactionIdNotSupported: "App transaction id is not supported."
        case .invalidImage: "Invalid image: it must be a PNG."
        case .headerTooLong: "Header is too long."
        case .bodyTooLong: "Body is too long."
        case .appAccountTokenNotUUID: "App account token is not a UUID."
        case .familyTransactionNotSupported: "Family shared transactions are not supported."
        case .notOriginalTransactionId: "Transaction id is not an original transaction id."
        case .invalidPerformanceTest: "Invalid performance test request."
        case .invalidRequestId: "Invalid request id."
        case .invalidRealtimeURL: "Invalid realtime URL."
        case .invalidImageSize: "Invalid image size."
        case .extensionIneligible: "Forbidden - subscription state ineligible for extension."
        case .maximumExtensions: "Forbidden - subscription has reached maximum extension count."
        case .familyExtensionIneligible:
            "Subscriptions that users obtain through Family Sharing can't get a renewal date "
                + "extension directly."
        case .maximumImages: "Maximum number of images reached."
        case .maximumMessages: "Maximum number of messages reached."
        case .imageInUse: "Image is in use."
        case .noPassingTest: "A passing performance test is required."
        case .originalTransactionIdNotFound: "Original transaction id not found."
        case .notificationURLNotFound:
            "No App Store Server Notification URL found for provided app. Check that a URL is "
                + "configured in App Store Connect for this environment."
        case .testNotificationNotFound:
            "Either the test notification token is expired or the notification and status are "
                + "not yet available."
        case .statusRequestNotFound:
            "The server didn't find a subscription-renewal-date extension request for this "
                + "requestIdentifier and productId combination."
        case .transactionIdNotFound: "Transaction id not found."
        case .imageNotFound: "Image not found."
        case .messageNotFound: "Message not found."
        case .performanceTestNotFound: "Performance test run not found."
        case .defaultMessageNotFound: "Default message not found."
        case .realtimeURLNotFound: "Realtime URL not found."
        case .imageExists: "Image already exists."
        case .messageExists: "Message already exists."
        case .rateLimitExceeded: "Rate limit exceeded."
        case .generalInternal: "An unknown error occurred."
        case .generalInternalRetryable: "An unknown error occurred. Please try again."
        }
    }
}
