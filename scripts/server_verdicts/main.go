// Judge manifests with the code of kube-apiserver: strict decoding, defaults, preparation and validation of a new object.
//
// It reads one JSON object per line, and prints `{"accepted": bool, "error": "..."}` for each.
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/capabilities"

	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"

	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/autoscaling/horizontalpodautoscaler"
	"k8s.io/kubernetes/pkg/registry/batch/cronjob"
	"k8s.io/kubernetes/pkg/registry/batch/job"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/podtemplate"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/ingress"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
)

type kind struct {
	group, version, resource string
	strategy                 rest.RESTCreateStrategy
}

var kinds = map[string]kind{
	"ConfigMap":               {"", "v1", "configmaps", configmap.Strategy},
	"CronJob":                 {"batch", "v1", "cronjobs", cronjob.Strategy},
	"DaemonSet":               {"apps", "v1", "daemonsets", daemonset.Strategy},
	"Deployment":              {"apps", "v1", "deployments", deployment.Strategy},
	"HorizontalPodAutoscaler": {"autoscaling", "v2", "horizontalpodautoscalers", horizontalpodautoscaler.Strategy},
	"Ingress":                 {"networking.k8s.io", "v1", "ingresses", ingress.Strategy},
	"Job":                     {"batch", "v1", "jobs", job.Strategy},
	"Namespace":               {"", "v1", "namespaces", namespace.Strategy},
	"NetworkPolicy":           {"networking.k8s.io", "v1", "networkpolicies", networkpolicy.Strategy},
	"PersistentVolumeClaim":   {"", "v1", "persistentvolumeclaims", persistentvolumeclaim.Strategy},
	"Pod":                     {"", "v1", "pods", pod.Strategy},
	"PodDisruptionBudget":     {"policy", "v1", "poddisruptionbudgets", poddisruptionbudget.Strategy},
	"PodTemplate":             {"", "v1", "podtemplates", podtemplate.Strategy},
	"ReplicaSet":              {"apps", "v1", "replicasets", replicaset.Strategy},
	"ReplicationController":   {"", "v1", "replicationcontrollers", replicationcontroller.Strategy},
	"Secret":                  {"", "v1", "secrets", secret.Strategy},
	"Service":                 {"", "v1", "services", service.Strategy},
	"ServiceAccount":          {"", "v1", "serviceaccounts", serviceaccount.Strategy},
	"StatefulSet":             {"apps", "v1", "statefulsets", statefulset.Strategy},
}

var decoder = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder()

type verdict struct {
	Accepted bool   `json:"accepted"`
	Error    string `json:"error,omitempty"`
}

func judge(text []byte) verdict {
	obj, gvk, err := decoder.Decode(text, nil, nil)
	if err != nil {
		return verdict{Error: err.Error()}
	}
	known, ok := kinds[gvk.Kind]
	if !ok || gvk.Group != known.group {
		return verdict{Error: "unknown kind " + gvk.String()}
	}
	if err := create(obj, known, gvk.Version); err != nil {
		return verdict{Error: err.Error()}
	}
	return verdict{Accepted: true}
}

func create(obj runtime.Object, known kind, version string) error {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	name := accessor.GetNamespace()
	if name == "" && known.strategy.NamespaceScoped() {
		name = "default"
	}
	ctx := genericapirequest.WithNamespace(genericapirequest.NewContext(), name)
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", Namespace: name,
		APIGroup: known.group, APIVersion: version, Resource: known.resource,
	})
	if one, ok := obj.(*api.Service); ok {
		// The storage does this before the strategy validates.
		if one.Spec.ClusterIP != "" && len(one.Spec.ClusterIPs) == 0 {
			one.Spec.ClusterIPs = []string{one.Spec.ClusterIP}
		}
		local := one.Spec.ExternalTrafficPolicy == api.ServiceExternalTrafficPolicyLocal
		if one.Spec.Type == api.ServiceTypeLoadBalancer && local && one.Spec.HealthCheckNodePort == 0 {
			one.Spec.HealthCheckNodePort = 30000
		}
	}
	if accessor.GetName() == "" && accessor.GetGenerateName() != "" {
		accessor.SetName(known.strategy.GenerateName(accessor.GetGenerateName()))
	}
	rest.FillObjectMetaSystemFields(accessor)
	return rest.BeforeCreate(known.strategy, ctx, obj)
}

func main() {
	// As on most clusters; a server can also forbid privileged containers.
	capabilities.ResetForTest()
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		if err := out.Encode(judge(in.Bytes())); err != nil {
			panic(err)
		}
	}
}
