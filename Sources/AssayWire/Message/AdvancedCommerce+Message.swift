import AssayModels
import CAssayProto

extension AdvancedCommerceTransactionInfo: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AdvancedCommerceTransactionInfo>) {
        unsafe assay__v1__advanced_commerce_transaction_info__init(message)
    }

    func fill(_ m: inout Assay__V1__AdvancedCommerceTransactionInfo, in arena: MessageArena) {
        unsafe m.descriptors = arena.message(descriptors)
        unsafe arena.set(&m.has_estimated_tax, &m.estimated_tax, estimatedTax)
        unsafe m.items = arena.list(items)
        unsafe arena.set(&m.has_period, &m.period, period)
        unsafe arena.set(&m.has_request_reference_id, &m.request_reference_id, requestReferenceId)
        unsafe arena.set(&m.has_tax_code, &m.tax_code, taxCode)
        unsafe arena.set(&m.has_tax_exclusive_price, &m.tax_exclusive_price, taxExclusivePrice)
        unsafe arena.set(&m.has_tax_rate, &m.tax_rate, taxRate)
    }

    init(_ m: Assay__V1__AdvancedCommerceTransactionInfo) throws(MessageError) {
        self.init()
        descriptors = try unsafe read(m.descriptors)
        estimatedTax = unsafe read(m.has_estimated_tax, m.estimated_tax)
        items = try unsafe read(m.items)
        period = try unsafe read(m.has_period, m.period)
        requestReferenceId = try unsafe read(m.has_request_reference_id, m.request_reference_id)
        taxCode = try unsafe read(m.has_tax_code, m.tax_code)
        taxExclusivePrice = unsafe read(m.has_tax_exclusive_price, m.tax_exclusive_price)
        taxRate = try unsafe read(m.has_tax_rate, m.tax_rate)
    }
}

extension AdvancedCommerceTransactionItem: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AdvancedCommerceTransactionItem>) {
        unsafe assay__v1__advanced_commerce_transaction_item__init(message)
    }

    func fill(_ m: inout Assay__V1__AdvancedCommerceTransactionItem, in arena: MessageArena) {
        unsafe arena.set(&m.has_sku, &m.sku, sku)
        unsafe arena.set(&m.has_description, &m.description, description)
        unsafe arena.set(&m.has_display_name, &m.display_name, displayName)
        unsafe m.offer = arena.message(offer)
        unsafe arena.set(&m.has_price, &m.price, price)
        unsafe m.refunds = arena.list(refunds)
        unsafe arena.set(&m.has_revocation_date, &m.revocation_date, revocationDate)
    }

    init(_ m: Assay__V1__AdvancedCommerceTransactionItem) throws(MessageError) {
        self.init()
        sku = try unsafe read(m.has_sku, m.sku)
        description = try unsafe read(m.has_description, m.description)
        displayName = try unsafe read(m.has_display_name, m.display_name)
        offer = try unsafe read(m.offer)
        price = unsafe read(m.has_price, m.price)
        refunds = try unsafe read(m.refunds)
        revocationDate = unsafe read(m.has_revocation_date, m.revocation_date)
    }
}

extension AdvancedCommerceTransactionItem: @unsafe ListElement {
    static func fill(
        _ list: UnsafeMutablePointer<Assay__V1__AdvancedCommerceTransactionItemList>, count: Int,
        values: UnsafeMutablePointer<
            UnsafeMutablePointer<Assay__V1__AdvancedCommerceTransactionItem>?
        >
    ) {
        unsafe assay__v1__advanced_commerce_transaction_item_list__init(list)
        unsafe list.pointee.n_values = count
        unsafe list.pointee.values = values
    }

    static func elements(
        _ list: Assay__V1__AdvancedCommerceTransactionItemList
    ) -> UnsafeBufferPointer<UnsafeMutablePointer<Assay__V1__AdvancedCommerceTransactionItem>?> {
        unsafe UnsafeBufferPointer(start: list.values, count: list.n_values)
    }
}

