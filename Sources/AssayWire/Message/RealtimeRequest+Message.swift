import AssayModels
import CAssayProto

extension DecodedRealtimeRequestBody: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__DecodedRealtimeRequestBody>) {
        unsafe assay__v1__decoded_realtime_request_body__init(message)
    }

    func fill(_ m: inout Assay__V1__DecodedRealtimeRequestBody, in arena: MessageArena) {
        unsafe arena.set(
            &m.has_original_transaction_id, &m.original_transaction_id, originalTransactionId)
        unsafe arena.set(&m.has_app_apple_id, &m.app_apple_id, appAppleId)
        unsafe arena.set(&m.has_product_id, &m.product_id, productId)
        unsafe arena.set(&m.has_user_locale, &m.user_locale, userLocale)
        unsafe arena.set(&m.has_request_identifier, &m.request_identifier, requestIdentifier)
        unsafe arena.set(&m.has_signed_date, &m.signed_date, signedDate)
        unsafe arena.set(&m.has_environment, &m.environment, environment)
    }

    init(_ m: Assay__V1__DecodedRealtimeRequestBody) throws(MessageError) {
        self.init(
            originalTransactionId: try unsafe required(
                read(m.has_original_transaction_id, m.original_transaction_id)),
            appAppleId: try unsafe required(read(m.has_app_apple_id, m.app_apple_id)),
            productId: try unsafe required(read(m.has_product_id, m.product_id)),
            userLocale: try unsafe required(read(m.has_user_locale, m.user_locale)),
            requestIdentifier: try unsafe required(
                read(m.has_request_identifier, m.request_identifier)),
            signedDate: try unsafe required(read(m.has_signed_date, m.signed_date)),
            environment: try unsafe required(read(m.has_environment, m.environment))
        )
    }
}
