"""Kubernetes objects checked against the API schemas of Kubernetes versions and CRDs. Imports up to `compiler`."""

from speccompile.verify.verify import violations

__all__ = ["violations"]
