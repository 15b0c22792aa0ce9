"""The heads of requests, and what their answers mean."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, List, Optional, Sequence, Tuple, Union

from .errors import ProtocolError
from .messages import (
    Entitlements, EntitlementPolicy, EvidenceItem, EvidenceKind, Expectations, InAppSelection, Message,
    RequestHead, ResolveCall, ResponseHead, ServerInfo, ServingStatus, SigningCertificate, Verdict,
    Verification, VerifyCall)

Evidence = Union[bytes, str]
Moment = Union[int, datetime]
Answer = Tuple[ResponseHead, bytes]

PAYLOADS = (
    "transaction", "renewal_info", "app_transaction", "notification", "realtime_request", "app_receipt",
    "transaction_receipt", "server_answer", "notification_v1")


@dataclass
class Verified:
    """The answer to a verification. Trust the evidence only if `is_valid`."""

    verification: Verification
    """The message of the server: verdict, detail, key, certificate, typed payload."""
    json: bytes = b""
    """The signed JSON, if the call asked for it and the verdict is VALID."""
    label: Optional[str] = None
    """The label of the item, in the answer to a Resolve."""

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
        """Deduplicate deliveries by this key."""
        return self.verification.dedup_key

    @property
    def certificate(self) -> Optional[SigningCertificate]:
        return self.verification.certificate

    @property
    def payload(self) -> Optional[Message]:
        """The typed payload, whatever its kind; `verification.transaction` and so on are typed."""
        return next((value for name in PAYLOADS if (value := getattr(self.verification, name)) is not None), None)


@dataclass
class Item:
    """One item of evidence for a Resolve. Without a kind the server detects it."""

    evidence: Evidence
    kind: Optional[EvidenceKind] = None
    label: Optional[str] = None


@dataclass
class Resolved:
    """The answer to a Resolve."""

    items: List[Verified]
    """One for each item of the call, in its order. A refused one is no error."""
    entitlements: Entitlements
    """What the valid items say together. `decided_by` names items by their index."""


def data_of(evidence: Evidence) -> bytes:
    return evidence.encode() if isinstance(evidence, str) else bytes(evidence)


def verify_request(
    evidence: Evidence, kind: Optional[EvidenceKind], expectations: Optional[Expectations], json: bool,
    typed: bool, in_app: Optional[InAppSelection], in_app_product_id: Optional[str], app: str, may_wait: bool,
) -> Tuple[RequestHead, bytes]:
    call = VerifyCall(
        kind=kind, expectations=expectations, omit_typed_payload=None if typed else True,
        return_payload_json=True if json else None, in_app=in_app, in_app_product_id=in_app_product_id)
    return request(verify=call, app=app, may_wait=may_wait), data_of(evidence)


def resolve_request(
    items: Sequence[Union[Item, Evidence]], at: Optional[Moment], policy: Optional[EntitlementPolicy],
    expectations: Optional[Expectations], json: bool, typed: bool, app: str, may_wait: bool,
) -> Tuple[RequestHead, bytes]:
    listed = [item if isinstance(item, Item) else Item(item) for item in items]
    bodies = [data_of(item.evidence) for item in listed]
    call = ResolveCall(
        items=[
            EvidenceItem(kind=item.kind, length=len(body), label=item.label)
            for item, body in zip(listed, bodies)],
        at=int(at.timestamp() * 1000) if isinstance(at, datetime) else at, policy=policy,
        expectations=expectations, return_typed_payloads=True if typed else None,
        return_payload_json=True if json else None)
    return request(resolve=call, app=app, may_wait=may_wait), b"".join(bodies)


def request(app: str = "", may_wait: bool = False, **call: Message) -> RequestHead:
    head: Any = call
    return RequestHead(app=app or None, may_wait=True if may_wait else None, **head)


def verified(answer: Answer) -> Verified:
    head, body = answer
    return Verified(_result(head.verification), body)


def resolved(answer: Answer, count: int) -> Resolved:
    head, body = answer
    resolution = _result(head.resolution)
    items, start = [], 0
    for item in resolution.items:
        end = start + (item.payload_json_length or 0)
        items.append(Verified(item.verification or Verification(), body[start:end], item.label))
        start = end
    if start != len(body) or len(items) != count:
        raise ProtocolError("the answer does not fit the items")
    return Resolved(items, resolution.entitlements or Entitlements())


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
