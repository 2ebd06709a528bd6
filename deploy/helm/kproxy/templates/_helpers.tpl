{{- define "kproxy.name" -}}
{{- if contains "kproxy" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-kproxy" .Release.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "kproxy.selectorLabels" -}}
app.kubernetes.io/name: kproxy
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kproxy.labels" -}}
{{ include "kproxy.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "kproxy.isSidecar" -}}
{{- if eq .Values.mode "sidecar" }}true{{ end }}
{{- end }}

{{- define "kproxy.lastPort" -}}
{{- $last := 0 }}
{{- range .Values.nodeIds }}{{ $last = max $last (add $.Values.brokerPortStart .) }}{{ end }}
{{- $last }}
{{- end }}

{{/* What the schema cannot say: rules that join several values. */}}
{{- define "kproxy.contradictions" -}}
{{- if and (include "kproxy.isSidecar" .) (not .Values.sidecar.containers) }}
{{- fail "sidecar.containers is empty: mode sidecar deploys an application, and kproxy in its pods" }}
{{- end }}
{{- if and (include "kproxy.isSidecar" .) .Values.advertisedHost }}
{{- fail "advertisedHost is for mode standalone: the clients of a sidecar are in its pod, at 127.0.0.1" }}
{{- end }}
{{- if and (not (include "kproxy.isSidecar" .)) .Values.sidecar.containers }}
{{- fail "sidecar.containers is for mode sidecar" }}
{{- end }}
{{- if gt (int (include "kproxy.lastPort" .)) 65535 }}
{{- fail (printf "brokerPortStart: with %d and the highest of nodeIds a port would be %s, beyond 65535" (int .Values.brokerPortStart) (include "kproxy.lastPort" .)) }}
{{- end }}
{{- $taken := list (int .Values.ports.bootstrap) (int .Values.ports.admin) (int .Values.ports.fleet) }}
{{- if ne (len (uniq $taken)) 3 }}
{{- fail "ports: bootstrap, admin and fleet need three different ones" }}
{{- end }}
{{- range .Values.nodeIds }}
{{- if has (int (add $.Values.brokerPortStart .)) $taken }}
{{- fail (printf "ports: broker %d would get %d (brokerPortStart), which is one of ports" (int .) (int (add $.Values.brokerPortStart .))) }}
{{- end }}
{{- end }}
{{- $waiting := ternary 0 (int .Values.preStopSeconds) (eq .Values.mode "sidecar") }}
{{- $graceMs := int64 10000 }}
{{- if hasKey .Values.config "kproxy.shutdown.grace.ms" }}{{ $graceMs = int64 (get .Values.config "kproxy.shutdown.grace.ms") }}{{ end }}
{{- $needed := add $waiting (div $graceMs 1000) 5 }}
{{- if lt (int64 .Values.terminationGracePeriodSeconds) $needed }}
{{- fail (printf "terminationGracePeriodSeconds is %d: preStopSeconds, kproxy.shutdown.grace.ms and 5 s more are %d" (int64 .Values.terminationGracePeriodSeconds) $needed) }}
{{- end }}
{{- end }}

{{/* Large numbers of a values file are floats here, and would be written as 1e+06. */}}
{{- define "kproxy.settingText" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . | toString | replace "\\" "\\\\" }}{{ end }}
{{- end }}

{{- define "kproxy.properties" -}}
{{- $isSidecar := include "kproxy.isSidecar" . -}}
bootstrap.servers={{ .Values.bootstrapServers }}
kproxy.listen={{ ternary "127.0.0.1" "0.0.0.0" (eq .Values.mode "sidecar") }}:{{ int .Values.ports.bootstrap }}
kproxy.broker.port.start={{ int .Values.brokerPortStart }}
{{- if not $isSidecar }}
kproxy.advertised.host={{ .Values.advertisedHost | default (printf "%s.%s.svc" (include "kproxy.name" .) .Release.Namespace) }}
{{- end }}
kproxy.admin.listener=0.0.0.0:{{ int .Values.ports.admin }}
kproxy.fleet.listener=0.0.0.0:{{ int .Values.ports.fleet }}
kproxy.fleet.secret.file=/run/secrets/kproxy/fleet-secret
{{- if not (hasKey .Values.config "kproxy.log.format") }}
kproxy.log.format=json
{{- end }}
{{- range $key, $value := .Values.config }}
{{ $key }}={{ include "kproxy.settingText" $value }}
{{- end }}
{{- end }}

{{- define "kproxy.podMetadata" -}}
labels:
  {{- include "kproxy.selectorLabels" . | nindent 2 }}
  {{- if include "kproxy.isSidecar" . }}
  kproxy-fleet: {{ .Release.Name }}
  {{- end }}
  {{- with .Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  # Pods read the configuration when they start, so that another one makes others.
  checksum/config: {{ include "kproxy.properties" . | sha256sum }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* What pods of both modes have alike. */}}
{{- define "kproxy.podSpec" -}}
enableServiceLinks: false
automountServiceAccountToken: false
terminationGracePeriodSeconds: {{ int .Values.terminationGracePeriodSeconds }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "kproxy.selectorLabels" . | nindent 8 }}
volumes:
  - name: kproxy-config
    configMap: { name: {{ include "kproxy.name" . }} }
  # No other container mounts them: their mode need not keep anybody out, and pods need no fsGroup.
  - name: kproxy-secret
    secret: { secretName: {{ .Values.existingSecret }}, defaultMode: 0444 }
  {{- range $index, $mount := .Values.secretMounts }}
  - name: kproxy-secret-{{ $index }}
    secret: { secretName: {{ $mount.secretName }}, defaultMode: 0444 }
  {{- end }}
  {{- with .Values.sidecar.volumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "kproxy.container" -}}
name: kproxy
{{- if include "kproxy.isSidecar" . }}
restartPolicy: Always
{{- end }}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args: [run, --config=/etc/kproxy/kproxy.properties]
env:
  - name: KPROXY_FLEET_ADVERTISED_HOST
    valueFrom: { fieldRef: { fieldPath: status.podIP } }
  # For kproxy itself, and for: kubectl exec POD -c kproxy -- kproxy status
  - name: KPROXY_ADMIN_TOKEN_FILE
    value: /run/secrets/kproxy/admin-token
  {{- if ne (int .Values.ports.admin) 9644 }}
  - name: KPROXY_ADMIN_URL
    value: http://127.0.0.1:{{ int .Values.ports.admin }}
  {{- end }}
ports:
  {{- if not (include "kproxy.isSidecar" .) }}
  - { name: bootstrap, containerPort: {{ int .Values.ports.bootstrap }} }
  {{- range .Values.nodeIds }}
  - { name: broker-{{ int . }}, containerPort: {{ add $.Values.brokerPortStart . }} }
  {{- end }}
  {{- end }}
  - { name: admin, containerPort: {{ int .Values.ports.admin }} }
  - { name: fleet, containerPort: {{ int .Values.ports.fleet }} }
startupProbe:
  httpGet: { path: /livez, port: admin }
  periodSeconds: 1
  timeoutSeconds: 5
  failureThreshold: 60
# Restarts what hangs, and nothing else: /livez never asks the cluster.
livenessProbe:
  httpGet: { path: /livez, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- if or (not (include "kproxy.isSidecar" .)) .Values.sidecar.readiness }}
readinessProbe:
  httpGet: { path: /readyz, port: admin }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
{{- end }}
{{- if and (not (include "kproxy.isSidecar" .)) .Values.preStopSeconds }}
lifecycle:
  preStop: { exec: { command: [sleep, {{ int .Values.preStopSeconds | quote }}] } }
{{- end }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: kproxy-config, mountPath: /etc/kproxy, readOnly: true }
  - { name: kproxy-secret, mountPath: /run/secrets/kproxy, readOnly: true }
  {{- range $index, $mount := .Values.secretMounts }}
  - { name: kproxy-secret-{{ $index }}, mountPath: {{ $mount.mountPath }}, readOnly: true }
  {{- end }}
{{- end }}
