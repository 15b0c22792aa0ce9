"""A client of Assay, which verifies store purchases.

    with Client("unix:/run/assay/assay.sock") as client:
        answer = client.resolve([token], expectations=Expectations(
            bundle_id="com.example.game", app_account_token=user))
        for app in answer.entitlements.apps:
            for group in app.subscription_groups:
                if group.deciding.is_entitled:
                    unlock(group.deciding.product_id)

A verdict of `verify` says that a purchase is genuine, and not that it has not expired.
"""

from ._address import TLS
from ._aio import AsyncClient
from ._blocking import Client
from ._calls import FetchAnswer, Item, Resolved, Verified, VerifiedItem
from ._channel import Options
from .errors import (
    AddressError, AssayError, ClientClosed, ConnectError, ConnectionLost, DeadlineExceeded, ProtocolError,
    RequestTooLarge, StatusError, TLSError, TooManyWaiting)
from .messages import (
    ABSENT, EntitlementPolicy, Entitlements, EvidenceKind, Expectations, InAppSelection, ProductDuration,
    ServerInfo, Status, StoreList, Verdict, Verification)

__all__ = [
    "ABSENT", "AddressError", "AssayError", "AsyncClient", "Client", "ClientClosed", "ConnectError", "ConnectionLost",
    "DeadlineExceeded", "EntitlementPolicy", "Entitlements", "EvidenceKind", "Expectations", "FetchAnswer",
    "InAppSelection", "Item", "Options", "ProductDuration", "ProtocolError", "RequestTooLarge", "Resolved",
    "ServerInfo", "Status", "StatusError", "StoreList", "TLS", "TLSError", "TooManyWaiting", "Verdict",
    "Verification", "Verified", "VerifiedItem",
]
