{{- define "metadata" }}
  labels: {{- include "labels" . | nindent 4 }}
  {{- with .annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- define "labels" -}}
app.kubernetes.io/managed-by: speccompile
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: {{ .project }}
speccompile.dev/profile: {{ .profile | quote }}
{{- range $key, $value := .labels }}
{{ $key }}: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/part-of: {{ .project }}
{{- end }}

{{- define "service" -}}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .as }}
{{- include "metadata" .run }}
spec:
  type: ClusterIP
  selector: {{- include "selector" .run | nindent 4 }}
  ports:
  {{- range .run.service_ports }}
  - name: port-{{ .port }}
    port: {{ .port }}
    targetPort: {{ .target_port | default .port }}
  {{- end }}
{{ end }}

{{- define "run" -}}
{{- $run := . }}
{{- range .volumes }}
{{- if eq .volume_type "persistent_volume_claim" }}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ $run.name }}--{{ .name }}
{{- include "metadata" $run }}
spec:
  accessModes:
  - {{ .spec.access_mode | default "ReadWriteOnce" }}
  resources:
    requests:
      storage: {{ .spec.size }}
{{- else if eq .volume_type "config_map" }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $run.name }}--{{ .name }}
{{- include "metadata" $run }}
data: {{- toYaml .spec.data | nindent 2 }}
{{- end }}
{{- end }}
---
{{- if eq .action "job" }}
apiVersion: batch/v1
kind: Job
{{- else }}
apiVersion: apps/v1
kind: Deployment
{{- end }}
metadata:
  name: {{ .name }}
{{- include "metadata" . }}
spec:
  {{- if eq .action "job" }}
  backoffLimit: 0
  {{- else }}
  {{- with .replicas }}
  replicas: {{ . }}
  {{- end }}
  selector:
    matchLabels: {{- include "selector" . | nindent 6 }}
  {{- end }}
  template:
    metadata: {{- include "metadata" . | indent 4 }}
    spec:
      {{- if eq .action "job" }}
      restartPolicy: Never
      {{- end }}
      serviceAccountName: {{ .service_account }}
      priorityClassName: {{ .priority_class }}
      runtimeClassName: {{ .runtime_class }}
      securityContext:
        runAsNonRoot: true
        runAsUser: {{ .run_as_user }}
        fsGroup: {{ .fs_group }}
        seccompProfile:
          type: RuntimeDefault
      nodeSelector: {{- toYaml .node_selector | nindent 8 }}
      affinity: {{- toYaml .affinity | nindent 8 }}
      tolerations: {{- toYaml .tolerations | nindent 6 }}
      containers:
      - name: main
        image: {{ .image | quote }}
        {{- with .command }}
        command: {{- toYaml . | nindent 8 }}
        {{- end }}
        args: {{- toYaml .args | nindent 8 }}
        {{- if .service_ports }}
        ports:
        {{- range .service_ports }}
        - containerPort: {{ .target_port | default .port }}
        {{- end }}
        {{- end }}
        env:
        {{- range .secrets }}
        - name: {{ . }}
          valueFrom:
            secretKeyRef:
              name: {{ $run.project }}-secrets
              key: {{ . }}
        {{- end }}
        {{- range $key, $value := .envs }}
        - name: {{ $key }}
          value: {{ $value | quote }}
        {{- end }}
        resources:
          requests:
            cpu: {{ .resources.cpu | quote }}
            memory: {{ .resources.mem | quote }}
            nvidia.com/gpu: {{ .resources.gpu | quote }}
          limits:
            nvidia.com/gpu: {{ .resources.gpu | quote }}
        volumeMounts:
        {{- range .volumes }}
        - name: {{ .name }}
          mountPath: {{ .mount_path }}
        {{- end }}
        securityContext:
          allowPrivilegeEscalation: false
          capabilities:
            drop:
            - ALL
      volumes:
      {{- range .volumes }}
      - name: {{ .name }}
        {{- if eq .volume_type "persistent_volume_claim" }}
        persistentVolumeClaim:
          claimName: {{ $run.name }}--{{ .name }}
        {{- else if eq .volume_type "config_map" }}
        configMap:
          name: {{ $run.name }}--{{ .name }}
        {{- else }}
        emptyDir:
          sizeLimit: {{ .spec.size_limit }}
        {{- end }}
      {{- end }}
{{ if .service_ports }}
{{- include "service" (dict "run" . "as" .name) }}
{{- end }}
{{- with .service_name }}
{{- include "service" (dict "run" $run "as" .) }}
{{- end }}
{{- end }}
