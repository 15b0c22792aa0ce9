import Foundation

/// Evidence that the cases of forms are made of. All of it is valid.
package struct FormSamples: Sendable {
    package let transaction: [UInt8]
    package let notification: [UInt8]
    package let realtimeRequest: [UInt8]
    /// DER of more than a kilobyte.
    package let receipt: [UInt8]
    /// The text of a transaction receipt.
    package let transactionReceipt: [UInt8]

    package init(
        transaction: [UInt8], notification: [UInt8], realtimeRequest: [UInt8], receipt: [UInt8],
        transactionReceipt: [UInt8]
    ) {
        self.transaction = transaction
        self.notification = notification
        self.realtimeRequest = realtimeRequest
        self.receipt = receipt
        self.transactionReceipt = transactionReceipt
    }
}

/// What people send instead of evidence: each form with its neighbour, which is another form.
package struct FormCase: Sendable {
    package let name: String
    /// The name of the form.
    package let form: String
    package let bytes: [UInt8]
    /// A part of the text that only this cause has.
    package let says: String
    /// The nearest bytes that have another form.
    package let neighbour: [UInt8]

    package static func all(_ samples: FormSamples) -> [FormCase] {
        var cases = FormCaseMaker(samples)
        cases.addMissingValues()
        cases.addSurroundings()
        cases.addEncodings()
        cases.addParts()
        cases.addTokens()
        cases.addDecoded()
        cases.addOtherStores()
        cases.addBinaries()
        return cases.all
    }

    /// Wrappers around the samples.
    package static func wrappers(of samples: FormSamples) -> [[UInt8]] {
        let maker = FormCaseMaker(samples)
        return [maker.token, maker.base64].flatMap { item in
            [
                #"{"Store":"AppleAppStore","TransactionID":"1","Payload":"\#(item)"}"#,
                #"{"Payload":{"jwsRepresentation":"\#(item)"},"Store":"AppleAppStore"}"#,
                #"{"purchaseToken":"\#(item)"}"#,
                #"{"transaction":{"appStoreReceipt":"\#(item)"}}"#,
                #"{"verificationData":{"serverVerificationData":"\#(item)"}}"#,
                #"{"signedPayload":"\#(item)"}"#,
            ].map { Array($0.utf8) }
        }
    }

    /// Names that are found in wrappers and bodies.
    package static let words = [
        "Store", "Payload", "TransactionID", "signedPayload", "purchaseToken", "jwsRepresentation",
        "transactionReceipt", "appStoreReceipt", "serverVerificationData", "verificationData",
        "localVerificationData", "receipt-data=", "Bearer ", "data:", "-----BEGIN ", "{length = ",
        "Apple_Xcode_Key", "appstoreconnect-v1", "unified_receipt", "packageName", "x5c", "%2B",
    ]
}

/// Makes the cases.
struct FormCaseMaker {
    let samples: FormSamples
    let token: String
    let base64: String
    private(set) var all: [FormCase] = []

    init(_ samples: FormSamples) {
        self.samples = samples
        token = String(decoding: samples.transaction, as: UTF8.self)
        base64 = Data(samples.receipt).base64EncodedString()
    }

    mutating func add(
        _ name: String, _ form: String, _ text: String, _ says: String, not neighbour: String
    ) {
        add(name, form, Array(text.utf8), says, not: Array(neighbour.utf8))
    }

    mutating func add(
        _ name: String, _ form: String, _ bytes: [UInt8], _ says: String, not neighbour: [UInt8]
    ) {
        all.append(
            FormCase(name: name, form: form, bytes: bytes, says: says, neighbour: neighbour))
    }

    static func url(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
    }

    static func jwt(_ header: String, _ payload: String) -> String {
        url(header) + "." + url(payload) + "." + String(repeating: "A", count: 86)
    }

