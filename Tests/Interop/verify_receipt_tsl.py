"""Verifies a receipt by tsl-itunes-iap from PyPI, unmodified, whose module is named as itunes-iap's.

usage: PYTHONPATH=FOLDER verify_receipt_tsl.py URL < RECEIPT

Prints what the server answered, as JSON; of a refusal the status alone.
"""
import json
import sys

from itunesiap import InvalidReceipt, Request, core

core.RECEIPT_PRODUCTION_VALIDATION_URL = sys.argv[1]
try:
    found = Request(sys.stdin.read()).verify()
    assert found.product_id == found.receipt["in_app"][-1]["product_id"]
    print(json.dumps(found.data))
except InvalidReceipt as raised:
    print(json.dumps({"status": raised.status}))
