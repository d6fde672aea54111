"""Texts of generated runs: a sweep of one shape, a zoo of different shapes, and small runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType

_PROJECTS = ("retail", "vision", "language", "fraud", "maps", "search")
_OPTIMIZERS = ("adamw", "lion", "sgd")
_BATCHES = (32, 64, 128, 256)
_ANIMALS = ("badger", "heron", "lynx", "otter", "raven", "stork", "viper")
_COUNTRIES = ("at", "be", "de", "es", "fr", "it", "nl", "pl")


def sweep(random: Random, index: int) -> str:
    """The text of a trial of a hyperparameter search; all trials have the same keys."""
    rate = f"{10 ** random.uniform(-5, -2):.2g}"
    batch = random.choice(_BATCHES)
    return f"""\
name: tune-resnet-{index:05}
project: vision
action: job
profile: 1xa100
image: ghcr.io/acme/resnet:4.2.{random.randint(0, 5)}
command: [python, -m, train]
args: [--lr, "{rate}", --batch-size, "{batch}", --optimizer, {random.choice(_OPTIMIZERS)}, --seed, "{index}"]
labels:
  sweep: resnet-rates
  trial: "{index}"
annotations:
  acme.example/owner: vision@acme.example
secrets: [WANDB_API_KEY]
envs:
  EXPERIMENT: resnet-rates-{index:05}
  HF_HOME: /tmp/hf
  LOG_LEVEL: info
resources:
  cpu: "8"
  mem: 48Gi
  gpu: 1
volumes:
- volume_type: persistent_volume_claim
  name: checkpoints
  mount_path: /checkpoints
  spec: {{size: 40Gi}}
- volume_type: config_map
  name: settings
  mount_path: /etc/resnet
  spec:
    data:
      train.toml: |
        rate = {rate}
        dropout = {random.randint(0, 50) / 100}
- volume_type: empty_dir
  name: scratch
  mount_path: /scratch
  spec: {{size_limit: 20Gi}}
"""


# All variables sort before those of the profile; see `workload.FIXED`.
# Keys that a run of the zoo may have, in their order.
_PARTS: Mapping[str, Callable[[Random], str]] = MappingProxyType(
    {
        "command": lambda _: "command: [python, -m, main]\n",
        "args": lambda random: f'args: [--model, v{random.randint(1, 99)}, --workers, "{random.randint(1, 32)}"]\n',
        "labels": lambda random: f"labels:\n  team: team{random.randint(1, 20)}\n",
        "tier": lambda random: f"  tier: {random.choice(('batch', 'online'))}\n",
        "annotations": lambda random: (
            f"annotations:\n  acme.example/owner: user{random.randint(1, 999)}@acme.example\n"
        ),
        "secrets": lambda _: "secrets: [HF_TOKEN]\n",
        "envs": lambda random: f"envs:\n  AUDIENCE: {random.choice(_COUNTRIES)}\n",
        "batch": lambda random: f'  BATCH_SIZE: "{random.choice(_BATCHES)}"\n',
        "cache": lambda random: f"  CACHE_URL: redis://cache-{random.randint(1, 9)}:6379/0\n",
        "dataset": lambda random: f"  DATASET: s3://acme/{random.randint(2020, 2026)}\n",
        "epochs": lambda random: f'  EPOCHS: "{random.randint(1, 90)}"\n',
        "features": lambda random: f"  FEATURES: https://features-{random.randint(1, 9)}.acme.example\n",
        "resources": lambda random: f'resources:\n  cpu: "{random.randint(1, 16)}"\n',
        "mem": lambda random: f"  mem: {random.randint(4, 64)}Gi\n",
        "gpu": lambda random: f"  gpu: {random.randint(1, 4)}\n",
        "node_selector": lambda random: f"node_selector:\n  zone: eu-{random.randint(1, 3)}\n",
        "volumes": lambda random: (
            "volumes:\n"
            "- volume_type: persistent_volume_claim\n"
            "  name: models\n"
            "  mount_path: /models\n"
            f"  spec: {{size: {random.randint(10, 400)}Gi}}\n"
        ),
        "settings": lambda random: (
            "- volume_type: config_map\n"
            "  name: settings\n"
            f"  mount_path: /etc/model{random.randint(1, 99)}\n"
            "  spec:\n"
            "    data:\n"
            "      settings.toml: |\n"
            f"        batch = {random.choice(_BATCHES)}\n"
            f'        revision = "{random.getrandbits(64):016x}"\n'
        ),
        "scratch": lambda random: (
            "- volume_type: empty_dir\n"
            "  name: scratch\n"
            "  mount_path: /scratch\n"
            f"  spec: {{size_limit: {random.randint(1, 40)}Gi}}\n"
        ),
        "service_ports": lambda random: f"service_ports:\n- port: 80\n  target_port: {random.randint(8000, 8999)}\n",
        "metrics": lambda _: "- port: 9090\n",
    }
)
# Templates of other tools require these.
_REQUIRED = frozenset({"args", "labels", "envs", "resources", "volumes"})
# A job has no ports.
_SERVING = frozenset({"service_ports", "metrics"})
_SWITCHES = ("serve", *(part for part in _PARTS if part not in _REQUIRED | _SERVING))
_STEP = 9973
"""An odd number: its multiples have every combination of switches before they repeat one."""


def zoo(random: Random, index: int) -> str:
    """The text of a run; the first 30,000 runs all have different keys."""
    bits = (index + 1) * _STEP % (1 << len(_SWITCHES))
    enabled = _REQUIRED | {switch for position, switch in enumerate(_SWITCHES) if bits >> position & 1}
    if "serve" in enabled:
        enabled |= {"service_ports", random.choice(("metrics", "serve"))}
    parts = "".join(make(random) for part, make in _PARTS.items() if part in enabled)
    return f"""\
name: {random.choice(_ANIMALS)}-{index:05}
project: {random.choice(_PROJECTS)}
action: {"serve" if "serve" in enabled else "job"}
profile: 1xa100
image: ghcr.io/acme/model{random.randint(1, 99)}:{random.randint(0, 9)}.{random.randint(0, 99)}
{parts}"""


SMALL_PROFILE = """\
id: cpu
name: CPU
description: CPU nodes for batch jobs
resources:
  mem: 8Gi
node_selector:
  pool: batch
"""


def small(random: Random, index: int) -> str:
    """The text of a run of ten lines under `SMALL_PROFILE`."""
    country = random.choice(_COUNTRIES)
    return f"""\
name: score-{country}-{index:05}
project: {random.choice(_PROJECTS)}
action: job
profile: cpu
image: ghcr.io/acme/score:{random.randint(0, 9)}.{random.randint(0, 99)}
args: [--country, {country}, --seed, "{random.randint(1, 99_999)}"]
envs:
  BATCH_SIZE: "{random.choice(_BATCHES)}"
resources:
  cpu: "{random.randint(1, 16)}"
"""
