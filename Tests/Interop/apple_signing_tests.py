"""Runs Apple's own tests of signatures, unmodified, with Assay in place of what they test.

usage: apple_signing_tests.py ASSAY SOURCES VECTORS

SOURCES is the unpacked source archive of app-store-server-library, whose tests it has without their
resources. VECTORS has the resources, of Apple's repository. Four classes of the library are
replaced by calls of `assay sign` before the tests import them. One test is left out: it signs a
request with one made-up member, which is none of Apple's types, and Assay refuses it. It refuses
the identifiers of the others as well, which have not the form of Apple's: real ones stand in for
them, and are replaced again in the answer.
"""
import base64
import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

from appstoreserverlibrary import jws_signature_creator, promotional_offer

assay, sources, vectors = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
MODULES = ["test_jws_signature_creator", "test_promotional_offer_signature_creator"]
LEFT_OUT = {"test_advanced_commerce_api_in_app_signature_creator"}
STAND_INS = {"keyId": "2X9R4HXF34", "issuerId": "57246542-96fe-1a63-e053-0824d011072a",
             "transactionId": "470001500000001"}
folder = tempfile.TemporaryDirectory()


def with_identifiers_of_the_test(answer):
    """The answer with its stand-ins replaced. Apple's tests do not check the signature."""
    if "jws" not in answer:
        return answer
    segments = answer["jws"].split(".")
    for index in (0, 1):
        text = base64.urlsafe_b64decode(segments[index] + "==").decode()
        for name, value in STAND_INS.items():
            text = text.replace(f'"{value}"', f'"{name}"')
        segments[index] = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return answer | {"jws": ".".join(segments)}


class Creator:
    """The constructor of Apple's classes, and a call of the tool."""

    def __init__(self, signing_key, key_id, *words):
        self.key, self.key_id = signing_key, key_id
        self.issuer, self.bundle = words if len(words) == 2 else ("issuerId", words[0])

    def sign(self, kind, flags=(), stdin=b"", **options):
        file = pathlib.Path(folder.name) / "key.p8"
        file.touch(mode=0o600)
        file.write_bytes(self.key)
        command = [assay, "sign", kind, "--bundle-id", self.bundle, "--key", file, "--key-id",
                   STAND_INS[self.key_id], "--issuer-id", STAND_INS[self.issuer], *flags]
        for name, value in options.items():
            if value is not None:
                command += ["--" + name.replace("_", "-"), STAND_INS.get(value, value)]
        done = subprocess.run(command, input=stdin, capture_output=True)
        if done.returncode != 0:
            # As Apple's library refuses an argument that is None.
            raise ValueError(done.stderr.decode())
        return with_identifiers_of_the_test(json.loads(done.stdout))


class PromotionalOfferV2SignatureCreator(Creator):
    def create_signature(self, product_id, offer_identifier, transaction_id=None):
        return self.sign("promotional-offer", product=product_id, offer=offer_identifier,
                         transaction_id=transaction_id)["jws"]


class IntroductoryOfferEligibilitySignatureCreator(Creator):
    def create_signature(self, product_id, allow_introductory_offer, transaction_id):
        flags = {True: ["--allow"], False: ["--deny"], None: []}[allow_introductory_offer]
        return self.sign("introductory-offer", flags, product=product_id,
                         transaction_id=transaction_id)["jws"]


class AdvancedCommerceAPIInAppSignatureCreator(Creator):
    def create_signature(self, request):
        text = b"" if request is None else json.dumps(vars(request)).encode()
        return self.sign("advanced-commerce", ["-"], text)["jws"]


class PromotionalOfferSignatureCreator(Creator):
    def create_signature(self, product_identifier, subscription_offer_id, app_account_token, nonce,
                         timestamp):
        return self.sign("promotional-offer", product=product_identifier,
                         offer=subscription_offer_id, offer_version="1",
                         app_account_token=app_account_token)["signature"]


def main():
    # What the tests import beside the library, and the archive lacks.
    util = types.ModuleType("tests.util")
    util.read_data_from_binary_file = lambda name: (
        vectors / "apple-lib" / pathlib.Path(name).relative_to("tests/resources")).read_bytes()
    package = types.ModuleType("tests")
    package.__path__ = [str(sources / "tests")]
    sys.modules |= {"tests": package, "tests.util": util}
    for module, kinds in (
            (jws_signature_creator, [PromotionalOfferV2SignatureCreator,
                                     IntroductoryOfferEligibilitySignatureCreator,
                                     AdvancedCommerceAPIInAppSignatureCreator]),
            (promotional_offer, [PromotionalOfferSignatureCreator])):
        for kind in kinds:
            setattr(module, kind.__name__, kind)
    suite = unittest.TestSuite()
    for name in MODULES:
        for group in unittest.defaultTestLoader.loadTestsFromName("tests." + name):
            suite.addTests(test for test in group if test._testMethodName not in LEFT_OUT)
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
    folder.cleanup()
    if not result.wasSuccessful() or result.testsRun < 10:
        sys.exit("FAILED: Apple's tests of signatures")
    print(f"passed: {result.testsRun} of Apple's own tests of signatures, with assay sign")


main()
