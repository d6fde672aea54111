"""Checks of the API server on Jobs, Deployments and other owners of pods, and on selectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath
from speccompile.schema.formats.cron import cron_fault
from speccompile.schema.formats.names import dns_label_fault, label_value_fault
from speccompile.schema.formats.text_format import ValueFault
from speccompile.verify.pod_checks import undeclared_mounts
from speccompile.verify.server_checks import Check, Violation, items, list_or_empty, mapping

_POD = ("template", "spec")
_INDEXED = "Indexed"
_INDEXED_ONLY = ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy")
_MOST_PARALLEL = 100_000
_LONGEST_LABEL = 63
_PROGRESS_DEADLINE = 600
"""The default of Deployments."""
_LONGEST_CRON_JOB = 52
_ZONE = re.compile(r"(?!-)(?!\.{1,2}(?:/|$))[A-Za-z0-9._+-]+(?:/(?!-)(?!\.{1,2}(?:/|$))[A-Za-z0-9._+-]+)*")
_RANGE_OF_ALL = re.compile(r"([*?])-[^/,\s]*")
_ALL = 100
_PERCENT = re.compile(r"([0-9]+)%", re.ASCII)
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
_JOB_NAMES = ("job-name", "batch.kubernetes.io/job-name")
_JOB_UIDS = ("controller-uid", "batch.kubernetes.io/controller-uid")


# Schedules.


def schedule_fault(text: str) -> ValueFault | None:
    if "TZ" in text:
        return ValueFault("the schedule has a time zone", "remove it, and set `timeZone`")
    return _lenient_cron_fault(text)


def old_schedule_fault(text: str) -> ValueFault | None:
    """Before Kubernetes 1.29, a schedule can begin with a time zone."""
    zone, _, rest = text.partition(" ")
    return _lenient_cron_fault(rest.lstrip() if zone.startswith(("TZ=", "CRON_TZ=")) else text)


def _lenient_cron_fault(text: str) -> ValueFault | None:
    """A server ignores empty entries of lists, and what follows `*-`."""
    if text.startswith("@"):
        return cron_fault(text)
    fields = (",".join(filter(None, field.split(","))) or "*" for field in text.split())
    return cron_fault(_RANGE_OF_ALL.sub(r"\1", " ".join(fields)))


def time_zone_fault(text: str) -> ValueFault | None:
    """The shape of a time zone's name; which of them exist depends on the server."""
    if _ZONE.fullmatch(text) and text.lower() != "local":
        return None
    return ValueFault(f"{quote(text)} is not a time zone", "write one such as `Europe/Rome`")


# Jobs.


def check_job_pod(spec: Any) -> Iterator[Violation]:
    pod = mapping(spec, *_POD)
    policy = pod.get("restartPolicy")
    if pod and policy in (None, "", "Always"):
        message = "the pods of a Job need `restartPolicy: Never` or `OnFailure`"
        path = (*_POD, "restartPolicy") if "restartPolicy" in pod else _POD
        yield Violation(message, "write `restartPolicy: Never`", path)
    elif policy == "OnFailure" and spec.get("podFailurePolicy") is not None:
        message = "`podFailurePolicy` needs `restartPolicy: Never`"
        yield Violation(message, "write `restartPolicy: Never`", (*_POD, "restartPolicy"))


def check_indexed_job(spec: Any) -> Iterator[Violation]:
    if spec.get("completionMode") != _INDEXED:
        for name in _INDEXED_ONLY:
            if spec.get(name) is not None:
                yield Violation(f"`{name}` needs `completionMode: Indexed`", "remove it", (name,))
        return
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    if completions is None and parallelism is not None:
        yield _uncounted()
    if isinstance(parallelism, int) and parallelism > _MOST_PARALLEL:
        message = f"an indexed Job has at most {_MOST_PARALLEL} pods in parallel"
        yield Violation(message, "lower it", ("parallelism",))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        message = "`maxFailedIndexes` needs `backoffLimitPerIndex`"
        yield Violation(message, "add `backoffLimitPerIndex`", ("maxFailedIndexes",))


def check_failure_rule(rule: Any) -> Iterator[Violation]:
    has_conditions, has_codes = bool(rule.get("onPodConditions")), rule.get("onExitCodes") is not None
    if has_conditions == has_codes:
        yield Violation("expected one of `onExitCodes` and `onPodConditions`", "keep or add one of them")


