"""A client of Assay, which verifies App Store purchase evidence.

    with Client("unix:/run/assay/assay.sock") as client:
        answer = client.verify(token, EvidenceKind.TRANSACTION)
        if answer.is_valid:
            deliver(answer.verification.transaction.product_id, answer.dedup_key)
"""

from ._address import TLS
from ._aio import AsyncClient
from ._blocking import Client
from ._calls import FetchAnswer, Item, Resolved, Verified
from ._channel import Options
from .errors import (
    AddressError, AssayError, ClientClosed, ConnectError, ConnectionLost, DeadlineExceeded, ProtocolError,
    RequestTooLarge, StatusError, TLSError, TooManyWaiting)
from .messages import (
    EntitlementPolicy, Entitlements, EvidenceKind, Expectations, InAppSelection, ProductDuration, ServerInfo,
    Status, StoreList, Verdict, Verification)

__all__ = [
    "AddressError", "AssayError", "AsyncClient", "Client", "ClientClosed", "ConnectError", "ConnectionLost",
    "DeadlineExceeded", "EntitlementPolicy", "Entitlements", "EvidenceKind", "Expectations", "FetchAnswer",
    "InAppSelection", "Item", "Options", "ProductDuration", "ProtocolError", "RequestTooLarge", "Resolved",
    "ServerInfo", "Status", "StatusError", "StoreList", "TLS", "TLSError", "TooManyWaiting", "Verdict",
    "Verification", "Verified",
]
