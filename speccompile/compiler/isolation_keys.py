"""Labels and annotations that change how pods are isolated, because a runtime or a controller obeys them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from speccompile.model.documents import Platform
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.schema.field_path import KEYED_BY_LABEL, matches_key

_RUNTIME = "the container runtime obeys it"
_NETWORK = "the network plugin obeys it"
_CLOUD = "it gives pods an identity at the cloud provider"
_MESH = "it takes pods out of the service mesh, or changes their proxy"
_TOOL = "tools that read manifests obey it, such as `kustomize` and `kpt`"
ISOLATION_KEYS: Mapping[str, str] = {
    "container.apparmor.security.beta.kubernetes.io/*": "it sets the AppArmor profile",
    "container.seccomp.security.alpha.kubernetes.io/*": "it sets the seccomp profile",
    "seccomp.security.alpha.kubernetes.io/*": "it sets the seccomp profile",
    "*.crio.io": _RUNTIME,
    "*.crio.io/*": _RUNTIME,
    "*.cri-o.io": _RUNTIME,
    "*.cri-o.io/*": _RUNTIME,
    "*.resources.beta.kubernetes.io/*": _RUNTIME,
    "cdi.k8s.io/*": "it adds devices to containers",
    "dev.gvisor.*": _RUNTIME,
    "io.containerd.*": _RUNTIME,
    "io.containers.*": _RUNTIME,
    "io.katacontainers.*": _RUNTIME,
    "io.kubernetes.cri*": _RUNTIME,
    "org.systemd.property.*": _RUNTIME,
    "run.oci.*": _RUNTIME,
    "cni.projectcalico.org/*": _NETWORK,
    "k8s.ovn.org/*": _NETWORK,
    "k8s.v1.cni.cncf.io/*": _NETWORK,
    "ovn.kubernetes.io/*": _NETWORK,
    "v1.multus-cni.io/*": _NETWORK,
    "external-dns.alpha.kubernetes.io/*": "it creates DNS records",
    "tailscale.com/*": "it exposes Services outside of the cluster",
    "aadpodidbinding": _CLOUD,
    "azure.workload.identity/*": _CLOUD,
    "eks.amazonaws.com/*": _CLOUD,
    "iam.amazonaws.com/*": _CLOUD,
    "iam.gke.io/*": _CLOUD,
    "vault.hashicorp.com/*": "it adds secrets from Vault to pods",
    "openshift.io/*": "it selects the security context constraints",
    "*.istio.io/*": _MESH,
    "istio.io/*": _MESH,
    "*.linkerd.io/*": _MESH,
    "linkerd.io/*": _MESH,
    "consul.hashicorp.com/*": _MESH,
    "kuma.io/*": _MESH,
    "config.k8s.io/*": _TOOL,
    "config.kubernetes.io/*": _TOOL,
    "*.config.k8s.io/*": _TOOL,
    "*.config.kubernetes.io/*": _TOOL,
    "internal.kpt.dev/*": _TOOL,
}
"""Keys, with `*` for any text, and what they do."""
_PARTS = tuple(max(pattern.split("*"), key=len) for pattern in ISOLATION_KEYS)
"""A text that each of them contains; most keys contain none, and compiling all patterns takes a millisecond."""


def isolation_keys(fields: Node, platform: Platform) -> Iterator[tuple[KeyPath, Node, str]]:
    """The labels and annotations of a layer or spec that only admins may set: path, node, and what the key does.

    The platform's `allowed_keys` are left out.
    """
    allowed = platform.settings.fields.get("allowed_keys")
    exceptions = [str(item.value) for item in allowed.items] if allowed else []
    for field in KEYED_BY_LABEL:
        node = fields.fields.get(field)
        for key, child in node.fields.items() if node else ():
            effect = _effect(key)
            if effect and not any(matches_key(exception, key) for exception in exceptions):
                yield (field, key), child, effect


def _effect(key: str) -> str | None:
    """What a key that changes isolation does."""
    if not any(part in key for part in _PARTS) or not _all_patterns().fullmatch(key):
        return None
    return next(effect for pattern, effect in ISOLATION_KEYS.items() if re.fullmatch(key_regex(pattern), key))


def key_regex(pattern: str) -> str:
    """The regular expression of a key with `*` for any text."""
    return ".*".join(map(re.escape, pattern.split("*")))


# One match for each key, because a hostile run has many.
@lru_cache(maxsize=1)
def _all_patterns() -> re.Pattern[str]:
    return re.compile("|".join(map(key_regex, ISOLATION_KEYS)))
