"""Where objects define their pods, by kind, and kinds that create none.

A kind that is in neither table, such as one whose operator derives the pods from other objects, has unknown pods,
unless a target declares where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from speccompile.compiler.documents.targets import targets_of
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.library import Library

EACH = "*"
"""A step of a path that means every item of a list, or every value of a mapping."""

ObjectKind: TypeAlias = tuple[str, str]
"""API group, empty for the core group, and kind."""


class Count(NamedTuple):
    """A number in an object: the largest of those set at the paths."""

    paths: tuple[KeyPath, ...]
    default: int = 1
    """The number if none is set."""


class PodSet(NamedTuple):
    """Identical pods of an object."""

    holder: KeyPath = ("spec",)
    """The path of the mapping that has the pod template; may contain `EACH`."""
    pod: KeyPath = ("template", "spec")
    """The PodSpec, below the holder."""
    counts: tuple[Count, ...] = ()
    """Numbers below the holder whose product is the number of pods."""
    job: KeyPath | None = None
    """A JobSpec below the holder, which defines the number of pods of each job."""
    suspends: tuple[KeyPath, ...] = ()
    """Paths in the object that suspend it if true."""
    claims: KeyPath | None = None
    """The path of its `volumeClaimTemplates` in the object."""


def holders(tree: Node, path: KeyPath) -> Iterator[tuple[KeyPath, Node | None]]:
    """The values at a path with `EACH`, each with its own path; None for a value that cannot contain the rest."""
    yield from _holders(tree, path, ())


def _holders(node: Node, rest: KeyPath, path: KeyPath) -> Iterator[tuple[KeyPath, Node | None]]:
    if node.value is None:
        return
    if not rest:
        yield path, node
        return
    step, *more = rest
    is_list = isinstance(node.value, tuple)
    if not isinstance(node.value, dict) and not (step == EACH and is_list):
        yield path, None
        return
    children: Mapping[str, Node] | Mapping[int, Node] = dict(enumerate(node.items)) if is_list else node.fields
    for key, child in children.items():
        if step in (EACH, key):
            yield from _holders(child, tuple(more), (*path, key))


def declared_pod_sets(library: Library) -> Mapping[ObjectKind, tuple[PodSet, ...]]:
    """The pods of kinds whose custom target declares them; the tables below have those of bundled targets."""
    declared: dict[ObjectKind, tuple[PodSet, ...]] = {}
    for target in targets_of(library).custom():
        for kind, pod in target.pods.items():
            counts = (Count((target.replicas[kind],)),) if kind in target.replicas else ()
            for version in target.bases.get(kind, ()):
                declared[version.rpartition("/")[0], kind] = (PodSet((), pod, counts),)
    return declared


_REPLICAS = Count((("replicas",),))
_SUSPEND: tuple[KeyPath, ...] = (("spec", "suspend"),)
_REPLICATED = (PodSet(counts=(_REPLICAS,)),)


def _ray(*cluster: str, suspends: tuple[KeyPath, ...] = _SUSPEND) -> tuple[PodSet, ...]:
    """The head and the workers of a Ray cluster, which has no fewer workers than `minReplicas`."""
    workers = (Count((("replicas",), ("minReplicas",)), 0), Count((("numOfHosts",),)))
    return (
        PodSet((*cluster, "headGroupSpec"), suspends=suspends),
        PodSet((*cluster, "workerGroupSpecs", EACH), counts=workers, suspends=suspends),
    )


def _kubeflow(replica_specs: str) -> tuple[PodSet, ...]:
    return (PodSet(("spec", replica_specs, EACH), counts=(_REPLICAS,), suspends=(("spec", "runPolicy", "suspend"),)),)


POD_SETS: Mapping[ObjectKind, tuple[PodSet, ...]] = {
    ("", "Pod"): (PodSet((), ("spec",)),),
    ("", "ReplicationController"): _REPLICATED,
    ("apps", "DaemonSet"): (PodSet(),),
    ("apps", "Deployment"): _REPLICATED,
    ("apps", "ReplicaSet"): _REPLICATED,
    ("apps", "StatefulSet"): (PodSet(counts=(_REPLICAS,), claims=("spec", "volumeClaimTemplates")),),
    ("argoproj.io", "Rollout"): _REPLICATED,
    ("batch", "CronJob"): (PodSet(("spec", "jobTemplate", "spec"), job=(), suspends=_SUSPEND),),
    ("batch", "Job"): (PodSet(job=()),),
    ("jobset.x-k8s.io", "JobSet"): (
        PodSet(
            ("spec", "replicatedJobs", EACH),
            ("template", "spec", "template", "spec"),
            (_REPLICAS,),
            job=("template", "spec"),
            suspends=_SUSPEND,
        ),
    ),
    ("kubeflow.org", "JAXJob"): _kubeflow("jaxReplicaSpecs"),
    ("kubeflow.org", "MPIJob"): _kubeflow("mpiReplicaSpecs"),
    ("kubeflow.org", "PaddleJob"): _kubeflow("paddleReplicaSpecs"),
    ("kubeflow.org", "PyTorchJob"): _kubeflow("pytorchReplicaSpecs"),
    ("kubeflow.org", "TFJob"): _kubeflow("tfReplicaSpecs"),
    ("kubeflow.org", "XGBoostJob"): _kubeflow("xgbReplicaSpecs"),
    ("ray.io", "RayCluster"): _ray("spec"),
    ("ray.io", "RayJob"): (
        *_ray("spec", "rayClusterSpec"),
        PodSet(("spec", "submitterPodTemplate"), ("spec",), suspends=_SUSPEND),
    ),
    ("ray.io", "RayService"): _ray("spec", "rayClusterConfig", suspends=()),
}
"""Kinds with a complete PodSpec at known paths."""

_PODLESS = {
    "": "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume"
    " PersistentVolumeClaim PodTemplate ResourceQuota Secret Service ServiceAccount",
    "admissionregistration.k8s.io": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"
    " MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
    " ValidatingWebhookConfiguration",
    "apiextensions.k8s.io": "CustomResourceDefinition",
    "apiregistration.k8s.io": "APIService",
    "apps": "ControllerRevision",
    "argoproj.io": "AnalysisTemplate AppProject ClusterAnalysisTemplate ClusterWorkflowTemplate WorkflowTemplate",
    "autoscaling": "HorizontalPodAutoscaler",
    "bitnami.com": "SealedSecret",
    "cert-manager.io": "Certificate ClusterIssuer Issuer",
    "certificates.k8s.io": "CertificateSigningRequest ClusterTrustBundle PodCertificateRequest",
    "coordination.k8s.io": "Lease LeaseCandidate",
    "discovery.k8s.io": "EndpointSlice",
    "events.k8s.io": "Event",
    "external-secrets.io": "ClusterExternalSecret ClusterSecretStore ExternalSecret SecretStore",
    "flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
    "gateway.networking.k8s.io": "GRPCRoute GatewayClass HTTPRoute ReferenceGrant TCPRoute TLSRoute",
    "keda.sh": "ClusterTriggerAuthentication ScaledObject TriggerAuthentication",
    "kueue.x-k8s.io": "AdmissionCheck ClusterQueue Cohort LocalQueue ResourceFlavor Topology WorkloadPriorityClass",
    "kustomize.config.k8s.io": "Component Kustomization",
    "mlops.seldon.io": "Experiment Model Pipeline SeldonConfig ServerConfig",
    "monitoring.coreos.com": "PodMonitor Probe PrometheusRule ServiceMonitor",
    "networking.istio.io": "DestinationRule ServiceEntry Sidecar VirtualService",
    "networking.k8s.io": "IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR",
    "node.k8s.io": "RuntimeClass",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "resource.k8s.io": "DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice",
    "scheduling.k8s.io": "CompositePodGroup PodGroup PriorityClass Workload",
    "serving.kserve.io": "ClusterServingRuntime ServingRuntime TrainedModel",
    "storage.k8s.io": "CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass",
    "trainer.kubeflow.org": "ClusterTrainingRuntime TrainingRuntime",
}
PODLESS: frozenset[ObjectKind] = frozenset((group, kind) for group, kinds in _PODLESS.items() for kind in kinds.split())
"""Kinds that create no pods: what they describe is used by other objects."""
