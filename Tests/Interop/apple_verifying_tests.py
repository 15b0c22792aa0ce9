"""Runs Apple's own tests of verification, unmodified, with Assay in place of what they test.

usage: apple_verifying_tests.py ASSAY SOURCES VECTORS

SOURCES is the unpacked source archive of app-store-server-library, whose tests it has without their
resources. VECTORS has the resources, of Apple's repository. SignedDataVerifier, the verifier of
chains and ReceiptUtility are replaced by calls of the tool before the tests import them. Apple's
library does not verify what Xcode signed, and its tests sign the models of LocalTesting with a new
key each; Assay verifies both. So the models are signed by Apple's test authority here, and Xcode's
certificate is pinned, as an operator would do. LEFT_OUT has the tests that do not apply.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

from appstoreserverlibrary import receipt_utility, signed_data_verifier
from appstoreserverlibrary.models import AppTransaction as app_transaction
from appstoreserverlibrary.models import DecodedRealtimeRequestBody as realtime
from appstoreserverlibrary.models import JWSRenewalInfoDecodedPayload as renewal_info
from appstoreserverlibrary.models import JWSTransactionDecodedPayload as transaction
from appstoreserverlibrary.models import ResponseBodyV2DecodedPayload as notification
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.LibraryUtility import _get_cattrs_converter
from appstoreserverlibrary.signed_data_verifier import VerificationException, VerificationStatus
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

ASSAY, SOURCES, VECTORS = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
RESOURCES = VECTORS / "apple-lib"
MODULES = ["test_payload_verification", "test_x509_verifiction", "test_xcode_signed_data",
           "test_receipt_utility", "test_decoded_payloads"]

# Their notifications contain members such as "signed_transaction_info_value" where the App Store has
# signed data: Apple's library leaves them to a second call, Assay verifies them and refuses the whole.
LEFT_OUT = {"test_notification_decoding", "test_consumption_request_notification_decoding",
            "test_rescind_consent_notification_decoding"}

FOLDER = tempfile.TemporaryDirectory()


def pem(name):
    return x509.load_pem_x509_certificate((RESOURCES / "certs" / name).read_bytes())


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


LEAF_KEY = serialization.load_pem_private_key(
    (RESOURCES / "certs/testLeaf.key").read_bytes(), None)


def signed(payload, certificates):
    """A JWS by the key of Apple's test leaf, with these certificates in its header."""
    text = (base64url(json.dumps({"alg": "ES256", "x5c": certificates}).encode()) + "."
            + base64url(json.dumps(payload).encode()))
    numbers = utils.decode_dss_signature(LEAF_KEY.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return text + "." + base64url(b"".join(number.to_bytes(32, "big") for number in numbers))


def verify(kind, evidence, roots, *options):
    """The answer of `assay verify`. A root that is no certificate raises ValueError."""
    command = [ASSAY, "verify", "--kind", kind, *options]
    for number, root in enumerate(roots):
        file = pathlib.Path(FOLDER.name) / f"root-{number}"
        file.write_bytes(root)
        command += ["--root", file]
    done = subprocess.run([*map(str, command), "-"], input=evidence.encode(), capture_output=True)
    if done.returncode == 2:
        raise ValueError(done.stderr.decode())
    return json.loads(done.stdout)


STATUSES = {
    "WRONG_BUNDLE": VerificationStatus.INVALID_APP_IDENTIFIER,
    "WRONG_APP": VerificationStatus.INVALID_APP_IDENTIFIER,
    "WRONG_ENVIRONMENT": VerificationStatus.INVALID_ENVIRONMENT,
}


class SignedDataVerifier:
    """The constructor and the calls of Apple's class, by `assay verify`."""

    def __init__(self, root_certificates, enable_online_checks, environment, bundle_id,
                 app_apple_id=None):
        if environment == Environment.PRODUCTION and app_apple_id is None:
            raise ValueError("appAppleId is required when the environment is Production")
        self.roots, self.environment = root_certificates, environment
        self.bundle, self.app = bundle_id, app_apple_id
        # The tests set a flag of it.
        self._chain_verifier = types.SimpleNamespace()

    def decoded(self, kind, evidence, model, *options):
        roots = list(self.roots)
        if self.environment == Environment.XCODE:
            header = json.loads(base64.urlsafe_b64decode(evidence.partition(".")[0] + "=="))
            roots.append(base64.b64decode(header["x5c"][-1]))
        options = list(options)
        if not options:
            options = ["--environment", self.environment.value, "--bundle-id", self.bundle]
        # Apple's library compares it there alone.
        if self.environment == Environment.PRODUCTION:
            options += ["--app-apple-id", str(self.app)]
        answer = verify(kind, evidence, roots, *options)
        if answer["verdict"] != "VALID":
            status = STATUSES.get(answer["verdict"], VerificationStatus.VERIFICATION_FAILURE)
            raise VerificationException(status) from Exception(answer["detail"])
        self.found = answer.get("environment")
        return _get_cattrs_converter(model).structure(answer["payload"], model)

    def verify_and_decode_renewal_info(self, evidence):
        return self.decoded(
            "renewal-info", evidence, renewal_info.JWSRenewalInfoDecodedPayload)

    def verify_and_decode_signed_transaction(self, evidence):
        return self.decoded("transaction", evidence, transaction.JWSTransactionDecodedPayload)

    def verify_and_decode_notification(self, evidence):
        model = notification.ResponseBodyV2DecodedPayload
        if "_verify_notification" not in vars(self):
            return self.decoded("notification", evidence, model)
        # The test compares what was found itself.
        answer = self.decoded("notification", evidence, model, *sum(
            (["--environment", one.value] for one in Environment), []))
        token = answer.externalPurchaseToken
        self._verify_notification(token.bundleId, token.appAppleId, Environment(self.found))
        return answer

    def verify_and_decode_realtime_request(self, evidence):
        return self.decoded("realtime-request", evidence, realtime.DecodedRealtimeRequestBody)

    def verify_and_decode_app_transaction(self, evidence):
        return self.decoded("app-transaction", evidence, app_transaction.AppTransaction)


class ChainVerifier:
    """Apple's verifier of chains: a token of the date with the chain, by `assay verify`."""

    def __init__(self, root_certificates, enable_strict_checks=True):
        self.roots = root_certificates

    def verify_chain(self, certificates, perform_online_checks, effective_date):
        if perform_online_checks:
            raise unittest.SkipTest("no request is made while evidence is verified")
        token = signed({"environment": "Sandbox", "bundleId": "com.example",
                        "signedDate": effective_date * 1000}, certificates)
        try:
            answer = verify("transaction", token, self.roots, "--environment", "Sandbox")
        except ValueError as error:
            raise VerificationException(VerificationStatus.INVALID_CERTIFICATE) from error
        verdict, detail = answer["verdict"], answer["detail"]
        # The chain was accepted; only the key of the test's leaf is known here.
        if verdict in ("VALID", "INVALID_SIGNATURE"):
            leaf = x509.load_der_x509_certificate(base64.b64decode(certificates[0]))
            return leaf.public_key().public_bytes(
                serialization.Encoding.PEM,
                serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        status = VerificationStatus.VERIFICATION_FAILURE
        if verdict == "MALFORMED":
            status = VerificationStatus.INVALID_CERTIFICATE
        elif verdict == "INVALID_CHAIN" and len(certificates) != 3:
            status = VerificationStatus.INVALID_CHAIN_LENGTH
        raise VerificationException(status) from Exception(detail)


class ReceiptUtility:
    """What a receipt contains, unverified, by `assay explain --no-verify`."""

    def payload(self, receipt):
        done = subprocess.run(
            [ASSAY, "explain", "--no-verify", "--format", "json", "-"], input=receipt.encode(),
            capture_output=True, check=True)
        return json.loads(done.stdout)["unverifiedPayload"]

    def extract_transaction_id_from_app_receipt(self, receipt):
        purchases = self.payload(receipt)["inApp"]
        return purchases[0]["transactionId"] if purchases else None

    def extract_transaction_id_from_transaction_receipt(self, receipt):
        return self.payload(receipt).get("transaction-id")


def resource(path):
    return RESOURCES / pathlib.Path(path).relative_to("tests/resources")


def create_signed_data_from_json(path):
    chain = [pem("testLeaf.pem"), pem("testIntermediate.pem"), pem("testCA.pem")]
    return signed(json.loads(resource(path).read_text()), [
        base64.b64encode(one.public_bytes(serialization.Encoding.DER)).decode() for one in chain])


def get_signed_data_verifier(environment, bundle_id, app_apple_id=1234):
    return SignedDataVerifier(
        [resource("tests/resources/certs/testCA.der").read_bytes()], False, environment, bundle_id,
        app_apple_id)


def main():
    # What the tests import beside the library, and the archive lacks.
    util = types.ModuleType("tests.util")
    util.create_signed_data_from_json = create_signed_data_from_json
    util.get_signed_data_verifier = get_signed_data_verifier
    util.get_default_signed_data_verifier = lambda: get_signed_data_verifier(
        Environment.LOCAL_TESTING, "com.example")
    util.read_data_from_file = lambda path: resource(path).read_text()
    util.read_data_from_binary_file = lambda path: resource(path).read_bytes()
    package = types.ModuleType("tests")
    package.__path__ = [str(SOURCES / "tests")]
    sys.modules |= {"tests": package, "tests.util": util}
    signed_data_verifier.SignedDataVerifier = SignedDataVerifier
    signed_data_verifier._ChainVerifier = ChainVerifier
    receipt_utility.ReceiptUtility = ReceiptUtility
    suite = unittest.TestSuite()
    for name in MODULES:
        for group in unittest.defaultTestLoader.loadTestsFromName("tests." + name):
            suite.addTests(test for test in group if test._testMethodName not in LEFT_OUT)
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
    FOLDER.cleanup()
    passed = result.testsRun - len(result.skipped)
    if not result.wasSuccessful() or passed < 20:
        sys.exit("FAILED: Apple's tests of verification")
    print(f"passed: {passed} of Apple's own tests of verification, with assay verify; "
          f"{len(LEFT_OUT) + len(result.skipped)} do not apply")


main()
