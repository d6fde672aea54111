"""Validation of Kubernetes objects against API schemas and CRDs. Imports up to `compiler`."""

from speccompile.verify.verify import violations

__all__ = ["violations"]
