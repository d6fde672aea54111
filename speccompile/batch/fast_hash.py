"""BLAKE2 without OpenSSL: `hashlib` loads both, which takes 3 of the 75 milliseconds of a call."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["blake2b"]
