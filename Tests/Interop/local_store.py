"""Drives a local App Store with Apple's own library, app-store-server-library from PyPI.

usage: script/interop --run local_store.py ASSAY CA-FOLDER

The library is unmodified: only its base URL is the store's, and its root the authority's. It calls
every endpoint that it knows, verifies every signed member of every answer, and verifies the
notifications that the store posts to a server of this program. Prints the number of endpoints and
checks; exits with 1 at the first unexpected answer.
"""
import http.server
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
import warnings

from appstoreserverlibrary.api_client import (
    APIError, APIException, AppStoreServerAPIClient, GetTransactionHistoryVersion)
from appstoreserverlibrary.models.ConsumptionRequest import ConsumptionRequest
from appstoreserverlibrary.models.ConsumptionRequestV1 import ConsumptionRequestV1
from appstoreserverlibrary.models.DefaultConfigurationRequest import DefaultConfigurationRequest
from appstoreserverlibrary.models.DeliveryStatus import DeliveryStatus
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.ExtendReasonCode import ExtendReasonCode
from appstoreserverlibrary.models.ExtendRenewalDateRequest import ExtendRenewalDateRequest
from appstoreserverlibrary.models.ImageSize import ImageSize
from appstoreserverlibrary.models.MassExtendRenewalDateRequest import MassExtendRenewalDateRequest
from appstoreserverlibrary.models.NotificationHistoryRequest import NotificationHistoryRequest
from appstoreserverlibrary.models.NotificationTypeV2 import NotificationTypeV2
from appstoreserverlibrary.models.OrderLookupStatus import OrderLookupStatus
from appstoreserverlibrary.models.PerformanceTestRequest import PerformanceTestRequest
from appstoreserverlibrary.models.PerformanceTestStatus import PerformanceTestStatus
from appstoreserverlibrary.models.RealtimeUrlRequest import RealtimeUrlRequest
from appstoreserverlibrary.models.SendAttemptResult import SendAttemptResult
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.models.Subtype import Subtype
from appstoreserverlibrary.models.TransactionHistoryRequest import (
    Order, ProductType, TransactionHistoryRequest)
from appstoreserverlibrary.models.UpdateAppAccountTokenRequest import UpdateAppAccountTokenRequest
from appstoreserverlibrary.models.UploadMessageImage import UploadMessageImage
from appstoreserverlibrary.models.UploadMessageRequestBody import UploadMessageRequestBody
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

BUNDLE, APP = "com.example.game", 1234567890
KEY, ISSUER = "2X9R4HXF34", "57246542-96fe-1a63-e053-0824d011072a"
DAY = 86_400_000

checks = 0
endpoints = set()


def expect(condition, what):
    global checks
    if not condition:
        print(f"FAILED: {what}")
        sys.exit(1)
    checks += 1


class Client(AppStoreServerAPIClient):
    """Apple's client with another base URL. Counts the endpoints that it calls."""

    def __init__(self, url, key, environment, bundle=BUNDLE, key_id=KEY):
        super().__init__(key, key_id, ISSUER, bundle, environment)
        self._base_url = url

    def _execute_request(self, method, url, params, headers, json, data):
        # The method of the library, and the version of the endpoint that it calls.
        name = sys._getframe(2).f_code.co_name
        endpoints.add((name, url[len(self._base_url):].split("/")[2]))
        return super()._execute_request(method, url, params, headers, json, data)