    mutating func addMissingValues() {
        for text in ["null", "(null)", "<null>", "nil", "undefined", "None", "Optional(nil)"] {
            add(text, "noValue", text, "the text \(text): the app sent no value", not: text + "x")
        }
        add("object", "noValue", "[object Object]", "JavaScript made it", not: "[object Object")
        add("promise", "noValue", "[object Promise]", "JavaScript made it", not: "object Promise]")
        add("{}", "emptyObject", "{}", "an empty JSON object", not: "{\"a\":{}}")
        add(
            "an id", "transactionId", "2000000000000001", "a transaction id (16 digits)",
            not: "200000000000000x")
        add("an id in a file", "transactionId", "470001500000001\n", "with fetch", not: "4 7")
        add(
            "an account token", "uuid", "7e3fb20b-4cdb-47cc-936d-99d65f608138", "a UUID",
            not: "7e3fb20b-4cdb-47cc-936d-99d65f60813")
        add("white space", "empty", " \n", "it is empty", not: " a\n")
    }

    mutating func addSurroundings() {
        add("quotes", "quoted", "\"\(token)\"", "a quotation mark before", not: token)
        add("apostrophes", "quoted", "'\(base64)'", "a quotation mark before", not: base64)
        add("a quote behind a token", "quoted", token + "\"", "a quotation mark after", not: token)
        add(
            "a quote behind a receipt", "quoted", base64 + "\"", "a quotation mark after",
            not: base64)
        add("typographic quotes", "quoted", "\u{201C}\(token)\u{201D}", "typographic", not: token)
        add("Bearer", "bearer", "Bearer " + token, "the word Bearer", not: "Bear " + token)
        add("bearer", "bearer", "bearer " + base64, "the word Bearer", not: "bearer" + base64)
        add("a BOM", "byteOrderMark", "\u{FEFF}" + token, "a byte order mark", not: token)
        add("a BOM of a receipt", "byteOrderMark", "\u{FEFF}" + base64, "U+FEFF", not: base64)
        add("space before", "whiteSpace", " " + token, "white space before", not: token)
        add("tab before", "whiteSpace", "\t" + base64, "a tab at offset 0", not: base64)
        add("two line breaks", "whiteSpace", token + "\n\n", "white space after", not: token + "\n")
        add(
            "a data: URI", "dataURI", "data:application/octet-stream;base64," + base64,
            "a data: URI", not: "data;" + base64)
        add(
            "a form", "formBody", "receipt-data=" + base64, "\"=\" at offset 12",
            not: "receipt-data " + base64)
        add("a form of a token", "formBody", "token=" + token, "a form body", not: "token " + token)
        add(
            "a form's second field", "formBody", token + "&productId=a", "the next field of a form",
            not: token)
        add(
            "a receipt's second field", "formBody", base64 + "&password=a",
            "the next field of a form", not: base64)
        add("Optional", "optional", "Optional(\"\(token)\")", "Swift's Optional", not: token)
        add("Python", "pythonBytes", "b'\(base64)'", "Python's text of bytes", not: "b" + base64)
        add("a list", "jsonList", "[\"\(token)\"]", "a list in JSON", not: token)
        add(
            "HTTP", "httpMessage", "POST / HTTP/1.1\r\n\r\n{\"signedPayload\":\"\(token)\"}",
            "an HTTP message", not: "POSTS / HTTP/1.1")
        add("a line of CSV", "csv", "1,\(token),2024", "a line of a table", not: "1.\(token)")
        add("CSV of a token", "csv", "\(token),2024", "a line of a table", not: token)
        add("CSV of a receipt", "csv", "\(base64);x", "a line of a table", not: base64)
        add(
            "a page", "webPage", "<!DOCTYPE html><html></html>", "a web page",
            not: "<!DOCTYPE plist><plist/>")
        add(
            "a plist", "propertyList", "<?xml version=\"1.0\"?><plist/>", "XML, such as",
            not: "<xml>")
        add("an address", "address", "https://example.com/a", "the address of", not: "http:/a")
        add(
            "a file", "fileName", "file:///var/mobile/StoreKit/receipt", "the name of a file",
            not: "file:/var")
        add(
            "a request of verifyReceipt", "receiptRequest", "{\"receipt-data\":\"\(base64)\"}",
            "a request to verifyReceipt", not: "{\"receipt_data\":\"\(base64)\"}")
        add(
            "a request of Assay", "verifyRequest",
            "{\"kind\":\"transaction\",\"evidence\":\"\(token)\"}", "POST /v1/verify",
            not: "{\"kind\":\"transaction\"}")
        add(
            "a request of OpenIAP", "purchaseRequest", "{\"store\":\"apple\",\"jws\":\"\(token)\"}",
            "/v1/purchase/verify", not: "{\"store\":\"apple\"}")
    }
}
