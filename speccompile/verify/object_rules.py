"""Rules of the API server for whole objects: what they need, what excludes what, and how they are named.

See `field_rules.py` for the rules of single fields.
"""

from __future__ import annotations

from collections.abc import Mapping

from speccompile.schema.formats.names import (
    dns_1035_label_fault,
    dns_label_fault,
    dns_subdomain_fault,
)
from speccompile.schema.library import Schema
from speccompile.verify import object_checks, pod_checks, workload_checks
from speccompile.verify.object_checks import check_names, path_segment_fault
from speccompile.verify.server_checks import Check, TextCheck
from speccompile.verify.workload_checks import APP_CHECKS

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_PROJECTIONS = ("secret", "configMap", "downwardAPI", "serviceAccountToken")


def _filled(*names: str) -> Schema:
    return {"x-filled": names}


def _checks(*checks: Check) -> Schema:
    return {"x-checks": checks}


def _required(*names: str) -> Schema:
    """Fields that must not be null; an empty mapping is checked by its own definition."""
    return {"x-required": names}


_OBJECTS: Mapping[str, Schema] = {
    "core.v1.AppArmorProfile": _checks(pod_checks.check_local_profile),
    "core.v1.ConfigMapEnvSource": _filled("name"),
    "core.v1.ConfigMapKeySelector": _filled("name", "key"),
    "core.v1.ConfigMapProjection": _filled("name"),
    "core.v1.ConfigMapVolumeSource": _filled("name"),
    "core.v1.Container": {**_filled("name", "image"), **_checks(pod_checks.check_container)},
    "core.v1.ContainerPort": _filled("containerPort"),
    "core.v1.DownwardAPIVolumeFile": {
        **_filled("path"),
        "x-exactly-one": ("fieldRef", "resourceFieldRef"),
        **_checks(pod_checks.check_file_field),
    },
    "core.v1.EnvFromSource": {"x-exactly-one": ("configMapRef", "secretRef")},
    "core.v1.EnvVar": {**_filled("name"), **_checks(pod_checks.check_env_value)},
    "core.v1.EnvVarSource": {"x-exactly-one": _ENV_SOURCES, **_checks(pod_checks.check_env_field)},
    "core.v1.EphemeralVolumeSource": _required("volumeClaimTemplate"),
    "core.v1.ExecAction": _filled("command"),
    "core.v1.HostPathVolumeSource": _filled("path"),
    "core.v1.KeyToPath": _filled("key", "path"),
    "core.v1.LifecycleHandler": {"x-exactly-one": _HANDLERS},
    "core.v1.NFSVolumeSource": _filled("path", "server"),
    "core.v1.NodeSelector": {**_filled("nodeSelectorTerms"), **_checks(workload_checks.check_required_nodes)},
    "core.v1.NodeSelectorRequirement": {**_filled("key"), **_checks(workload_checks.check_requirement)},
    "core.v1.NodeSelectorTerm": _checks(workload_checks.check_node_fields),
    "core.v1.ObjectFieldSelector": _filled("fieldPath"),
    "core.v1.PersistentVolumeClaimSpec": {**_filled("accessModes"), **_checks(object_checks.check_claim)},
    "core.v1.PersistentVolumeClaimTemplate": _required("spec"),
    "core.v1.PersistentVolumeClaimVolumeSource": _filled("claimName"),
    "core.v1.PodAffinityTerm": {**_filled("topologyKey"), **_checks(pod_checks.check_label_keys)},
    "core.v1.PodSpec": {**_filled("containers"), **_checks(pod_checks.check_pod)},
    "core.v1.PodTemplateSpec": {
        **_required("spec"),
        **_checks(pod_checks.check_mounts, object_checks.check_pod_annotations),
    },
    "core.v1.Probe": {"x-exactly-one": _HANDLERS},
    "core.v1.ReplicationControllerSpec": {
        **_required("template"),
        **_checks(workload_checks.check_replication_controller),
    },
    "core.v1.SeccompProfile": _checks(pod_checks.check_local_profile),
    "core.v1.SecretEnvSource": _filled("name"),
    "core.v1.SecretKeySelector": _filled("name", "key"),
    "core.v1.SecretProjection": _filled("name"),
    "core.v1.SecretVolumeSource": _filled("secretName"),
    "core.v1.SecurityContext": _checks(pod_checks.check_privileges),
    "core.v1.ServiceAccountTokenProjection": _filled("path"),
    "core.v1.ServiceSpec": _checks(object_checks.check_service),
    "core.v1.Toleration": _checks(pod_checks.check_toleration),
    "core.v1.TopologySpreadConstraint": {**_filled("topologyKey"), **_checks(pod_checks.check_spread)},
    "core.v1.Volume": {**_filled("name"), **_checks(pod_checks.check_volume)},
    "core.v1.VolumeMount": _filled("name", "mountPath"),
    "core.v1.VolumeProjection": {"x-at-most-one": _PROJECTIONS},
    "apps.v1.DaemonSetSpec": _checks(*APP_CHECKS),
    "apps.v1.DeploymentSpec": _checks(*APP_CHECKS, workload_checks.check_deployment),
    "apps.v1.ReplicaSetSpec": {**_required("template"), **_checks(*APP_CHECKS)},
    "apps.v1.StatefulSetSpec": _checks(*APP_CHECKS, workload_checks.check_stateful_set),
    "autoscaling.v2.CrossVersionObjectReference": _filled("kind", "name"),
    "autoscaling.v2.HorizontalPodAutoscalerSpec": _checks(workload_checks.check_autoscaler),
    "autoscaling.v2.MetricSpec": _checks(workload_checks.check_metric),
    "batch.v1.CronJobSpec": _filled("schedule"),
    "batch.v1.JobSpec": _checks(workload_checks.check_job_pod, workload_checks.check_indexed_job),
    "batch.v1.PodFailurePolicyRule": _checks(workload_checks.check_failure_rule),
    "batch.v1.JobTemplateSpec": {**_required("spec"), **_checks(workload_checks.check_job_template)},
    "networking.v1.IngressBackend": {"x-exactly-one": ("service", "resource")},
    "networking.v1.IngressServiceBackend": _filled("name"),
    "networking.v1.IngressSpec": _checks(object_checks.check_ingress),
    "networking.v1.HTTPIngressRuleValue": _filled("paths"),
    "policy.v1.PodDisruptionBudgetSpec": {"x-at-most-one": ("minAvailable", "maxUnavailable")},
    "meta.v1.LabelSelectorRequirement": {
        **_filled("key"),
        **_checks(workload_checks.check_requirement, workload_checks.check_label_values),
    },
}
"""Rules of definitions that other objects contain."""

