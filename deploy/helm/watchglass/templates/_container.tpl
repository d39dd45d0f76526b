{{- define "watchglass.labels" -}}
app.kubernetes.io/name: watchglass
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "watchglass.args" -}}
- serve
{{- if eq .Values.mode "sidecar" }}
- --etcd={{ .Values.sidecar.etcd }}
- --prefix={{ .Values.sidecar.prefix }}
- --listen=https://0.0.0.0:8443
- --tls-cert=/etc/watchglass/tls/tls.crt
- --tls-key=/etc/watchglass/tls/tls.key
- --upstream={{ .Values.sidecar.upstream }}
- --upstream-ca=/etc/watchglass/tls/ca.crt
- --upstream-token-file=/var/run/secrets/kubernetes.io/serviceaccount/token
- --auth=requestheader
- --pass-identity=headers
- --front-proxy-cert=/etc/watchglass/front-proxy/tls.crt
- --front-proxy-key=/etc/watchglass/front-proxy/tls.key
- --review-server=https://kubernetes.default.svc
- --review-server-ca=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt
- --review-server-token-file=/var/run/secrets/kubernetes.io/serviceaccount/token
{{- end }}
{{- if or (eq .Values.mode "proxy") (eq .Values.mode "replica") }}
- --etcd={{ .Values.etcd.endpoints }}
- --etcd-cacert=/etc/watchglass/etcd/ca.crt
- --etcd-cert=/etc/watchglass/etcd/tls.crt
- --etcd-key=/etc/watchglass/etcd/tls.key
- --prefix={{ .Values.etcd.prefix }}
{{- end }}
{{- if or (eq .Values.mode "proxy") (eq .Values.mode "without-etcd") }}
- --listen=https://0.0.0.0:8443
- --tls-cert=/etc/watchglass/tls/tls.crt
- --tls-key=/etc/watchglass/tls/tls.key
- --upstream={{ .Values.upstream }}
- --upstream-ca=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt
- --upstream-token-file=/var/run/secrets/kubernetes.io/serviceaccount/token
- --auth=delegate
- --audit-log=-
- --shutdown-delay=5
{{- end }}
{{- if eq .Values.mode "without-etcd" }}
- --memory-budget={{ .Values.memoryBudget }}
{{- range .Values.namespaces }}
- --namespaces={{ . }}
{{- end }}
{{- end }}
{{- if eq .Values.mode "clusters" }}
- --clusters=/etc/watchglass/clusters
- --listen=https://0.0.0.0:8443
- --tls-cert=/etc/watchglass/tls/tls.crt
- --tls-key=/etc/watchglass/tls/tls.key
- --auth=delegate
- --idle-after={{ .Values.clusters.idleAfter }}
- --memory-budget={{ .Values.memoryBudget }}
- --shutdown-delay=5
{{- if .Values.clusters.domain }}
- --cluster-domain={{ .Values.clusters.domain }}
{{- end }}
{{- end }}
{{- if eq .Values.mode "replica" }}
- --listen=none
- --etcd-listen=0.0.0.0:8443
- --etcd-listen-cert=/etc/watchglass/tls/tls.crt
- --etcd-listen-key=/etc/watchglass/tls/tls.key
- --etcd-listen-client-ca=/etc/watchglass/tls/ca.crt
- --etcd-listen-allow={{ .Values.replica.allow }}
{{- end }}
- --admin-listen=http://0.0.0.0:8444
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}
{{- define "watchglass.container" -}}
- name: watchglass
  image: {{ printf "%s:%s" .Values.image.repository .Values.image.tag | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args:
    {{- include "watchglass.args" . | nindent 4 }}
  env:
    - name: NODE_OPTIONS
      value: --max-old-space-size={{ .Values.heapMegabytes }}
  ports:
    - name: watchglass
      containerPort: 8443
    - name: admin
      containerPort: 8444
  startupProbe:
    httpGet:
      path: /readyz
      port: admin
    periodSeconds: 2
    failureThreshold: 150
  readinessProbe:
    httpGet:
      path: /readyz
      port: admin
    periodSeconds: 5
  livenessProbe:
    httpGet:
      path: /livez
      port: admin
    periodSeconds: 10
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities:
      drop: [ALL]
    seccompProfile:
      type: RuntimeDefault
  volumeMounts:
    {{- if or (eq .Values.mode "proxy") (eq .Values.mode "replica") }}
    - name: watchglass-etcd
      mountPath: /etc/watchglass/etcd
      readOnly: true
    {{- end }}
    {{- if eq .Values.mode "sidecar" }}
    - name: watchglass-front-proxy
      mountPath: /etc/watchglass/front-proxy
      readOnly: true
    {{- end }}
    {{- if eq .Values.mode "clusters" }}
    - name: watchglass-clusters
      mountPath: /etc/watchglass/clusters
      readOnly: true
    {{- end }}
    - name: watchglass-tls
      mountPath: /etc/watchglass/tls
      readOnly: true
{{- end }}
{{- define "watchglass.volumes" -}}
{{- if eq .Values.mode "sidecar" -}}
# The pod is the server's and may have no fsGroup, so these are readable by any user. No other container mounts them.
- name: watchglass-front-proxy
  secret:
    secretName: {{ .Values.sidecar.frontProxySecret }}
    defaultMode: 0444
- name: watchglass-tls
  secret:
    secretName: {{ .Values.tlsSecret }}
    defaultMode: 0444
{{- else -}}
{{- if eq .Values.mode "clusters" }}
- name: watchglass-clusters
  secret:
    secretName: {{ .Values.clusters.secret }}
    defaultMode: 0440
{{- end }}
{{- if or (eq .Values.mode "proxy") (eq .Values.mode "replica") }}
- name: watchglass-etcd
  secret:
    secretName: {{ .Values.etcd.secret }}
    defaultMode: 0440
{{- end }}
- name: watchglass-tls
  secret:
    secretName: {{ .Values.tlsSecret }}
    defaultMode: 0440
{{- end }}
{{- end }}
