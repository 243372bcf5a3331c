{{- define "headgate.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "headgate.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "headgate.labels" -}}
{{ include "headgate.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "headgate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "headgate.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* What cannot work is refused before anything is installed. */ -}}
{{- define "headgate.check" -}}
{{- if and (gt (int .Values.replicaCount) 1) (not .Values.history.existingSecret) -}}
{{- fail "replicaCount above 1 needs history.existingSecret: servers share a queue in PostgreSQL" -}}
{{- end -}}
{{- if and (not .Values.auth.existingSecret) (not .Values.auth.existingConfigSecret) -}}
{{- fail "name the Secret with the tokens as auth.existingSecret, or one with an auth config as auth.existingConfigSecret" -}}
{{- end -}}
{{- if and .Values.auth.existingSecret .Values.auth.existingConfigSecret -}}
{{- fail "auth.existingSecret and auth.existingConfigSecret are two ways to authenticate: choose one" -}}
{{- end -}}
{{- end -}}