_SUBDOMAINS = (
    *("core.v1.ConfigMap", "core.v1.Endpoints", "core.v1.LimitRange", "core.v1.PersistentVolume"),
    *("core.v1.PersistentVolumeClaim", "core.v1.Pod", "core.v1.PodTemplate", "core.v1.ReplicationController"),
    *("core.v1.ResourceQuota", "core.v1.Secret", "core.v1.ServiceAccount", "apps.v1.DaemonSet", "apps.v1.Deployment"),
    *("apps.v1.ReplicaSet", "autoscaling.v2.HorizontalPodAutoscaler", "batch.v1.CronJob", "batch.v1.Job"),
    *("networking.v1.Ingress", "networking.v1.NetworkPolicy"),
)
_NAMES: Mapping[str, TextCheck] = {
    **dict.fromkeys(_SUBDOMAINS, dns_subdomain_fault),
    "core.v1.Namespace": dns_label_fault,
    "core.v1.Service": dns_1035_label_fault,
    "apps.v1.StatefulSet": dns_label_fault,
}
"""The format of the names of kinds; other kinds accept any name without `/` and `%`."""
_CLUSTER_KINDS = ("core.v1.Namespace", "core.v1.PersistentVolume")
_WITH_SPEC = (
    *("core.v1.PersistentVolumeClaim", "core.v1.Pod", "core.v1.ReplicationController", "core.v1.Service"),
    *("apps.v1.DaemonSet", "apps.v1.Deployment", "apps.v1.ReplicaSet", "apps.v1.StatefulSet"),
    *("autoscaling.v2.HorizontalPodAutoscaler", "batch.v1.CronJob", "batch.v1.Job", "networking.v1.Ingress"),
)
_REQUIRED = {**dict.fromkeys(_WITH_SPEC, ("spec",)), "core.v1.PodTemplate": ("template",)}
"""Fields of kinds that servers need, although the schemas do not require them."""
_KIND_CHECKS: Mapping[str, tuple[Check, ...]] = {
    "core.v1.ConfigMap": (object_checks.check_config_map,),
    "core.v1.Pod": (pod_checks.check_mounts, object_checks.check_pod_annotations),
    "core.v1.Secret": (object_checks.check_secret,),
    "batch.v1.CronJob": (workload_checks.check_cron_job,),
    "batch.v1.Job": (workload_checks.check_job,),
}
_LAST_WITHOUT_RESTART_POLICIES = 34
_LAST_WITH_STRICT_SERVICES = 35
"""Later versions accept names of Services that begin with a digit."""


def _name_check(definition: str, minor: int) -> Check:
    """Other kinds may belong to no namespace, and to groups with finalizers of their own."""
    if definition == "core.v1.Service" and minor > _LAST_WITH_STRICT_SERVICES:
        return check_names(dns_label_fault, object_checks.finalizer_fault, dns_label_fault)
    if definition in _NAMES:
        namespace = {} if definition in _CLUSTER_KINDS else {"namespace": dns_label_fault}
        return check_names(_NAMES[definition], object_checks.finalizer_fault, **namespace)
    return check_names(path_segment_fault)


def object_rule(definition: str, minor: int, *, is_kind: bool) -> Schema:
    """The rule of a definition, such as `core.v1.Pod`, in a minor version."""
    if is_kind:
        checks = (_name_check(definition, minor), *_KIND_CHECKS.get(definition, ()))
        return {**_checks(*checks), **_required(*_REQUIRED.get(definition, ()))}
    rule = _OBJECTS.get(definition, {})
    if definition == "core.v1.PodSpec" and minor <= _LAST_WITHOUT_RESTART_POLICIES:
        return {**rule, **_checks(*rule["x-checks"], pod_checks.check_no_restart_policy)}
    return rule