def check_job(job: Any) -> Iterator[Violation]:
    """The Job controller adds labels to pods, and selects the pods by them."""
    name, spec = mapping(job, "metadata").get("name"), mapping(job, "spec")
    completions = spec.get("completions") if spec.get("completionMode") == _INDEXED else None
    if isinstance(name, str) and isinstance(completions, int) and completions > 0:
        hostname = f"{name}-{completions - 1}"
        if len(hostname) > _LONGEST_LABEL or dns_label_fault(hostname):
            message = f"its last pod would have the invalid host name {quote(hostname)}"
            yield Violation(message, "shorten the name, and use no `.`", ("metadata", "name"))
    if spec.get("manualSelector") is True:
        yield from check_selector(spec, ("spec",))
        return
    if isinstance(name, str) and len(name) > _LONGEST_LABEL:
        message = f"a Job's name becomes a label of at most {_LONGEST_LABEL} characters; it has {len(name)}"
        yield Violation(message, "shorten it", ("metadata", "name"))
    labels, path = mapping(spec, "template", "metadata", "labels"), ("spec", "template", "metadata", "labels")
    for key in (*_JOB_UIDS, *_JOB_NAMES):
        if key in labels and (key in _JOB_UIDS or labels[key] != name):
            yield Violation(f"the Job controller sets the label `{key}`", "remove it", (*path, key))
    if isinstance(spec.get("selector"), dict):
        yield from check_selector(spec, ("spec",))


def check_job_template(template: Any) -> Iterator[Violation]:
    """The selector of a CronJob's jobs is always generated, and a server sets no defaults in the template."""
    spec = mapping(template, "spec")
    for name in ("selector", "manualSelector"):
        if spec.get(name) not in (None, False):
            yield Violation(f"the jobs of a CronJob cannot have a `{name}`", "remove it", ("spec", name))
    if spec.get("completionMode") == _INDEXED and spec.get("completions") is None and spec.get("parallelism") is None:
        yield _uncounted(("spec",))


def _uncounted(above: KeyPath = ()) -> Violation:
    message = "`completionMode: Indexed` needs `completions`"
    return Violation(message, "add `completions`", (*above, "completionMode"))


def check_cron_job(cron_job: Any) -> Iterator[Violation]:
    name = mapping(cron_job, "metadata").get("name")
    if isinstance(name, str) and len(name) > _LONGEST_CRON_JOB:
        message = f"a CronJob's name has at most {_LONGEST_CRON_JOB} characters; it has {len(name)}"
        yield Violation(message, "shorten it", ("metadata", "name"))


# Selectors.


def check_requirement(requirement: Any) -> Iterator[Violation]:
    """The values that an operator of a selector of labels or nodes needs."""
    operator, values = requirement.get("operator"), requirement.get("values") or []
    if not isinstance(values, list):
        return
    if operator in ("In", "NotIn") and not values:
        yield Violation(f"`{operator}` needs `values`", "add at least one value")
    elif operator in ("Exists", "DoesNotExist") and values:
        yield Violation(f"`{operator}` takes no `values`", "remove them", ("values",))
    elif operator in ("Gt", "Lt") and len(values) != 1:
        yield Violation(f"`{operator}` needs one value", "write one value")


def check_label_values(requirement: Any) -> Iterator[Violation]:
    for index, value in enumerate(list_or_empty(requirement.get("values"))):
        if isinstance(value, str) and (fault := label_value_fault(value)):
            yield Violation(fault.message, fault.help, ("values", index))


def check_required_nodes(selector: Any) -> Iterator[Violation]:
    """Values of required terms must be labels; those of preferred terms need not."""
    for index, term in items(selector, "nodeSelectorTerms"):
        for number, requirement in items(term, "matchExpressions"):
            for violation in check_label_values(requirement):
                path = ("nodeSelectorTerms", index, "matchExpressions", number, *violation.path)
                yield violation._replace(path=path)


def check_node_fields(term: Any) -> Iterator[Violation]:
    for index, requirement in items(term, "matchFields"):
        path, values = ("matchFields", index), requirement.get("values")
        if requirement.get("key") != "metadata.name":
            yield Violation("the only field of nodes is `metadata.name`", "write `key: metadata.name`", (*path, "key"))
        if requirement.get("operator") not in ("In", "NotIn"):
            yield Violation("a field of nodes needs `In` or `NotIn`", "write `operator: In`", (*path, "operator"))
        elif not isinstance(values, list) or len(values) != 1:
            yield Violation("a field of nodes needs one value", "write one value", path)


def check_selector(spec: Any, above: KeyPath = ()) -> Iterator[Violation]:
    """The selector of an owner of pods must match the labels of its template."""
    selector, labels = spec.get("selector"), mapping(spec, "template", "metadata", "labels")
    if not isinstance(selector, dict):
        return
    path = (*above, "template", "metadata", "labels") if labels else (*above, "selector")
    for key, value in mapping(selector, "matchLabels").items():
        if key not in labels or (labels[key] or "") != (value or ""):
            message = f"the selector {quote(f'{key}: {value}')} does not match the labels of the template"
            yield Violation(message, "make the selector and the labels equal", (*above, "selector", "matchLabels", key))
    for _, requirement in items(selector, "matchExpressions"):
        if not _is_match(requirement, labels):
            yield Violation("the selector does not match the labels of the template", "make them match", path)


