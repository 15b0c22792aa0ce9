"""The heads of requests, and what their answers mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Any, List, Optional, Sequence, Tuple, Union

from ._checks import check, check_bool, check_names, check_text, wrong
from .errors import ProtocolError
from .messages import (
    Entitlements, EntitlementPolicy, EvidenceItem, EvidenceKind, Expectations, FetchCall, InAppSelection,
    Message, RequestHead, ResolveCall, ResolvedItem, ResponseHead, ServerInfo, ServingStatus,
    SigningCertificate, StoreList, Verdict, Verification, VerifyCall)

Evidence = Union[bytes, str]
Moment = Union[int, datetime]
Answer = Tuple[ResponseHead, bytes]

PAYLOADS = (
    "transaction", "renewal_info", "app_transaction", "notification", "realtime_request", "app_receipt",
    "transaction_receipt", "server_answer", "notification_v1", "google_purchase", "huawei_purchase",
    "harmony_purchase", "harmony_subscription", "harmony_notification", "google_notification",
    "huawei_notification")


@dataclass
class Verified:
    """The answer to a verification. Trust the evidence only if `is_valid`."""

    verification: Verification
    """The message of the server: verdict, detail, key, certificate, typed payload."""
    json: bytes = b""
    """The signed JSON, if the call asked for it and the verdict is VALID."""
    label: Optional[str] = None
    """The label of the item, in the answer to a Resolve or Fetch."""

    @property
    def is_valid(self) -> bool:
        return self.verification.verdict == Verdict.VALID

    @property
    def verdict(self) -> Union[Verdict, int]:
        """The verdict. A number that this version does not know is a refusal."""
        verdict = self.verification.verdict
        return Verdict.UNSPECIFIED if verdict is None else verdict

    @property
    def detail(self) -> str:
        """One sentence that names the deciding check."""
        return self.verification.detail or ""

    @property
    def dedup_key(self) -> Optional[str]:
        """Names the purchase: grant it once by this key."""
        return self.verification.dedup_key

    @property
    def evidence_key(self) -> Optional[str]:
        """Names this statement: store evidence under this key."""
        return self.verification.evidence_key

    @property
    def certificate(self) -> Optional[SigningCertificate]:
        return self.verification.certificate

    @property
    def payload(self) -> Optional[Message]:
        """The typed payload, whatever its kind; `verification.transaction` and so on are typed."""
        return next((value for name in PAYLOADS if (value := getattr(self.verification, name)) is not None), None)


@dataclass
class VerifiedItem(Verified):
    """The outcome of one item of a Resolve or Fetch."""

    is_superseded: bool = False
    """Whether the answer is the same without the item: it can be deleted from a store."""
    original_transaction_id: Optional[str] = None
    """What to file the item under. Absent, as the members below, where the item names none or several."""
    app_account_token: Optional[str] = None
    """A UUID that the app supplied."""
    app_transaction_id: Optional[str] = None
    """Identifier of the app's download."""
    notification_type: Optional[str] = None
    """Of a notification, in Apple's spelling."""
    subtype: Optional[str] = None
    """Of a notification, in Apple's spelling."""


@dataclass
class Item:
    """One item of evidence for a Resolve. Without a kind the server detects it."""

    evidence: Evidence
    kind: Optional[EvidenceKind] = None
    label: Optional[str] = None


@dataclass
class Resolved:
    """The answer to a Resolve."""

    items: List[VerifiedItem]
    """One for each item of the call, in its order. A refused one is no error."""
    entitlements: Entitlements
    """What the valid items say together. `decided_by` names items by their index."""


@dataclass
class FetchAnswer:
    """The answer to a Fetch."""

    environment: str
    """The environment that knows the customer: Production or Sandbox."""
    items: List[VerifiedItem]
    """The App Store's answers as evidence, all verified, in the order in which they came."""
    entitlements: Entitlements
    """What the answers say together. `decided_by` names items by their index."""
    revision: Optional[str] = None
    """The revision at the end of the history, if the call asked for it."""


def data_of(evidence: Evidence, name: str = "evidence") -> bytes:
    if isinstance(evidence, str):
        return evidence.encode()
    # bytes() makes zeros of a number.
    if not isinstance(evidence, (bytes, bytearray, memoryview)):
        raise wrong(name, evidence, "bytes or a str", _hint_of_evidence(evidence))
    return bytes(evidence)


def _hint_of_evidence(evidence: Any) -> str:
    if isinstance(evidence, Item):
        return "pass its evidence and its kind"
    if isinstance(evidence, (list, tuple)):
        return "resolve takes several items, verify one"
    if isinstance(evidence, Mapping):
        return "pass the member that the App Store signed, or the whole as json.dumps writes it"
    return "read the file" if hasattr(evidence, "read") or hasattr(evidence, "__fspath__") else ""


def _item(item: Union[Item, Evidence], name: str) -> Item:
    if isinstance(item, Item):
        check_names(item, ["evidence", "kind", "label"], name)
        return item
    if isinstance(item, (str, bytes, bytearray, memoryview)):
        return Item(item)
    hint = "write Item(evidence, kind, label)" if isinstance(item, (Mapping, list, tuple)) else ""
    raise wrong(name, item, "bytes, a str or an Item", hint)


