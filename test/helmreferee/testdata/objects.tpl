{{- /* Small objects for the charts: (dict "name" "a" "on" "pre-install" "weight" "1" "policy" "hook-failed").
Without "on" it is a template. */ -}}

{{- define "meta" }}
metadata:
  name: {{ .name | quote }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  annotations:
    example.com/part: referee
    {{- with .on }}
    helm.sh/hook: {{ . | quote }}
    {{- end }}
    {{- with .weight }}
    helm.sh/hook-weight: {{ . | quote }}
    {{- end }}
    {{- with .policy }}
    helm.sh/hook-delete-policy: {{ . | quote }}
    {{- end }}
    {{- with .logs }}
    helm.sh/hook-output-log-policy: {{ . | quote }}
    {{- end }}
    {{- with .keep }}
    helm.sh/resource-policy: keep
    {{- end }}
{{- end }}

{{- /* fate: "fail", "never-ready" (it runs for ever), or none: it succeeds. */ -}}
{{- define "pod-annotations" }}
{{- with .fate }}{localcluster/behaviour: {{ . }}}{{ else }}{localcluster/completes-after: 200ms, localcluster/logs: "{{ .name }} says hello"}{{ end }}
{{- end }}

{{- define "job" }}
---
apiVersion: batch/v1
kind: Job
{{- include "meta" . }}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {{ include "pod-annotations" . }}}
    spec: {restartPolicy: Never, containers: [{name: main, image: "main:{{ .image | default 1 }}"}]}
{{- end }}

{{- define "pod" }}
---
apiVersion: v1
kind: Pod
{{- include "meta" . }}
    {{- with .fate }}
    localcluster/behaviour: {{ . }}
    {{- else }}
    localcluster/completes-after: 200ms
    {{- end }}
spec: {restartPolicy: Never, containers: [{name: main, image: "main:1"}]}
{{- end }}

{{- define "deployment" }}
---
apiVersion: apps/v1
kind: Deployment
{{- include "meta" . }}
spec:
  selector: {matchLabels: {app: {{ .name }}}}
  template:
    metadata:
      labels: {app: {{ .name }}}
      annotations: {{ with .fate }}{localcluster/behaviour: {{ . }}}{{ else }}{localcluster/ready-after: 300ms}{{ end }}
    spec: {containers: [{name: main, image: "main:{{ .image | default 1 }}"}]}
{{- end }}

{{- define "configmap" }}
---
apiVersion: v1
kind: ConfigMap
{{- include "meta" . }}
data: {v: {{ .data | default 1 | quote }}}
{{- end }}

{{- define "secret" }}
---
apiVersion: v1
kind: Secret
{{- include "meta" . }}
{{- end }}

{{- define "serviceaccount" }}
---
apiVersion: v1
kind: ServiceAccount
{{- include "meta" . }}
{{- end }}

{{- define "namespace" }}
---
apiVersion: v1
kind: Namespace
{{- include "meta" . }}
{{- end }}
