"""Generated run specs and the profile they use, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from random import Random
from types import MappingProxyType

from benchmarks import shapes

SEED = 2
_TEAMS = ("retail", "vision", "language", "fraud", "maps", "search")
_MODELS = ("forecast", "rank", "detect", "translate", "embed", "segment", "classify")
_LEVELS = ("debug", "info", "warning")
_NODES = ("zone: eu-1", "zone: eu-2", "pool: batch")

_HEAD = """\
id: 1xa100
name: One A100
description: One A100 for a model server, on dedicated nodes
"""
# The variables that the profile adds sort after all variables of runs, so a tool that sorts variables and one that
# keeps the order of its layers produce the same order as speccompile.
FIXED = """\
resources:
  gpu: 1
  mem: 32Gi
node_selector:
  gpu: a100
  pool: inference
tolerations:
- key: nvidia.com/gpu
  operator: Exists
  effect: NoSchedule
- key: dedicated
  operator: Equal
  value: inference
  effect: NoSchedule
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions:
        - key: nvidia.com/gpu.product
          operator: In
          values:
          - NVIDIA-A100-SXM4-40GB
          - NVIDIA-A100-SXM4-80GB
envs:
  HF_HOME: /models/hf
  NVIDIA_VISIBLE_DEVICES: all
  TRANSFORMERS_OFFLINE: "1"
labels:
  cost-centre: gpu
run_as_user: 1000
fs_group: 1000
runtime_class: nvidia
priority_class: inference
service_account: inference
"""
"""Fields of the profile without its id, name and description, for other tools."""
PROFILE = _HEAD + FIXED

# Most runs have the same shape; a third of them has one or two of these fields as well.
_EXTRAS: Mapping[str, Callable[[Random], str]] = MappingProxyType(
    {
        "command": lambda _: "command: [python, -m, serve]\n",
        "replicas": lambda random: f"replicas: {random.randint(2, 9)}\n",
        "secrets": lambda random: f"secrets: [{', '.join(('HF_TOKEN', 'S3_KEY')[: random.randint(1, 2)])}]\n",
        "annotations": lambda random: (
            f"annotations:\n  acme.example/owner: user{random.randint(1, 999)}@acme.example\n"
        ),
        "node_selector": lambda random: f"node_selector:\n  {random.choice(_NODES)}\n",
        "variable": lambda random: f'  MAX_TOKENS: "{random.randint(1, 99) * 64}"\n',
        "scratch": lambda random: (
            "- volume_type: empty_dir\n"
            "  name: scratch\n"
            "  mount_path: /scratch\n"
            f"  spec: {{size_limit: {random.randint(1, 40)}Gi}}\n"
        ),
        "metrics": lambda _: "- port: 9090\n",
        "no alias": lambda _: "",
    }
)


class Kind(StrEnum):
    """What the runs of a workload have in common."""

    MIXED = "runs"
    """Most have one shape, the others one or two more keys."""
    SWEEP = "runs of one shape"
    ZOO = "runs of different shapes"
    """No two have the same keys."""
    SMALL = "small runs"
    """Ten lines each, one shape, under a small profile; measured in one process only."""


@dataclass(frozen=True)
class Workload:
    """The first `size` runs of a kind and seed; they are the same in larger workloads."""

    size: int
    seed: int = SEED
    kind: Kind = Kind.MIXED
    profile: str = field(default=PROFILE, init=False)
    fixed: str = field(default=FIXED, init=False)

    @cached_property
    def runs(self) -> Mapping[str, str]:
        """Texts by the names of their runs, in order."""
        texts = (_GENERATORS[self.kind](self.seed, index) for index in range(self.size))
        return {text.partition("\n")[0].removeprefix("name: "): text for text in texts}


def name(seed: int, index: int) -> str:
    """The name of a run. It contains a dash, so objects of its volumes are named `<run>--<volume>`."""
    return f"{_random(seed, index).choice(_MODELS)}-{index:05}"


def run(seed: int, index: int) -> str:
    """The text of a run: about thirty lines."""
    random = _random(seed, index)
    model = random.choice(_MODELS)
    team = random.choice(_TEAMS)
    batch = random.randint(1, 64)
    selected = random.sample(tuple(_EXTRAS), k=random.choice((1, 2)) if random.randrange(3) == 0 else 0)
    extras = {key: make(random) if key in selected else "" for key, make in _EXTRAS.items()}
    # Several pods cannot share a ReadWriteOnce claim.
    access = ", access_mode: ReadWriteMany" if extras["replicas"] else ""
    alias = "" if "no alias" in selected else f"service_name: {team}-{model}-{index}\n"
    return f"""\
name: {name(seed, index)}
project: {team}
action: serve
profile: 1xa100
image: ghcr.io/acme/{model}:{random.randint(0, 9)}.{random.randint(0, 99)}.{random.randint(0, 99)}
{extras["command"]}args: [--model, {model}-v{random.randint(1, 99)}, --workers, "{random.randint(1, 32)}"]
{extras["replicas"]}labels:
  team: {team}
{extras["annotations"]}{extras["secrets"]}envs:
  BATCH_SIZE: "{batch}"
  HF_HOME: /tmp/hf-{random.randint(1, 999)}
  LOG_LEVEL: {random.choice(_LEVELS)}
{extras["variable"]}resources:
  cpu: "{random.randint(1, 16)}"
  mem: {random.randint(4, 64)}Gi
  gpu: {random.randint(1, 4)}
{extras["node_selector"]}volumes:
- volume_type: persistent_volume_claim
  name: models
  mount_path: /models
  spec: {{size: {random.randint(10, 400)}Gi{access}}}
- volume_type: config_map
  name: settings
  mount_path: /etc/{model}
  spec:
    data:
      settings.toml: |
        batch = {batch}
        revision = "{random.getrandbits(64):016x}"
{extras["scratch"]}service_ports:
- port: 80
  target_port: {random.randint(8000, 8999)}
{extras["metrics"]}{alias}"""


def add_mistakes(text: str) -> str:
    """Add two typical mistakes to a run."""
    return text.replace("resources:\n", "resources:\n  gpus: 1\n").replace("Gi\n", "GB\n", 1)


def _random(seed: int, index: int) -> Random:
    return Random(f"{seed}/{index}")  # noqa: S311  must be reproducible


_GENERATORS: Mapping[Kind, Callable[[int, int], str]] = MappingProxyType(
    {
        Kind.MIXED: run,
        Kind.SWEEP: lambda seed, index: shapes.sweep(_random(seed, index), index),
        Kind.ZOO: lambda seed, index: shapes.zoo(_random(seed, index), index),
        Kind.SMALL: lambda seed, index: shapes.small(_random(seed, index), index),
    }
)