def _is_match(requirement: Mapping[str, Any], labels: Mapping[str, Any]) -> bool:
    key, values = requirement.get("key"), requirement.get("values")
    operator = requirement.get("operator")
    if not isinstance(key, str) or not isinstance(values, list | None) or operator not in _OPERATORS:
        return True
    has_value = key in labels and (operator in ("Exists", "DoesNotExist") or labels[key] in (values or ()))
    return has_value == (operator in ("In", "Exists"))


def check_nonempty_selector(spec: Any) -> Iterator[Violation]:
    selector = spec.get("selector")
    if isinstance(selector, dict) and not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield Violation("an empty selector would select all pods", "add `matchLabels`", ("selector",))


# Deployments, StatefulSets, DaemonSets, ReplicaSets and ReplicationControllers.


def check_always(spec: Any) -> Iterator[Violation]:
    """Their pods are always restarted."""
    pod = mapping(spec, *_POD)
    if pod.get("restartPolicy") in ("OnFailure", "Never"):
        message = "its pods are always restarted"
        yield Violation(message, "remove `restartPolicy`, or use a Job", (*_POD, "restartPolicy"))
    if pod.get("activeDeadlineSeconds") is not None:
        message = "its pods cannot have `activeDeadlineSeconds`"
        yield Violation(message, "remove it, or use a Job", (*_POD, "activeDeadlineSeconds"))


def check_deployment(spec: Any) -> Iterator[Violation]:
    strategy = mapping(spec, "strategy")
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        message = "`type: Recreate` takes no `rollingUpdate`"
        yield Violation(message, "remove it", ("strategy", "rollingUpdate"))
    rolling = mapping(strategy, "rollingUpdate")
    if _share(rolling.get("maxSurge")) == 0 == _share(rolling.get("maxUnavailable")):
        message = "`maxSurge` and `maxUnavailable` cannot both be 0"
        yield Violation(message, "raise one of them", ("strategy", "rollingUpdate"))
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    deadline = _PROGRESS_DEADLINE if deadline is None else deadline
    if isinstance(deadline, int) and isinstance(ready, int) and deadline <= ready:
        message = f"`progressDeadlineSeconds` (`{deadline}`) must be above `minReadySeconds`"
        yield Violation(message, "raise it", ("progressDeadlineSeconds",))


def _share(value: Any) -> int | None:
    """A number of pods or a percentage; None for other values."""
    if isinstance(value, str):
        match = _PERCENT.fullmatch(value)
        return int(match[1]) if match and len(value) < _LONGEST_LABEL else None
    return value if isinstance(value, int) else None


def check_share(value: Any) -> Iterator[Violation]:
    """A number of pods, or a percentage such as `25%`."""
    share = _share(value)
    if isinstance(value, str | int) and (share is None or share < 0):
        yield Violation(f"{quote(value)} is neither a number of pods nor a percentage", "write one such as `25%`")


def check_share_of_all(value: Any) -> Iterator[Violation]:
    """At most `100%`."""
    yield from check_share(value)
    if isinstance(value, str) and (_share(value) or 0) > _ALL:
        yield Violation(f"{quote(value)} is above 100%", "lower it")


def check_autoscaler(spec: Any) -> Iterator[Violation]:
    low, high = spec.get("minReplicas") or 1, spec.get("maxReplicas")
    if isinstance(low, int) and isinstance(high, int) and low > high:
        yield Violation("`minReplicas` is above `maxReplicas`", "lower it", ("minReplicas",))


def check_metric(metric: Any) -> Iterator[Violation]:
    """The field of a metric is named by its type."""
    kind = metric.get("type")
    name = f"{kind[0].lower()}{kind[1:]}" if isinstance(kind, str) and kind else ""
    if name and metric.get(name) is None:
        yield Violation(f"a metric of type {quote(kind)} needs {quote(name)}", f"add {quote(name)}")


def check_stateful_set(spec: Any) -> Iterator[Violation]:
    """Volumes of claim templates count as volumes of the pods."""
    claims = [mapping(claim, "metadata").get("name") for _, claim in items(spec, "volumeClaimTemplates")]
    yield from undeclared_mounts(mapping(spec, *_POD), _POD, [name for name in claims if isinstance(name, str)])
    strategy = mapping(spec, "updateStrategy")
    if strategy.get("type") == "OnDelete" and strategy.get("rollingUpdate") is not None:
        message = "`type: OnDelete` takes no `rollingUpdate`"
        yield Violation(message, "remove it", ("updateStrategy", "rollingUpdate"))


APP_CHECKS: tuple[Check, ...] = (check_nonempty_selector, check_selector, check_always)
"""Common to Deployments, StatefulSets, DaemonSets and ReplicaSets."""


def check_replication_controller(spec: Any) -> Iterator[Violation]:
    """Its selector is a mapping of labels; without one, it selects the labels of the template."""
    labels, selector = mapping(spec, "template", "metadata", "labels"), mapping(spec, "selector")
    if not labels and not selector:
        yield Violation("missing `selector` or labels of the template", "add `labels` to the template")
    yield from check_selector({**spec, "selector": {"matchLabels": selector}})
    yield from check_always(spec)