def expect_error(call, error, status=None):
    try:
        call()
    except APIException as raised:
        expect(raised.api_error == error, f"{raised.raw_api_error} instead of {error}")
        expect(raised.http_status_code == (status or error // 10000), raised.http_status_code)
        return
    expect(False, f"no error, {error} expected")


class Backend(http.server.BaseHTTPRequestHandler):
    """The backend under test: verifies what the store posts, or fails."""

    failures = 0
    received = []
    verifiers = {}

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if Backend.failures:
            Backend.failures -= 1
            self.send_response(503)
            self.end_headers()
            return
        Backend.received.append(json.loads(body)["signedPayload"])
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


def call(url, method="GET", body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method)) as answer:
        return json.load(answer)


class Store:
    """The store's own calls."""

    def __init__(self, url):
        self.url = url

    def advance(self, duration):
        return call(self.url + "/advance", "POST", {"duration": duration})

    def fault(self, **fault):
        return call(self.url + "/faults", "POST", fault)

    def add(self, scenario, environment="Production"):
        return call(self.url + "/customers", "POST",
                    {"scenario": scenario, "environment": environment})


def transactions_of(client, verifier, store, customer):
    ids = [entry["transactionId"] for entry in customer["transactions"]]
    info = client.get_transaction_info(ids[0])
    decoded = verifier.verify_and_decode_signed_transaction(info.signedTransactionInfo)
    expect(decoded.transactionId == ids[0], decoded)
    expect(decoded.appAccountToken == customer["appAccountToken"], decoded)
    app = client.get_app_transaction_info(ids[0]).signedAppTransactionInfo
    decoded = verifier.verify_and_decode_app_transaction(app)
    expect(decoded.appTransactionId == customer["appTransactionId"], decoded)
    order = client.look_up_order_id(customer["transactions"][0]["orderId"])
    expect(order.status == OrderLookupStatus.VALID, order)
    decoded = verifier.verify_and_decode_signed_transaction(order.signedTransactions[0])
    expect(decoded.transactionId == ids[0], decoded)
    expect(client.look_up_order_id("M1").status == OrderLookupStatus.INVALID, "unknown order")
    client.finish_transaction(ids[0])
    expect_error(lambda: client.get_transaction_info("1"), APIError.TRANSACTION_ID_NOT_FOUND)
    expect_error(lambda: client.get_transaction_info("x"), APIError.INVALID_TRANSACTION_ID)
    expect_error(lambda: client.get_transaction_info(customer["appTransactionId"]),
                 APIError.APP_TRANSACTION_ID_NOT_SUPPORTED_ERROR)


def pages(client, verifier, any_id, request, version=GetTransactionHistoryVersion.V2):
    """All transactions of a history, page by page, and the last revision."""
    revision, found, count = None, [], 0
    while True:
        answer = client.get_transaction_history(any_id, revision, request, version)
        expect(answer.revision is not None and answer.bundleId == BUNDLE, answer)
        found += [verifier.verify_and_decode_signed_transaction(token)
                  for token in answer.signedTransactions]
        count += 1
        revision = answer.revision
        if not answer.hasMore:
            return found, revision, count


def history(client, verifier, store, life):
    any_id = life["transactions"][0]["transactionId"]
    request = TransactionHistoryRequest(sort=Order.ASCENDING)
    found, revision, count = pages(client, verifier, any_id, request)
    expect(count == 3 and len(found) == 3, f"{count} pages, {len(found)} items")
    expect(len({item.transactionId for item in found}) == 3, found)
    # The refund on the 45th day changes the third period after this revision.
    store.advance("6d")
    answer = client.get_transaction_history(any_id, revision, request,
                                            GetTransactionHistoryVersion.V2)
    decoded = verifier.verify_and_decode_signed_transaction(answer.signedTransactions[0])
    expect(len(answer.signedTransactions) == 1 and decoded.revocationDate is not None, decoded)
    request = TransactionHistoryRequest(
        sort=Order.DESCENDING, productTypes=[ProductType.AUTO_RENEWABLE], revoked=False,
        productIds=["premium.monthly"], subscriptionGroupIdentifiers=["2100"], startDate=0)
    found, _, _ = pages(client, verifier, any_id, request)
    expect(len(found) == 2, found)
    for version in GetTransactionHistoryVersion:
        found, _, _ = pages(client, verifier, any_id, TransactionHistoryRequest(), version)
        expect(len(found) == 3, found)
    expect_error(lambda: client.get_transaction_history(
        any_id, "wrong", request, GetTransactionHistoryVersion.V2),
        APIError.INVALID_REQUEST_REVISION)
    # A repeat: the second page begins with the last item of the first one.
    first = client.get_transaction_history(any_id, None, TransactionHistoryRequest(),
                                           GetTransactionHistoryVersion.V2)
    store.fault(endpoint="history", page="repeated")
    second = client.get_transaction_history(any_id, first.revision, TransactionHistoryRequest(),
                                            GetTransactionHistoryVersion.V2)
    expect(len(second.signedTransactions) == 2, second)


def refunds(client, verifier, any_id):
    answer = client.get_refund_history(any_id, None)
    decoded = verifier.verify_and_decode_signed_transaction(answer.signedTransactions[0])
    expect(decoded.revocationDate is not None and not answer.hasMore, decoded)
    again = client.get_refund_history(any_id, answer.revision)
    expect(again.signedTransactions == [] and not again.hasMore, again)


def statuses(client, verifier, store, grace):
    any_id = grace["transactions"][0]["transactionId"]

    def status():
        answer = client.get_all_subscription_statuses(any_id)
        expect(answer.environment == Environment.PRODUCTION and answer.appAppleId == APP, answer)
        last = answer.data[0].lastTransactions[0]
        verifier.verify_and_decode_signed_transaction(last.signedTransactionInfo)
        renewal = verifier.verify_and_decode_renewal_info(last.signedRenewalInfo)
        return last.status, renewal

    expect(status()[0] == Status.ACTIVE, "active after the purchase")
    store.advance("30d")
    found, renewal = status()
    expect(found == Status.BILLING_GRACE_PERIOD, found)
    expect(renewal.isInBillingRetryPeriod and renewal.gracePeriodExpiresDate, renewal)
    active = client.get_all_subscription_statuses(any_id, [Status.ACTIVE])
    expect(active.data == [], active)
    store.advance("16d")
    expect(status()[0] == Status.BILLING_RETRY, "retry after the grace period")


def changes(client, verifier, store, customer, consumable):
    original = customer["transactions"][0]["originalTransactionId"]
    request = ExtendRenewalDateRequest(
        extendByDays=7, extendReasonCode=ExtendReasonCode.CUSTOMER_SATISFACTION,
        requestIdentifier=str(uuid.uuid4()))
    before = customer["transactions"][0]["expiresDate"]
    answer = client.extend_subscription_renewal_date(original, request)
    expect(answer.success and answer.effectiveDate == before + 7 * DAY, answer)
    info = client.get_transaction_info(original).signedTransactionInfo
    decoded = verifier.verify_and_decode_signed_transaction(info)
    expect(decoded.expiresDate == answer.effectiveDate, decoded)
    bad = ExtendRenewalDateRequest(
        extendByDays=91, extendReasonCode=ExtendReasonCode.OTHER, requestIdentifier="a")
    expect_error(lambda: client.extend_subscription_renewal_date(original, bad),
                 APIError.INVALID_EXTEND_BY_DAYS)
    identifier = str(uuid.uuid4())
    client.extend_renewal_date_for_all_active_subscribers(MassExtendRenewalDateRequest(
        extendByDays=3, extendReasonCode=ExtendReasonCode.SERVICE_ISSUE_OR_OUTAGE,
        requestIdentifier=identifier, productId="premium.monthly",
        storefrontCountryCodes=["USA"]))
    state = client.get_status_of_subscription_renewal_date_extensions(
        identifier, "premium.monthly")
    expect(state.complete and state.succeededCount >= 1, state)
    expect_error(lambda: client.get_status_of_subscription_renewal_date_extensions(
        "other-request", "premium.monthly"), APIError.STATUS_REQUEST_NOT_FOUND)
    expect_error(lambda: client.extend_subscription_renewal_date(original, request),
                 APIError.SUBSCRIPTION_MAX_EXTENSION)

    token = str(uuid.uuid4())
    client.set_app_account_token(original, UpdateAppAccountTokenRequest(appAccountToken=token))
    info = client.get_transaction_info(original).signedTransactionInfo
    expect(verifier.verify_and_decode_signed_transaction(info).appAccountToken == token, token)
    expect_error(lambda: client.set_app_account_token(
        original, UpdateAppAccountTokenRequest(appAccountToken="x")),
        APIError.INVALID_APP_ACCOUNT_TOKEN_UUID_ERROR)

    bought = consumable["transactions"][0]["transactionId"]
    client.send_consumption_information(bought, ConsumptionRequest(
        customerConsented=True, sampleContentProvided=False,
        deliveryStatus=DeliveryStatus.DELIVERED, consumptionPercentage=50_000))
    client.send_consumption_data(bought, ConsumptionRequestV1(customerConsented=True))
    expect_error(lambda: client.send_consumption_data(
        bought, ConsumptionRequestV1(customerConsented=False)),
        APIError.INVALID_CUSTOMER_CONSENTED)
    found = [entry for entry in call(store.url + "/customers")["customers"]
             if entry["customer"] == consumable["customer"]]
    expect(len(found[0]["consumption"]) == 2, found)


def notifications(client, verifier, store, start):
    posted = [verifier.verify_and_decode_notification(token) for token in Backend.received]
    types = [entry.notificationType for entry in posted]
    for wanted in [NotificationTypeV2.SUBSCRIBED, NotificationTypeV2.DID_FAIL_TO_RENEW,
                   NotificationTypeV2.RENEWAL_EXTENDED, NotificationTypeV2.RENEWAL_EXTENSION]:
        expect(wanted in types, f"{wanted} was not posted: {types}")
    for entry in posted:
        if entry.data and entry.data.signedTransactionInfo:
            verifier.verify_and_decode_signed_transaction(entry.data.signedTransactionInfo)
        if entry.data and entry.data.signedRenewalInfo:
            verifier.verify_and_decode_renewal_info(entry.data.signedRenewalInfo)

    # A test notification that fails twice, and is sent again after 1 and 12 hours.
    Backend.failures = 2
    token = client.request_test_notification().testNotificationToken
    store.advance("0d")
    state = client.get_test_notification_status(token)
    expect([attempt.sendAttemptResult for attempt in state.sendAttempts]
           == [SendAttemptResult.UNSUCCESSFUL_HTTP_RESPONSE_CODE], state)
    expect(store.advance("59m")["sent"] == [], "a retry before its time")
    expect(len(store.advance("1m")["sent"]) == 1, "the retry after an hour")
    store.advance("12h")
    state = client.get_test_notification_status(token)
    results = [attempt.sendAttemptResult for attempt in state.sendAttempts]
    expect(len(results) == 3 and results[-1] == SendAttemptResult.SUCCESS, results)
    hours = [(attempt.attemptDate - state.sendAttempts[0].attemptDate) / 3_600_000
             for attempt in state.sendAttempts]
    expect(hours == [0, 1, 13], hours)
    decoded = verifier.verify_and_decode_notification(state.signedPayload)
    expect(decoded.notificationType == NotificationTypeV2.TEST, decoded)
    expect(verifier.verify_and_decode_notification(Backend.received[-1]).notificationType
           == NotificationTypeV2.TEST, "the test notification was posted")
    expect_error(lambda: client.get_test_notification_status("nothing"),
                 APIError.INVALID_TEST_NOTIFICATION_TOKEN)

    # The history, page by page.
    request = NotificationHistoryRequest(startDate=start, endDate=start + 90 * DAY)
    page, found = None, []
    while True:
        answer = client.get_notification_history(page, request)
        found += answer.notificationHistory
        if not answer.hasMore:
            break
        page = answer.paginationToken
    sent = [entry for entry in call(store.url + "/notifications")["notifications"]
            if entry["environment"] == "Production"]
    expect(len(found) == len(sent), f"{len(found)} of {len(sent)}")
    for entry in found:
        verifier.verify_and_decode_notification(entry.signedPayload)
    request = NotificationHistoryRequest(
        startDate=start, endDate=start + 90 * DAY,
        notificationType=NotificationTypeV2.DID_FAIL_TO_RENEW,
        notificationSubtype=Subtype.GRACE_PERIOD)
    answer = client.get_notification_history(None, request)
    expect(len(answer.notificationHistory) == 1, answer)
    expect_error(lambda: client.get_notification_history(None, NotificationHistoryRequest(
        startDate=start - 400 * DAY, endDate=start)), APIError.START_DATE_TOO_FAR_IN_PAST)


def messaging(client, store, sandbox, any_id):
    """Retention messaging; `sandbox` approves at once, and has the performance test."""
    png = b"\x89PNG\r\n\x1a\n" + bytes(64)
    image, message = uuid.uuid4(), uuid.uuid4()
    sandbox.upload_image(image, png, ImageSize.FULL_SIZE)
    expect_error(lambda: sandbox.upload_image(image, png), APIError.IMAGE_ALREADY_EXISTS)
    expect(sandbox.get_image_list().imageIdentifiers[0].imageIdentifier == image, "image list")
    sandbox.upload_message(message, UploadMessageRequestBody(
        header="Stay", body="A month is free.",
        image=UploadMessageImage(imageIdentifier=image, altText="a gift")))
    expect_error(lambda: sandbox.delete_image(image), APIError.IMAGE_IN_USE)
    expect(sandbox.get_message_list().messageIdentifiers[0].messageIdentifier == message, "list")
    sandbox.configure_default_message(
        "premium.monthly", "en-US", DefaultConfigurationRequest(messageIdentifier=message))
    expect(sandbox.get_default_message("premium.monthly", "en-US").messageIdentifier == message,
           "default message")
    sandbox.delete_default_message("premium.monthly", "en-US")
    expect_error(lambda: sandbox.get_default_message("premium.monthly", "en-US"),
                 APIError.DEFAULT_MESSAGE_NOT_FOUND)
    sandbox.delete_message(message)
    sandbox.delete_image(image)
    url = RealtimeUrlRequest(realtimeURL="https://backend.example.com/retention")
    expect_error(lambda: client.configure_realtime_url(url), APIError.FORBIDDEN_NO_PASSING_TEST)
    sandbox.configure_realtime_url(url)
    expect(sandbox.get_realtime_url().realtimeURL == url.realtimeURL, "realtime URL")
    started = sandbox.initiate_performance_test(
        PerformanceTestRequest(originalTransactionId=any_id))
    result = sandbox.get_performance_test_results(started.requestId)
    expect(result.result == PerformanceTestStatus.PASS, result)
    client.configure_realtime_url(url)
    client.delete_realtime_url()
    expect_error(client.get_realtime_url, APIError.REALTIME_URL_NOT_FOUND)


def hostile(client, store, key, url, any_id):
    """Faults, rate limits and tokens that the store does not accept."""
    store.fault(endpoint="transaction", code=5000001, count=2)
    for _ in range(2):
        expect_error(lambda: client.get_transaction_info(any_id),
                     APIError.GENERAL_INTERNAL_RETRYABLE)
    client.get_transaction_info(any_id)
    store.fault(endpoint="transaction", status=401)
    expect_error(lambda: client.get_transaction_info(any_id), None, 401)
    other = Client(url, ec_key(), Environment.PRODUCTION)
    expect_error(lambda: other.get_transaction_info(any_id), None, 401)
    unknown = Client(url, key, Environment.PRODUCTION, key_id="OTHERKEY00")
    expect_error(lambda: unknown.get_transaction_info(any_id), None, 401)
    wrong = Client(url, key, Environment.PRODUCTION, bundle="com.example.other")
    expect(wrong.get_all_subscription_statuses(any_id).data == [], "another bid has no data")
    empty = wrong.get_transaction_history(any_id, None, TransactionHistoryRequest(),
                                          GetTransactionHistoryVersion.V2)
    expect(empty.signedTransactions == [] and not empty.hasMore, empty)


def limits(assay, ca, key_file):
    """429 with the time of the next request, in UNIX milliseconds."""
    with open_store(assay, ca, key_file, ["--customer", "subscribe"]) as (url, _):
        client = Client(url, pathlib.Path(key_file).read_bytes(), Environment.PRODUCTION)
        any_id = call(url + "/customers")["customers"][0]["transactions"][0]["transactionId"]
        statuses = []
        for _ in range(15):
            request = urllib.request.Request(
                url + "/inApps/v2/refund/lookup/" + any_id, headers=client._get_headers())
            try:
                urllib.request.urlopen(request)
                statuses.append(200)
            except urllib.error.HTTPError as error:
                statuses.append(error.code)
                wait = int(error.headers["Retry-After"]) - time.time() * 1000
                expect(-100 < wait < 1000, f"Retry-After is {wait} ms from now")
                expect(json.load(error)["errorCode"] == 4290000, "the error of a rate limit")
        expect(statuses[:10] == [200] * 10 and 429 in statuses, statuses)


def ec_key():
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption())


