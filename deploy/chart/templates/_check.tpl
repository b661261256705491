{{- /* Values that contradict each other stop the rendering with the name of one of them. */ -}}
{{- define "hookline.check" -}}
{{- $v := .Values -}}
{{- if not (has $v.layout (list "app-sidecar" "hookline-sidecar")) -}}
{{- fail (printf "layout: %q is none of: app-sidecar, hookline-sidecar" $v.layout) -}}
{{- end -}}
{{- if not (has $v.store.kind (list "sqlite" "memory" "postgres")) -}}
{{- fail (printf "store.kind: %q is none of: sqlite, memory, postgres" $v.store.kind) -}}
{{- end -}}
{{- if not (has $v.roles (list "all" "split")) -}}
{{- fail (printf "roles: %q is none of: all, split" $v.roles) -}}
{{- end -}}
{{- if not (has $v.autoscaling.kind (list "none" "hpa" "keda")) -}}
{{- fail (printf "autoscaling.kind: %q is none of: none, hpa, keda" $v.autoscaling.kind) -}}
{{- end -}}
{{- if and (eq $v.store.kind "postgres") (not $v.secret) -}}
{{- fail "secret: store.kind postgres needs a Secret with the keys postgres-url and key" -}}
{{- end -}}
{{- if and (eq $v.roles "split") (ne $v.store.kind "postgres") -}}
{{- fail "roles: split needs store.kind postgres, which is what fronts and workers share" -}}
{{- end -}}
{{- if and (eq $v.roles "split") (not $v.app.container) (eq $v.app.url "http://127.0.0.1:8000") -}}
{{- fail "app.container: with roles split the workers need an app, here or at app.url" -}}
{{- end -}}
{{- if and $v.workload (eq $v.layout "hookline-sidecar") (not $v.app.container) -}}
{{- fail "layout: hookline-sidecar needs app.container, the pod's main container" -}}
{{- end -}}
{{- if ne $v.autoscaling.kind "none" -}}
{{- if ne $v.store.kind "postgres" -}}
{{- fail "autoscaling.kind: pods that share no queue (store.kind is not postgres) cannot be scaled by it" -}}
{{- end -}}
{{- if gt (int $v.autoscaling.min) (int $v.autoscaling.max) -}}
{{- fail "autoscaling.min: is above autoscaling.max" -}}
{{- end -}}
{{- if and (lt (int $v.autoscaling.min) 1) (not (and (eq $v.autoscaling.kind "keda") (eq $v.roles "split"))) -}}
{{- fail "autoscaling.min: 0 needs autoscaling.kind keda and roles split: else nobody is there to take calls" -}}
{{- end -}}
{{- if lt (int $v.autoscaling.queuedRuns) 1 -}}
{{- fail "autoscaling.queuedRuns: must be at least 1" -}}
{{- end -}}
{{- end -}}
{{- $own := dict "HOOKLINE_APP_URL" "app.url" "HOOKLINE_APP_HEALTH_PATH" "app.healthPath" "HOOKLINE_APP_CONCURRENCY" "app.concurrency" "HOOKLINE_STORE" "store.kind" "HOOKLINE_ROLE" "roles" "HOOKLINE_FRONT_TIMEOUT" "front.timeout" "HOOKLINE_SHUTDOWN_DELAY" "shutdown.delaySeconds" "HOOKLINE_DRAIN_TIMEOUT" "shutdown.drainSeconds" "HOOKLINE_KEY" "secret" "HOOKLINE_POSTGRES_URL" "secret" "HOOKLINE_LISTEN" "the chart (8080)" "HOOKLINE_ADMIN_LISTEN" "the chart (9090)" "HOOKLINE_REPLICA" "the chart (the pod's name)" "HOOKLINE_DATA_DIR" "the chart (the volume)" -}}
{{- range $name, $value := $v.settings -}}
{{- if not (hasPrefix "HOOKLINE_" $name) -}}
{{- fail (printf "settings.%s: is no setting of hookline's; the app's environment is app.container.env" $name) -}}
{{- end -}}
{{- if hasKey $own $name -}}
{{- fail (printf "settings.%s: is set by %s" $name (get $own $name)) -}}
{{- end -}}
{{- if and (eq $name "HOOKLINE_APP_COMMAND") $v.app.container -}}
{{- fail "settings.HOOKLINE_APP_COMMAND: hookline cannot start the app of another container; leave app.container empty" -}}
{{- end -}}
{{- if and $v.secret (eq $name "HOOKLINE_WEBHOOK_SECRET") -}}
{{- fail "settings.HOOKLINE_WEBHOOK_SECRET: comes from the Secret that secret names" -}}
{{- end -}}
{{- if or (kindIs "map" $value) (kindIs "slice" $value) -}}
{{- fail (printf "settings.%s: must be a text or a number" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