def list_of(name: str, values: Any, element: str) -> List[Any]:
    """The elements of an argument that is a list. A text has elements, too: its characters."""
    is_one = isinstance(values, (str, bytes, bytearray, memoryview, Mapping, Item, IntEnum))
    if is_one or not isinstance(values, Iterable):
        raise wrong(name, values, f"a list of {element}", "put it into a list" if is_one else "")
    return list(values)


def verify_request(
    evidence: Evidence, kind: Optional[EvidenceKind], expectations: Optional[Expectations], json: bool,
    typed: bool, in_app: Optional[InAppSelection], in_app_product_id: Optional[str], app: str, may_wait: bool,
) -> Tuple[RequestHead, bytes]:
    check_bool("json", json)
    check_bool("typed", typed)
    call = VerifyCall(
        kind=kind, expectations=expectations, omit_typed_payload=None if typed else True,
        return_payload_json=True if json else None, in_app=in_app, in_app_product_id=in_app_product_id)
    return request(verify=call, app=app, may_wait=may_wait), data_of(evidence)


def resolve_request(
    items: Sequence[Union[Item, Evidence]], at: Optional[Moment], policy: Optional[EntitlementPolicy],
    expectations: Optional[Expectations], json: bool, typed: bool, app: str, may_wait: bool,
) -> Tuple[RequestHead, bytes]:
    check_bool("json", json)
    check_bool("typed", typed)
    listed = [
        _item(item, f"items[{index}]") for index, item in enumerate(list_of("items", items, "evidence"))]
    bodies = [data_of(item.evidence, f"items[{index}].evidence") for index, item in enumerate(listed)]
    call = ResolveCall(
        items=[
            EvidenceItem(kind=item.kind, length=len(body), label=item.label)
            for item, body in zip(listed, bodies)],
        at=_milliseconds(at), policy=policy,
        expectations=expectations, return_typed_payloads=True if typed else None,
        return_payload_json=True if json else None)
    return request(resolve=call, app=app, may_wait=may_wait), b"".join(bodies)


def fetch_request(
    transaction_id: str, lists: Sequence[StoreList], at: Optional[Moment], policy: Optional[EntitlementPolicy],
    typed: bool, app: str,
) -> RequestHead:
    check_bool("typed", typed)
    check_text("transaction_id", transaction_id)
    return request(app=app, fetch=FetchCall(
        transaction_id=transaction_id, lists=list_of("lists", lists, "StoreList"), at=_milliseconds(at), policy=policy,
        return_typed_payloads=True if typed else None))


def _milliseconds(moment: Optional[Moment]) -> Optional[int]:
    if isinstance(moment, datetime):
        return int(moment.timestamp() * 1000)
    if moment is not None and (isinstance(moment, bool) or not isinstance(moment, int)):
        hint = "write int(1000 * seconds)" if isinstance(moment, float) else ""
        raise wrong("at", moment, "a datetime or an int, milliseconds since 1970", hint)
    return moment


def request(app: str = "", may_wait: bool = False, **call: Message) -> RequestHead:
    check_text("app", app)
    check_bool("may_wait", may_wait)
    for message in call.values():
        # The paths of the members are those of the arguments.
        check(message, type(message), "")
    head: Any = call
    return RequestHead(app=app or None, may_wait=True if may_wait else None, **head)


def verified(answer: Answer) -> Verified:
    head, body = answer
    return Verified(_result(head.verification), body)


def resolved(answer: Answer, count: int) -> Resolved:
    head, body = answer
    resolution = _result(head.resolution)
    if len(resolution.items) != count:
        raise ProtocolError("the answer does not fit the items")
    return Resolved(_items(resolution.items, body), resolution.entitlements or Entitlements())


def fetched(answer: Answer) -> FetchAnswer:
    head, body = answer
    result = _result(head.fetched)
    return FetchAnswer(
        result.environment or "", _items(result.items, body), result.entitlements or Entitlements(),
        result.revision)


def _items(items: List[ResolvedItem], body: bytes) -> List[VerifiedItem]:
    """Gives each item its part of the body."""
    parts, start = [], 0
    for item in items:
        end = start + (item.payload_json_length or 0)
        parts.append(VerifiedItem(
            item.verification or Verification(), body[start:end], item.label, bool(item.is_superseded),
            item.original_transaction_id, item.app_account_token, item.app_transaction_id,
            item.notification_type, item.subtype))
        start = end
    if start != len(body):
        raise ProtocolError("the answer does not fit the items")
    return parts


def is_serving(answer: Answer) -> bool:
    return bool(_result(answer[0].health).status == ServingStatus.SERVING)


def server_info(answer: Answer) -> ServerInfo:
    info: ServerInfo = _result(answer[0].info)
    return info


def pong(answer: Answer) -> None:
    _result(answer[0].pong)


def _result(result: Any) -> Any:
    if result is None:
        raise ProtocolError("an answer to another call")
    return result