class open_store:
    """A store with a key, and its address."""

    def __init__(self, assay, ca, key_file, options):
        command = [assay, "store", "--ca", ca, "--listen", "http://127.0.0.1:0",
                   "--key", f"{KEY}={key_file}", "--issuer", ISSUER] + options
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)

    def __enter__(self):
        words = self.process.stdout.readline().split()
        expect(words[:3] == ["assay", "store", "ready"], words)
        return words[3], Store(words[3])

    def __exit__(self, *arguments):
        self.process.terminate()
        expect(self.process.wait(10) == 0, "the store ended normally")


def drive(assay, ca, folder):
    key_file = folder + "/key.p8"
    key = ec_key()
    pathlib.Path(key_file).write_bytes(key)
    pem = pathlib.Path(ca, "root.pem").read_bytes()
    root = x509.load_pem_x509_certificate(pem).public_bytes(serialization.Encoding.DER)
    # No online checks: nobody answers OCSP for a development authority.
    production = SignedDataVerifier([root], False, Environment.PRODUCTION, BUNDLE, APP)
    sandbox = SignedDataVerifier([root], False, Environment.SANDBOX, BUNDLE)
    backend = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    threading.Thread(target=backend.serve_forever, daemon=True).start()
    options = ["--notify", f"http://127.0.0.1:{backend.server_port}/notifications",
               "--page-size", "1", "--no-rate-limits"]
    with open_store(assay, ca, key_file, options) as (url, store):
        start = call(url + "/customers")["now"]
        client = Client(url, key, Environment.PRODUCTION)
        other = Client(url + "/sandbox", key, Environment.SANDBOX)
        grace, consumable = store.add("grace-period"), store.add("consumable")
        transactions_of(client, production, store, grace)
        statuses(client, production, store, grace)
        subscriber = store.add("subscribe")
        changes(client, production, store, subscriber, consumable)
        notifications(client, production, store, start)
        # A life in the sandbox, with other ids: production does not know them.
        Backend.received.clear()
        life = store.add("customers-life", "Sandbox")
        store.advance("40d")
        life = call(url + "/customers")["customers"][-1]
        any_id = life["transactions"][0]["transactionId"]
        expect_error(lambda: client.get_transaction_info(any_id),
                     APIError.TRANSACTION_ID_NOT_FOUND)
        transactions_of(other, sandbox, store, life)
        history(other, sandbox, store, life)
        refunds(other, sandbox, any_id)
        decoded = sandbox.verify_and_decode_notification(Backend.received[0])
        expect(decoded.notificationType == NotificationTypeV2.SUBSCRIBED, decoded)
        messaging(client, store, other, any_id)
        hostile(client, store, key, url, subscriber["transactions"][0]["transactionId"])
    limits(assay, ca, key_file)
    backend.shutdown()
    methods = {name for name in vars(AppStoreServerAPIClient) if not name.startswith("_")}
    called = {name for name, _ in endpoints}
    expect(called == methods, f"not called: {methods - called}")
    print(f"passed: all {len(methods)} methods of Apple's library, {len(endpoints)} endpoints, "
          f"{checks} checks")


if __name__ == "__main__":
    # Apple deprecates endpoints that still answer.
    warnings.simplefilter("ignore", DeprecationWarning)
    with tempfile.TemporaryDirectory() as scratch:
        drive(sys.argv[1], sys.argv[2], scratch)
