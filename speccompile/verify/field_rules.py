"""Rules of the API server for fields, which the published schemas lack.

A rule is a part of a schema; `server_checks.py` implements its keywords. Rules apply wherever the API uses a
definition, so those of a pod apply to every kind that contains pods.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from speccompile.schema.formats.names import (
    config_key_fault,
    dns_label_fault,
    dns_subdomain_fault,
    env_name_fault,
    label_key_fault,
    label_value_fault,
    port_name_fault,
)
from speccompile.schema.library import Schema
from speccompile.verify import object_checks, pod_checks, workload_checks

INT32, INT64 = 2**31 - 1, 2**63 - 1
_DEFAULTED = ""
"""An empty value, which the server replaces with its default."""
_SELECTING = ("In", "NotIn", "Exists", "DoesNotExist")
_PROTOCOLS = ("TCP", "UDP", "SCTP")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never", _DEFAULTED)
UNCHECKED: Schema = {}
"""The rule of a field to which the rules of its definition do not apply."""
_TEXT: Schema = {"type": ["string", "null"]}
_LARGEST_MODE = 0o777


def _options(*options: str) -> Schema:
    return {"x-options": options}


def _from(low: int, high: int = INT32) -> Schema:
    return {"minimum": low, "maximum": high}


def _each(rule: Schema) -> Schema:
    """A list of texts that follow the rule."""
    return {"items": {**_TEXT, **rule}}


_LABEL, _SUBDOMAIN = {"x-format": dns_label_fault}, {"x-format": dns_subdomain_fault}
_LABEL_KEY: Schema = {"x-format": label_key_fault}
_LABELS: Schema = {"x-keys": label_key_fault, "additionalProperties": {**_TEXT, "x-format": label_value_fault}}
_ADDRESS: Schema = {"x-format": object_checks.address_fault}
_PORT: Schema = {**_from(1, 65535), "x-format": port_name_fault}
_USER: Schema = _from(0)
_MODE: Schema = _from(0, _LARGEST_MODE)
_PATH: Schema = {"x-format": pod_checks.descending_path_fault}
_FILE: Schema = {"x-format": pod_checks.file_path_fault}
_SHARE: Schema = {"x-value": workload_checks.check_share}
_SHARE_OF_ALL: Schema = {"x-value": workload_checks.check_share_of_all}

_CONTAINER: Mapping[str, Schema] = {
    "name": _LABEL,
    "imagePullPolicy": _options(*_PULL_POLICIES),
    "ports": {"x-unique": ("name",)},
    "resizePolicy": {"x-unique": ("resourceName",)},
    "resources": {"x-resources": True},
    "terminationMessagePolicy": _options("File", "FallbackToLogsOnError", _DEFAULTED),
    "volumeMounts": {"x-unique": ("mountPath",)},
    "volumeDevices": {"x-unique": ("devicePath",)},
}
_PROBE: Mapping[str, Schema] = {
    **{f"{name}Seconds": _from(0) for name in ("initialDelay", "period", "timeout")},
    "failureThreshold": _from(0),
    "successThreshold": _from(0),
    "terminationGracePeriodSeconds": _from(1, INT64),
}
_SCALE: Mapping[str, Schema] = {
    "replicas": _from(0),
    "minReadySeconds": _from(0),
    "revisionHistoryLimit": _from(0),
    "progressDeadlineSeconds": _from(0),
}
_FILES: Mapping[str, Schema] = {"defaultMode": _MODE}

_FIELDS: Mapping[str, Mapping[str, Schema]] = {
    "core.v1.AppArmorProfile": {"type": _options("Localhost", "RuntimeDefault", "Unconfined")},
    "core.v1.ConfigMap": {"data": {"x-keys": config_key_fault}, "binaryData": {"x-keys": config_key_fault}},
    "core.v1.ConfigMapEnvSource": {"name": _SUBDOMAIN},
    "core.v1.ConfigMapKeySelector": {"name": _SUBDOMAIN, "key": {"x-format": config_key_fault}},
    "core.v1.ConfigMapVolumeSource": _FILES,
    "core.v1.Container": _CONTAINER,
    "core.v1.ContainerPort": {
        "name": {"x-format": port_name_fault},
        "containerPort": _from(0, 65535),
        "hostPort": _from(0, 65535),
        "protocol": _options(*_PROTOCOLS, _DEFAULTED),
    },
    "core.v1.ContainerResizePolicy": {
        "resourceName": _options("cpu", "memory"),
        "restartPolicy": _options("NotRequired", "RestartContainer"),
    },
    "core.v1.DownwardAPIVolumeFile": {"path": _FILE, "mode": _MODE},
    "core.v1.DownwardAPIVolumeSource": _FILES,
    "core.v1.EnvFromSource": {"prefix": {"x-format": env_name_fault}},
    "core.v1.EnvVar": {"name": {"x-format": env_name_fault}},
    "core.v1.EphemeralContainer": _CONTAINER,
    "core.v1.GRPCAction": {"port": _from(1, 65535)},
    "core.v1.HostAlias": {"ip": _ADDRESS, "hostnames": _each({"x-format": dns_subdomain_fault, "x-nonempty": True})},
    "core.v1.HostPathVolumeSource": {
        "path": {"x-format": pod_checks.no_parent_fault},
        "type": _options(
            *("", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket", "CharDevice", "BlockDevice")
        ),
    },
    "core.v1.HTTPGetAction": {"port": {**_PORT, "x-nonempty": True}, "scheme": _options("HTTP", "HTTPS", _DEFAULTED)},
    "core.v1.ImageVolumeSource": {"pullPolicy": _options(*_PULL_POLICIES)},
    "core.v1.KeyToPath": {"path": _FILE, "mode": _MODE},
    "core.v1.NamespaceSpec": {"finalizers": _each({"x-format": object_checks.finalizer_fault})},
    "core.v1.NodeSelectorRequirement": {"key": _LABEL_KEY, "operator": _options(*_SELECTING, "Gt", "Lt")},
    "core.v1.PersistentVolumeClaimSpec": {
        "accessModes": _each(_options("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")),
        "storageClassName": _SUBDOMAIN,
        "volumeMode": _options("Filesystem", "Block"),
    },
    "core.v1.PodAffinityTerm": {
        "topologyKey": _LABEL_KEY,
        "namespaces": _each({**_LABEL, "x-nonempty": True}),
        "matchLabelKeys": _each({**_LABEL_KEY, "x-nonempty": True}),
        "mismatchLabelKeys": _each({**_LABEL_KEY, "x-nonempty": True}),
    },
    "core.v1.PodDNSConfig": {"nameservers": _each({**_ADDRESS, "x-nonempty": True})},
    "core.v1.PodOS": {"name": _options("linux", "windows")},
    "core.v1.PodReadinessGate": {"conditionType": _LABEL_KEY},
    "core.v1.PodSchedulingGate": {"name": _LABEL_KEY},
    "core.v1.PodSecurityContext": {
        "fsGroup": _USER,
        "fsGroupChangePolicy": _options("OnRootMismatch", "Always"),
        "runAsGroup": _USER,
        "runAsUser": _USER,
        "seLinuxChangePolicy": _options("MountOption", "Recursive"),
        "supplementalGroups": {"items": {"type": ["integer", "null"], **_USER}},
        "supplementalGroupsPolicy": _options("Merge", "Strict"),
    },
    "core.v1.PodSpec": {
        "activeDeadlineSeconds": _from(1),
        "dnsPolicy": _options("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None", _DEFAULTED),
        "hostname": _LABEL,
        "nodeName": _SUBDOMAIN,
        "nodeSelector": _LABELS,
        "preemptionPolicy": _options("PreemptLowerPriority", "Never"),
        "priorityClassName": _SUBDOMAIN,
        "resources": {"x-resources": True},
        "restartPolicy": _options("Always", "OnFailure", "Never", _DEFAULTED),
        "schedulingGates": {"x-unique": ("name",)},
        "runtimeClassName": {**_SUBDOMAIN, "x-nonempty": True},
        "serviceAccountName": _SUBDOMAIN,
        "subdomain": _LABEL,
        "topologySpreadConstraints": {"x-unique": ("topologyKey", "whenUnsatisfiable")},
        "volumes": {"x-unique": ("name",)},
    },
    "core.v1.PreferredSchedulingTerm": {"weight": _from(1, 100)},
    "core.v1.Probe": _PROBE,
    "core.v1.ProjectedVolumeSource": _FILES,
    "core.v1.ReplicationControllerSpec": {**_SCALE, "selector": _LABELS},
    "core.v1.ResourceFieldSelector": {"resource": {"x-format": pod_checks.resource_field_fault}},
    "core.v1.SeccompProfile": {
        "type": _options("Localhost", "RuntimeDefault", "Unconfined"),
        "localhostProfile": _PATH,
    },
    "core.v1.Secret": {"data": {"x-keys": config_key_fault}, "stringData": {"x-keys": config_key_fault}},
    "core.v1.SecretEnvSource": {"name": _SUBDOMAIN},
    "core.v1.SecretKeySelector": {"name": _SUBDOMAIN, "key": {"x-format": config_key_fault}},
    "core.v1.SecretVolumeSource": _FILES,
    "core.v1.SecurityContext": {
        "procMount": _options("Default", "Unmasked"),
        "runAsGroup": _USER,
        "runAsUser": _USER,
    },
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": _from(600, 2**32)},
    "core.v1.ServicePort": {
        "appProtocol": {**_LABEL_KEY, "x-nonempty": True},
        "name": _LABEL,
        "port": _from(1, 65535),
        "protocol": _options(*_PROTOCOLS, _DEFAULTED),
        "targetPort": {**_PORT, **_from(0, 65535)},
    },
    "core.v1.ServiceSpec": {
        "externalIPs": _each({**_ADDRESS, "x-nonempty": True}),
        "externalTrafficPolicy": _options("Cluster", "Local", _DEFAULTED),
        "internalTrafficPolicy": _options("Cluster", "Local"),
        "ipFamilies": _each(_options("IPv4", "IPv6")),
        "ipFamilyPolicy": _options("SingleStack", "PreferDualStack", "RequireDualStack"),
        "loadBalancerSourceRanges": _each({"x-format": object_checks.network_fault, "x-nonempty": True}),
        "ports": {"x-unique": ("name",)},
        "selector": _LABELS,
        "sessionAffinity": _options("ClientIP", "None", _DEFAULTED),
        "type": _options("ClusterIP", "NodePort", "LoadBalancer", "ExternalName", _DEFAULTED),
    },
    "core.v1.Sysctl": {"name": {"x-format": pod_checks.sysctl_fault}},
    "core.v1.TCPSocketAction": {"port": {**_PORT, "x-nonempty": True}},
    "core.v1.Taint": {"effect": _options(*_EFFECTS)},
    "core.v1.Toleration": {
        "key": _LABEL_KEY,
        "effect": _options(*_EFFECTS, _DEFAULTED),
        "operator": _options("Exists", "Equal", _DEFAULTED),
    },
    "core.v1.TopologySpreadConstraint": {
        "maxSkew": _from(1),
        "minDomains": _from(1),
        "nodeAffinityPolicy": _options("Honor", "Ignore"),
        "nodeTaintsPolicy": _options("Honor", "Ignore"),
        "whenUnsatisfiable": _options("DoNotSchedule", "ScheduleAnyway"),
    },
    "core.v1.Volume": {"name": _LABEL},
    "core.v1.VolumeMount": {
        "mountPropagation": _options("None", "HostToContainer", "Bidirectional"),
        "recursiveReadOnly": _options("Disabled", "IfPossible", "Enabled"),
        "subPath": _PATH,
        "subPathExpr": _PATH,
    },
    "core.v1.WeightedPodAffinityTerm": {"weight": _from(1, 100)},
    "apps.v1.DaemonSetSpec": _SCALE,
    "apps.v1.DaemonSetUpdateStrategy": {"type": _options("RollingUpdate", "OnDelete", _DEFAULTED)},
    "apps.v1.DeploymentSpec": _SCALE,
    "apps.v1.DeploymentStrategy": {"type": _options("RollingUpdate", "Recreate", _DEFAULTED)},
    "apps.v1.ReplicaSetSpec": _SCALE,
    "apps.v1.RollingUpdateDaemonSet": {"maxSurge": _SHARE_OF_ALL, "maxUnavailable": _SHARE_OF_ALL},
    "apps.v1.RollingUpdateDeployment": {"maxSurge": _SHARE, "maxUnavailable": _SHARE_OF_ALL},
    # Its claim templates add volumes, which `check_stateful_set` knows.
    "apps.v1.StatefulSetSpec": {
        **_SCALE,
        "podManagementPolicy": _options("OrderedReady", "Parallel", _DEFAULTED),
        "template": {"x-checks": (object_checks.check_pod_annotations,)},
    },
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy": {
        "whenDeleted": _options("Delete", "Retain", _DEFAULTED),
        "whenScaled": _options("Delete", "Retain", _DEFAULTED),
    },
    "apps.v1.StatefulSetUpdateStrategy": {"type": _options("RollingUpdate", "OnDelete", _DEFAULTED)},
    "autoscaling.v2.HorizontalPodAutoscalerSpec": {"maxReplicas": _from(1), "minReplicas": _from(0)},
    "autoscaling.v2.MetricSpec": {"type": _options("Object", "Pods", "Resource", "ContainerResource", "External")},
    "autoscaling.v2.MetricTarget": {"type": _options("Utilization", "Value", "AverageValue")},
    "batch.v1.CronJobSpec": {
        "concurrencyPolicy": _options("Allow", "Forbid", "Replace", _DEFAULTED),
        "failedJobsHistoryLimit": _from(0),
        "schedule": {"x-format": workload_checks.old_schedule_fault},
        "startingDeadlineSeconds": _from(0, INT64),
        "successfulJobsHistoryLimit": _from(0),
        "timeZone": {"x-format": workload_checks.time_zone_fault, "x-nonempty": True},
    },
    "batch.v1.JobSpec": {
        "activeDeadlineSeconds": _from(0, INT64),
        "backoffLimit": _from(0),
        "backoffLimitPerIndex": _from(0),
        "completionMode": _options("NonIndexed", "Indexed"),
        "completions": _from(0),
        "maxFailedIndexes": _from(0),
        "parallelism": _from(0),
        "podReplacementPolicy": _options("Failed", "TerminatingOrFailed"),
        "ttlSecondsAfterFinished": _from(0),
    },
    # A server looks at the labels of jobs when it creates them.
    "batch.v1.JobTemplateSpec": {"metadata": UNCHECKED},
    "batch.v1.PodFailurePolicyRule": {"action": _options("FailJob", "FailIndex", "Ignore", "Count")},
    "batch.v1.PodFailurePolicyOnExitCodesRequirement": {"operator": _options("In", "NotIn")},
    "networking.v1.HTTPIngressPath": {"pathType": _options("Exact", "Prefix", "ImplementationSpecific")},
    "networking.v1.IngressSpec": {"ingressClassName": {**_SUBDOMAIN, "x-nonempty": True}},
    "networking.v1.NetworkPolicyPort": {"protocol": _options(*_PROTOCOLS)},
    "networking.v1.NetworkPolicySpec": {"policyTypes": _each(_options("Ingress", "Egress"))},
    "policy.v1.PodDisruptionBudgetSpec": {
        "minAvailable": _SHARE_OF_ALL,
        "maxUnavailable": _SHARE_OF_ALL,
        "unhealthyPodEvictionPolicy": _options("IfHealthyBudget", "AlwaysAllow"),
    },
    "meta.v1.LabelSelector": {"matchLabels": _LABELS},
    "meta.v1.LabelSelectorRequirement": {"key": _LABEL_KEY, "operator": _options(*_SELECTING)},
    "meta.v1.ObjectMeta": {
        "annotations": {"x-keys": object_checks.annotation_fault, "x-checks": (object_checks.check_annotations,)},
        "labels": _LABELS,
    },
}
"""Rules of fields."""

_CHANGES: Mapping[int, Mapping[str, Mapping[str, Schema]]] = {
    29: {"batch.v1.CronJobSpec": {"schedule": {"x-format": workload_checks.schedule_fault}}},
    32: {
        "core.v1.EnvVar": {"name": {"x-format": pod_checks.relaxed_env_name_fault}},
        "core.v1.EnvFromSource": {"prefix": {"x-format": pod_checks.relaxed_env_name_fault}},
    },
    35: {
        "core.v1.Container": {"restartPolicy": _options("Always", "OnFailure", "Never")},
        "apps.v1.StatefulSetSpec": {"serviceName": _LABEL},
    },
}
"""Rules that replace those above from a minor version on."""

_ADDED_OPTIONS: Mapping[tuple[str, str], tuple[str, ...]] = {("core.v1.Toleration", "operator"): ("Gt", "Lt")}
"""Options that newer versions add; they apply if the description of the field mentions them."""


def field_rule(definition: str, field: str, minor: int, description: str) -> Schema | None:
    """The rule of a field of a definition, such as `core.v1.Pod`, in a minor version."""
    rule = _FIELDS.get(definition, {}).get(field)
    for first, changes in _CHANGES.items():
        if minor >= first:
            rule = changes.get(definition, {}).get(field, rule)
    added = [one for one in _ADDED_OPTIONS.get((definition, field), ()) if re.search(rf"\b{one}\b", description)]
    return {**rule, "x-options": (*rule["x-options"], *added)} if rule and added else rule