extension AdvancedCommerceRefund: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AdvancedCommerceRefund>) {
        unsafe assay__v1__advanced_commerce_refund__init(message)
    }

    func fill(_ m: inout Assay__V1__AdvancedCommerceRefund, in arena: MessageArena) {
        unsafe arena.set(&m.has_refund_amount, &m.refund_amount, refundAmount)
        unsafe arena.set(&m.has_refund_date, &m.refund_date, refundDate)
        unsafe arena.set(&m.has_refund_reason, &m.refund_reason, refundReason)
        unsafe arena.set(&m.has_refund_type, &m.refund_type, refundType)
    }

    init(_ m: Assay__V1__AdvancedCommerceRefund) throws(MessageError) {
        self.init()
        refundAmount = unsafe read(m.has_refund_amount, m.refund_amount)
        refundDate = unsafe read(m.has_refund_date, m.refund_date)
        refundReason = try unsafe read(m.has_refund_reason, m.refund_reason)
        refundType = try unsafe read(m.has_refund_type, m.refund_type)
    }
}

extension AdvancedCommerceRefund: @unsafe ListElement {
    static func fill(
        _ list: UnsafeMutablePointer<Assay__V1__AdvancedCommerceRefundList>, count: Int,
        values: UnsafeMutablePointer<UnsafeMutablePointer<Assay__V1__AdvancedCommerceRefund>?>
    ) {
        unsafe assay__v1__advanced_commerce_refund_list__init(list)
        unsafe list.pointee.n_values = count
        unsafe list.pointee.values = values
    }

    static func elements(
        _ list: Assay__V1__AdvancedCommerceRefundList
    ) -> UnsafeBufferPointer<UnsafeMutablePointer<Assay__V1__AdvancedCommerceRefund>?> {
        unsafe UnsafeBufferPointer(start: list.values, count: list.n_values)
    }
}

extension AdvancedCommerceOffer: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AdvancedCommerceOffer>) {
        unsafe assay__v1__advanced_commerce_offer__init(message)
    }

    func fill(_ m: inout Assay__V1__AdvancedCommerceOffer, in arena: MessageArena) {
        unsafe arena.set(&m.has_period, &m.period, period)
        unsafe arena.set(&m.has_period_count, &m.period_count, periodCount)
        unsafe arena.set(&m.has_price, &m.price, price)
        unsafe arena.set(&m.has_reason, &m.reason, reason)
    }

    init(_ m: Assay__V1__AdvancedCommerceOffer) throws(MessageError) {
        self.init(
            period: try unsafe required(read(m.has_period, m.period)),
            periodCount: try unsafe required(read(m.has_period_count, m.period_count)),
            price: try unsafe required(read(m.has_price, m.price)),
            reason: try unsafe required(read(m.has_reason, m.reason))
        )
    }
}

extension AdvancedCommerceDescriptors: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AdvancedCommerceDescriptors>) {
        unsafe assay__v1__advanced_commerce_descriptors__init(message)
    }

    func fill(_ m: inout Assay__V1__AdvancedCommerceDescriptors, in arena: MessageArena) {
        unsafe arena.set(&m.has_description, &m.description, description)
        unsafe arena.set(&m.has_display_name, &m.display_name, displayName)
    }

    init(_ m: Assay__V1__AdvancedCommerceDescriptors) throws(MessageError) {
        self.init(
            description: try unsafe required(read(m.has_description, m.description)),
            displayName: try unsafe required(read(m.has_display_name, m.display_name))
        )
    }
}

