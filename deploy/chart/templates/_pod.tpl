{{- /*
What a pod needs for hookline, each to be used alone by charts that have this one as a dependency:
  hookline.container   the container
  hookline.lifecycle   of the app's container: what drains hookline before it ends (layout hookline-sidecar)
  hookline.volumes     its volumes
  hookline.gracePeriod how many seconds the pod's end may take
The argument is the chart's scope (.Subcharts.hookline there).
*/ -}}

{{- define "hookline.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* A text as hookline takes it: YAML's large numbers would become 1e+06. */ -}}
{{- define "hookline.text" -}}
{{- if kindIs "float64" . -}}
{{- if eq (floor .) . }}{{ int64 . | toString | quote }}{{ else }}{{ . | toString | quote }}{{ end -}}
{{- else -}}
{{- . | toString | quote -}}
{{- end -}}
{{- end -}}

{{- define "hookline.environment" -}}
{{- $v := .Values -}}
{{- $role := .role | default "all" -}}
{{- if ne $role "front" }}
- name: HOOKLINE_APP_URL
  value: {{ $v.app.url | quote }}
{{- with $v.app.healthPath }}
- name: HOOKLINE_APP_HEALTH_PATH
  value: {{ . | quote }}
{{- end }}
{{- with $v.app.concurrency }}
- name: HOOKLINE_APP_CONCURRENCY
  value: {{ include "hookline.text" . }}
{{- end }}
{{- end }}
{{- if ne $role "all" }}
- name: HOOKLINE_ROLE
  value: {{ $role }}
{{- end }}
{{- if eq $role "front" }}
- name: HOOKLINE_FRONT_TIMEOUT
  value: {{ $v.front.timeout | quote }}
{{- end }}
- name: HOOKLINE_STORE
  value: {{ $v.store.kind }}
{{- if eq $v.store.kind "postgres" }}
- name: HOOKLINE_POSTGRES_URL
  valueFrom:
    secretKeyRef: {name: {{ $v.secret }}, key: postgres-url}
- name: HOOKLINE_KEY # the same in every pod
  valueFrom:
    secretKeyRef: {name: {{ $v.secret }}, key: key}
- name: HOOKLINE_REPLICA
  valueFrom:
    fieldRef: {fieldPath: metadata.name}
{{- end }}
{{- if $v.secret }}
- name: HOOKLINE_WEBHOOK_SECRET
  valueFrom:
    secretKeyRef: {name: {{ $v.secret }}, key: webhook-secret, optional: true}
{{- end }}
- name: HOOKLINE_ADMIN_LISTEN
  value: 0.0.0.0:9090
- name: HOOKLINE_DATA_DIR
  value: /var/lib/hookline/data # below the volume, so that it is hookline's alone
{{- if and (eq $v.layout "hookline-sidecar") (ne $role "front") }}
- name: HOOKLINE_SHUTDOWN_DELAY
  value: 0s # the app's preStop has waited
- name: HOOKLINE_DRAIN_TIMEOUT
  value: 10s # the app is gone
{{- else }}
- name: HOOKLINE_SHUTDOWN_DELAY
  value: {{ int $v.shutdown.delaySeconds }}s
- name: HOOKLINE_DRAIN_TIMEOUT
  value: {{ int $v.shutdown.drainSeconds }}s
{{- end }}
{{- range $name, $value := $v.settings }}
- name: {{ $name }}
  value: {{ include "hookline.text" $value }}
{{- end }}
{{- with $v.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "hookline.container" -}}
{{- $v := .Values -}}
{{- $role := .role | default "all" -}}
name: hookline
image: {{ include "hookline.image" . }}
imagePullPolicy: {{ $v.image.pullPolicy }}
env:
  {{- include "hookline.environment" . | nindent 2 }}
{{- with $v.envFrom }}
envFrom:
  {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - {name: run, containerPort: 8080}
  - {name: admin, containerPort: 9090}
readinessProbe: # false while the app is not up, while the store fails, and from SIGTERM on
  httpGet: {path: /_hookline/readyz, port: run}
  periodSeconds: 3
startupProbe: # with postgres it listens once it has reached the database: until then it is waited for, not restarted
  httpGet: {path: /_hookline/healthz, port: run}
  periodSeconds: 3
  failureThreshold: 200
livenessProbe: # of hookline alone, whatever the app and the database do
  httpGet: {path: /_hookline/healthz, port: run}
  periodSeconds: 10
resources:
  {{- toYaml (eq $role "front" | ternary $v.front.resources $v.resources) | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}
volumeMounts:
  - {name: hookline-data, mountPath: /var/lib/hookline}
{{- end -}}

{{- /* With sqlite the StatefulSet makes the volume. */ -}}
{{- define "hookline.volumes" -}}
{{- if or (ne .Values.store.kind "sqlite") (not .Values.workload) }}
- name: hookline-data
  emptyDir: {sizeLimit: {{ .Values.store.size }}}
{{- end }}
{{- end -}}

{{- /* Needs sh and curl in the app's image. preStop runs before each restart of the container, too: the app is back then. */ -}}
{{- define "hookline.lifecycle" -}}
preStop:
  exec:
    command:
      - sh
      - -c
      - curl -fsS -X POST http://127.0.0.1:9090/drain; sleep {{ int .Values.shutdown.delaySeconds }}; curl -fsS 'http://127.0.0.1:9090/drain?wait={{ int .Values.shutdown.drainSeconds }}'
postStart:
  exec:
    command:
      - sh
      - -c
      - curl -fsS --retry 5 --retry-connrefused -X DELETE http://127.0.0.1:9090/drain
{{- end -}}

{{- define "hookline.gracePeriod" -}}
{{ add (int .Values.shutdown.delaySeconds) (int .Values.shutdown.drainSeconds) (eq .Values.layout "hookline-sidecar" | ternary 30 10) }}
{{- end -}}

{{- /* The app's container, in the layout's place. */ -}}
{{- define "hookline.app" -}}
{{- $app := deepCopy .Values.app.container -}}
{{- $_ := set $app "name" ($app.name | default "app") -}}
{{- if eq .Values.layout "app-sidecar" -}}
{{- $_ := set $app "restartPolicy" "Always" -}}
{{- else if not (hasKey $app "lifecycle") -}}
{{- $_ := set $app "lifecycle" (include "hookline.lifecycle" . | fromYaml) -}}
{{- end -}}
{{- toYaml (list $app) -}}
{{- end -}}

{{- define "hookline.pod" -}}
{{- $v := .Values -}}
{{- $role := .role | default "all" -}}
{{- $has_app := and $v.app.container (ne $role "front") -}}
metadata:
  labels:
    {{- include "hookline.selector" . | nindent 4 }}
    app.kubernetes.io/component: {{ $role }}
    {{- with $v.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $v.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  # shutdown.delaySeconds + shutdown.drainSeconds, and some to spare
  terminationGracePeriodSeconds: {{ include "hookline.gracePeriod" . }}
  automountServiceAccountToken: false
  {{- with $v.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  {{- with $v.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    fsGroup: 10001 # the volume is hookline's
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: {type: RuntimeDefault}
  {{- $sidecar := and $has_app (eq $v.layout "hookline-sidecar") }}
  {{- if or $has_app $v.app.initContainers }}
  initContainers:
    {{- if ne $role "front" }}
    {{- with $v.app.initContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- end }}
    {{- if $sidecar }}
    - restartPolicy: Always
      {{- include "hookline.container" . | nindent 6 }}
    {{- else if $has_app }}
    {{- include "hookline.app" . | nindent 4 }}
    {{- end }}
  {{- end }}
  containers:
    {{- if $sidecar }}
    {{- include "hookline.app" . | nindent 4 }}
    {{- else }}
    -
      {{- include "hookline.container" . | nindent 6 }}
    {{- end }}
  {{- $volumes := include "hookline.volumes" . }}
  {{- if or (trim $volumes) $v.app.volumes }}
  volumes:
    {{- with trim $volumes }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- if ne $role "front" }}
    {{- with $v.app.volumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- end }}
  {{- end }}
  {{- with $v.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
