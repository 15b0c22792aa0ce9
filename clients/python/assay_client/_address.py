"""Addresses of servers, and TLS."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import List, Optional, Sequence, Union

from ._checks import check_text, wrong
from .errors import AddressError

ENVIRONMENT = "ASSAY_ADDRESS"


@dataclass(frozen=True)
class Address:
    scheme: str
    host: str = ""
    port: int = 0
    path: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"unix:{self.path}" if self.scheme == "unix" else f"{self.scheme}://{host}:{self.port}"


@dataclass(frozen=True)
class TLS:
    """The authorities that a client trusts, and its own identity. Files are PEM."""

    authority: Optional[str] = None
    """The file of the trusted authorities; None for the system's."""
    certificate: Optional[str] = None
    """The file of a client certificate, for servers that demand one."""
    key: Optional[str] = None
    """The file of the certificate's private key."""
    server_name: Optional[str] = None
    """The name that the server's certificate needs; None for the host of its address."""

    def __post_init__(self) -> None:
        for name in ("authority", "certificate", "key"):
            file = getattr(self, name)
            if file is None or hasattr(file, "__fspath__"):
                continue
            check_text(f"tls.{name}", file)
            if file.startswith("-----BEGIN"):
                raise ValueError(f"tls.{name} is the text of a PEM file, not its path: write it to a file")
        if self.server_name is not None:
            check_text("tls.server_name", self.server_name)

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.authority)
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key)
        return context


def parse_addresses(addresses: Union[str, Sequence[str], None]) -> List[Address]:
    """Parses one address, several, or those of ASSAY_ADDRESS, which commas or spaces separate."""
    if addresses is None:
        addresses = os.environ.get(ENVIRONMENT, "").replace(",", " ").split()
        if not addresses:
            raise AddressError(f"no address: name one, or set {ENVIRONMENT}")
    if isinstance(addresses, str):
        texts = addresses.replace(",", " ").split()
    elif isinstance(addresses, (bytes, bytearray, Mapping)) or not isinstance(addresses, Iterable):
        raise wrong("addresses", addresses, "a str or a list of them")
    else:
        texts = list(addresses)
    for index, text in enumerate(texts):
        check_text(f"addresses[{index}]", text)
    if not texts:
        raise AddressError("no address")
    return [parse_address(text) for text in texts]


def parse_address(text: str) -> Address:
    """Parses tcp://HOST:PORT, tls://HOST:PORT or unix:PATH."""
    if text.startswith("unix:") and len(text) > 5:
        return Address("unix", path=text[5:])
    scheme, separator, rest = text.partition("://")
    host, colon, port = rest.rpartition(":")
    if not separator or scheme not in ("tcp", "tls"):
        raise AddressError(f"{text!r} is no address: use tcp://HOST:PORT, tls://HOST:PORT or unix:PATH")
    if not colon or not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise AddressError(f"{text!r} has no host and port: use {scheme}://HOST:PORT")
    if host.startswith("[") and host.endswith("]"):
        return Address(scheme, host[1:-1], int(port))
    if ":" in host:
        raise AddressError(f"{text!r} has an IPv6 address without brackets: use {scheme}://[{host}]:{port}")
    return Address(scheme, host, int(port))
