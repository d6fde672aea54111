// Manifests of runs, as YAML; `std.mergePatch` merges the profile over each run.
local selector(run) = {
  'app.kubernetes.io/name': run.name,
  'app.kubernetes.io/part-of': run.project,
};

local metadata(run) = {
  labels: selector(run) + {
    'app.kubernetes.io/managed-by': 'speccompile',
    'speccompile.dev/profile': run.profile,
  } + run.labels,
  [if std.objectHas(run, 'annotations') then 'annotations']: run.annotations,
};

local object(run, volume) = run.name + '--' + volume.name;

local claim(run, volume) = {
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: object(run, volume) } + metadata(run),
  spec: {
    accessModes: [std.get(volume.spec, 'access_mode', 'ReadWriteOnce')],
    resources: { requests: { storage: volume.spec.size } },
  },
};

local configMap(run, volume) = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: object(run, volume) } + metadata(run),
  data: volume.spec.data,
};

local target(port) = std.get(port, 'target_port', port.port);

local source(run, volume) =
  if volume.volume_type == 'persistent_volume_claim' then { persistentVolumeClaim: { claimName: object(run, volume) } }
  else if volume.volume_type == 'config_map' then { configMap: { name: object(run, volume) } }
  else { emptyDir: { sizeLimit: volume.spec.size_limit } };

local container(run) = {
  name: 'main',
  image: run.image,
  [if std.objectHas(run, 'command') then 'command']: run.command,
  args: run.args,
  [if std.objectHas(run, 'service_ports') then 'ports']: [{ containerPort: target(port) } for port in run.service_ports],
  env: [
    { name: secret, valueFrom: { secretKeyRef: { name: run.project + '-secrets', key: secret } } }
    for secret in std.get(run, 'secrets', [])
  ] + [{ name: name, value: run.envs[name] } for name in std.objectFields(run.envs)],
  resources: {
    requests: { cpu: run.resources.cpu, memory: run.resources.mem, 'nvidia.com/gpu': std.toString(run.resources.gpu) },
    limits: { 'nvidia.com/gpu': std.toString(run.resources.gpu) },
  },
  volumeMounts: [{ name: volume.name, mountPath: volume.mount_path } for volume in run.volumes],
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
};

local workload(run) = {
  local isJob = run.action == 'job',
  apiVersion: if isJob then 'batch/v1' else 'apps/v1',
  kind: if isJob then 'Job' else 'Deployment',
  metadata: { name: run.name } + metadata(run),
  spec: {
    [if std.objectHas(run, 'replicas') then 'replicas']: run.replicas,
    [if isJob then 'backoffLimit']: 0,
    [if !isJob then 'selector']: { matchLabels: selector(run) },
    template: {
      metadata: metadata(run),
      spec: {
        [if isJob then 'restartPolicy']: 'Never',
        serviceAccountName: run.service_account,
        priorityClassName: run.priority_class,
        runtimeClassName: run.runtime_class,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: run.run_as_user,
          fsGroup: run.fs_group,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        nodeSelector: run.node_selector,
        affinity: run.affinity,
        tolerations: run.tolerations,
        containers: [container(run)],
        volumes: [{ name: volume.name } + source(run, volume) for volume in run.volumes],
      },
    },
  },
};

local service(run, name) = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: name } + metadata(run),
  spec: {
    type: 'ClusterIP',
    selector: selector(run),
    ports: [{ name: 'port-' + port.port, port: port.port, targetPort: target(port) } for port in run.service_ports],
  },
};

local manifests(run) =
  [claim(run, volume) for volume in run.volumes if volume.volume_type == 'persistent_volume_claim']
  + [configMap(run, volume) for volume in run.volumes if volume.volume_type == 'config_map']
  + [workload(run)]
  + (if std.objectHas(run, 'service_ports') then [service(run, run.name)] else [])
  + (if std.objectHas(run, 'service_name') then [service(run, run.service_name)] else []);

function(fixed, runs)
  local profile = std.parseYaml(fixed);
  std.manifestYamlStream(
    std.flatMap(function(run) manifests(std.mergePatch(std.parseYaml(run), profile)), runs),
    c_document_end=false,
    quote_keys=false,
  )