extension AdvancedCommerceRenewalInfo: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AdvancedCommerceRenewalInfo>) {
        unsafe assay__v1__advanced_commerce_renewal_info__init(message)
    }

    func fill(_ m: inout Assay__V1__AdvancedCommerceRenewalInfo, in arena: MessageArena) {
        unsafe arena.set(&m.has_consistency_token, &m.consistency_token, consistencyToken)
        unsafe m.descriptors = arena.message(descriptors)
        unsafe m.items = arena.list(items)
        unsafe arena.set(&m.has_period, &m.period, period)
        unsafe arena.set(&m.has_request_reference_id, &m.request_reference_id, requestReferenceId)
        unsafe arena.set(&m.has_tax_code, &m.tax_code, taxCode)
    }

    init(_ m: Assay__V1__AdvancedCommerceRenewalInfo) throws(MessageError) {
        self.init()
        consistencyToken = try unsafe read(m.has_consistency_token, m.consistency_token)
        descriptors = try unsafe read(m.descriptors)
        items = try unsafe read(m.items)
        period = try unsafe read(m.has_period, m.period)
        requestReferenceId = try unsafe read(m.has_request_reference_id, m.request_reference_id)
        taxCode = try unsafe read(m.has_tax_code, m.tax_code)
    }
}

extension AdvancedCommerceRenewalItem: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AdvancedCommerceRenewalItem>) {
        unsafe assay__v1__advanced_commerce_renewal_item__init(message)
    }

    func fill(_ m: inout Assay__V1__AdvancedCommerceRenewalItem, in arena: MessageArena) {
        unsafe arena.set(&m.has_sku, &m.sku, sku)
        unsafe arena.set(&m.has_description, &m.description, description)
        unsafe arena.set(&m.has_display_name, &m.display_name, displayName)
        unsafe m.offer = arena.message(offer)
        unsafe arena.set(&m.has_price, &m.price, price)
        unsafe m.price_increase_info = arena.message(priceIncreaseInfo)
    }

    init(_ m: Assay__V1__AdvancedCommerceRenewalItem) throws(MessageError) {
        self.init()
        sku = try unsafe read(m.has_sku, m.sku)
        description = try unsafe read(m.has_description, m.description)
        displayName = try unsafe read(m.has_display_name, m.display_name)
        offer = try unsafe read(m.offer)
        price = unsafe read(m.has_price, m.price)
        priceIncreaseInfo = try unsafe read(m.price_increase_info)
    }
}

extension AdvancedCommerceRenewalItem: @unsafe ListElement {
    static func fill(
        _ list: UnsafeMutablePointer<Assay__V1__AdvancedCommerceRenewalItemList>, count: Int,
        values: UnsafeMutablePointer<UnsafeMutablePointer<Assay__V1__AdvancedCommerceRenewalItem>?>
    ) {
        unsafe assay__v1__advanced_commerce_renewal_item_list__init(list)
        unsafe list.pointee.n_values = count
        unsafe list.pointee.values = values
    }

    static func elements(
        _ list: Assay__V1__AdvancedCommerceRenewalItemList
    ) -> UnsafeBufferPointer<UnsafeMutablePointer<Assay__V1__AdvancedCommerceRenewalItem>?> {
        unsafe UnsafeBufferPointer(start: list.values, count: list.n_values)
    }
}

extension AdvancedCommercePriceIncreaseInfo: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__AdvancedCommercePriceIncreaseInfo>)
    {
        unsafe assay__v1__advanced_commerce_price_increase_info__init(message)
    }

    func fill(_ m: inout Assay__V1__AdvancedCommercePriceIncreaseInfo, in arena: MessageArena) {
        unsafe m.dependent_skus = arena.strings(dependentSKUs)
        unsafe arena.set(&m.has_price, &m.price, price)
        unsafe arena.set(&m.has_status, &m.status, status)
    }

    init(_ m: Assay__V1__AdvancedCommercePriceIncreaseInfo) throws(MessageError) {
        self.init()
        dependentSKUs = try unsafe read(m.dependent_skus)
        price = unsafe read(m.has_price, m.price)
        status = try unsafe read(m.has_status, m.status)
    }
}
