// The Helm chart (deploy/chart), rendered by chart/render.go for many sets of values, since Debian has no Helm: Go's
// templates and sprig are what Helm renders with. Needs golang-go, golang-github-masterminds-sprig-dev and
// golang-k8s-sigs-yaml-dev; the npm packages are those of tests/integration.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

const here = new URL('.', import.meta.url).pathname;
const chart = join(here, '../../deploy/chart');
const Ajv = createRequire(join(here, '../integration/package.json'))('ajv');

const container = { image: 'registry.example.com/words:1', ports: [{ containerPort: 8000 }] };
const shared = { store: { kind: 'postgres' }, secret: 'words' };
const app = { app: { container } };

// Sets that render. `has`: the objects that there are, by kind and name.
const sets = {
    'an app elsewhere': {
        values: { app: { url: 'http://words:8000' } },
        has: ['StatefulSet/words-hookline', 'Service/words-hookline', 'Service/words-hookline-pods', 'NetworkPolicy/words-hookline'],
    },
    'an app in the pod, as its sidecar': { values: app },
    'hookline as the sidecar of an app': { values: { ...app, layout: 'hookline-sidecar' } },
    'an app with a preStop of its own': {
        values: { app: { container: { ...container, lifecycle: { preStop: { exec: { command: ['true'] } } } } }, layout: 'hookline-sidecar' },
    },
    'an app with what it needs before it and volumes': {
        values: {
            app: {
                container: { ...container, volumeMounts: [{ name: 'models', mountPath: '/models' }] },
                initContainers: [{ name: 'fetch', image: 'registry.example.com/fetch:1' }],
                volumes: [{ name: 'models', emptyDir: {} }],
                healthPath: '/health',
                concurrency: 4,
            },
        },
    },
    'three pods with a queue each': {
        values: { ...app, replicas: 3 },
        has: ['StatefulSet/words-hookline', 'PodDisruptionBudget/words-hookline'],
    },
    'a volume of a class and size': { values: { ...app, store: { size: '50Gi', storageClass: 'fast' } } },
    'nothing on disk': { values: { ...app, store: { kind: 'memory' } }, has: ['Deployment/words-hookline'] },
    'a secret for webhooks': { values: { ...app, secret: 'words' } },
    'replicas that share a queue': {
        values: { ...app, ...shared, replicas: 3 },
        has: ['Deployment/words-hookline', 'PodDisruptionBudget/words-hookline'],
    },
    'replicas as sidecars': { values: { ...app, ...shared, replicas: 3, layout: 'hookline-sidecar' } },
    'an HPA': {
        values: { ...app, ...shared, autoscaling: { kind: 'hpa', min: 2, max: 10 } },
        has: ['HorizontalPodAutoscaler/words-hookline', 'PodDisruptionBudget/words-hookline'],
    },
    'KEDA': {
        values: { ...app, ...shared, autoscaling: { kind: 'keda', min: 1, max: 5, queuedRuns: 8 } },
        has: ['ScaledObject/words-hookline'],
    },
    'fronts and workers': {
        values: { ...app, ...shared, roles: 'split' },
        has: ['Deployment/words-hookline-front', 'Deployment/words-hookline', 'PodDisruptionBudget/words-hookline-front'],
    },
    'workers from none': {
        values: { ...app, ...shared, roles: 'split', autoscaling: { kind: 'keda', min: 0, max: 20 } },
        has: ['ScaledObject/words-hookline', 'Deployment/words-hookline-front'],
    },
    'fronts and workers as sidecars': { values: { ...app, ...shared, roles: 'split', layout: 'hookline-sidecar', replicas: 2 } },
    'everything that is watched': {
        values: {
            ...app,
            serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
            prometheusRule: { enabled: true },
            grafanaDashboard: { enabled: true },
        },
        has: ['ServiceMonitor/words-hookline', 'PrometheusRule/words-hookline', 'ConfigMap/words-hookline-grafana'],
    },
    'settings': {
        values: {
            ...app,
            settings: { HOOKLINE_RUN_ATTEMPTS: 3, HOOKLINE_MAX_REQUEST_BODY: 1073741824, HOOKLINE_RUN_RETRY_ON: 'reset,shutdown' },
            env: [{ name: 'HOOKLINE_ADMIN_HOSTS', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
            envFrom: [{ secretRef: { name: 'more' } }],
        },
    },
    'an image by its digest': { values: { ...app, image: { digest: `sha256:${'0'.repeat(64)}` }, imagePullSecrets: [{ name: 'pull' }] } },
    'a pod with a place of its own': {
        values: {
            ...app,
            serviceAccountName: 'words',
            nodeSelector: { gpu: 'yes' },
            tolerations: [{ key: 'gpu', operator: 'Exists' }],
            affinity: { nodeAffinity: {} },
            topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' }],
            priorityClassName: 'high',
            podAnnotations: { a: 'b' },
            podLabels: { team: 'ml' },
        },
    },
    'a load balancer, and no policy': {
        values: { ...app, service: { type: 'LoadBalancer', port: 8080, annotations: { a: 'b' } }, networkPolicy: { enabled: false } },
    },
    'a long drain': { values: { ...app, layout: 'hookline-sidecar', shutdown: { delaySeconds: 5, drainSeconds: 600 } } },
    'a name of its own': { values: { ...app, fullnameOverride: 'words' }, has: ['StatefulSet/words', 'Service/words'] },
};

// Sets that do not: what is said of them begins with a value's name.
const refused = {
    'layout: "side"': { layout: 'side' },
    'store.kind: "mysql"': { store: { kind: 'mysql' } },
    'roles: "both"': { roles: 'both' },
    'autoscaling.kind: "vpa"': { autoscaling: { kind: 'vpa' } },
    'secret: store.kind postgres needs': { store: { kind: 'postgres' } },
    'roles: split needs': { ...app, roles: 'split' },
    'app.container: with roles split': { ...shared, roles: 'split' },
    'layout: hookline-sidecar needs app.container': { layout: 'hookline-sidecar' },
    'autoscaling.kind: pods that share no queue': { ...app, autoscaling: { kind: 'hpa' } },
    'autoscaling.min: is above': { ...app, ...shared, autoscaling: { kind: 'hpa', min: 5, max: 2 } },
    'autoscaling.min: 0 needs': { ...app, ...shared, autoscaling: { kind: 'keda', min: 0 } },
    'autoscaling.queuedRuns: must': { ...app, ...shared, autoscaling: { kind: 'keda', queuedRuns: 0 } },
    'settings.PORT: is no setting': { ...app, settings: { PORT: 1 } },
    'settings.HOOKLINE_STORE: is set by store.kind': { ...app, settings: { HOOKLINE_STORE: 'memory' } },
    'settings.HOOKLINE_APP_COMMAND: hookline cannot': { ...app, settings: { HOOKLINE_APP_COMMAND: 'run' } },
    'settings.HOOKLINE_WEBHOOK_SECRET: comes from': { ...app, secret: 's', settings: { HOOKLINE_WEBHOOK_SECRET: 'x' } },
    'settings.HOOKLINE_RUN_ATTEMPTS: must be': { ...app, settings: { HOOKLINE_RUN_ATTEMPTS: [3] } },
};

let folder, program;
const rendered = {}, refusals = {};

const render = (what, values) =>
    execFileSync(program, [what], { input: JSON.stringify(values), encoding: 'utf8', maxBuffer: 1 << 26 }).trim().split('\n').map(JSON.parse);

before(() => {
    folder = mkdtempSync(join(tmpdir(), 'hookline-chart-'));
    program = join(folder, 'render');
    execFileSync('go', ['build', '-o', program, 'render.go'], {
        cwd: join(here, 'chart'),
        env: { ...process.env, GO111MODULE: 'off', GOPATH: '/usr/share/gocode', GOCACHE: join(folder, 'cache') },
    });
    const all = render(chart, [...Object.values(sets).map((set) => set.values), ...Object.values(refused)]);
    Object.keys(sets).forEach((name, i) => (rendered[name] = all[i]));
    Object.keys(refused).forEach((name, i) => (refusals[name] = all[Object.keys(sets).length + i]));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const named = (objects, kind) => objects.filter((object) => object.kind === kind);
const pods = (objects) => objects.filter((object) => object.spec?.template).map((object) => ({ ...object.spec.template, of: object }));
const containers = (pod) => [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
const hookline = (pod) => containers(pod).find((one) => one.name === 'hookline');
const setting = (pod, name) => hookline(pod).env.find((one) => one.name === name)?.value;
const matches = (labels, selector) => Object.entries(selector).every(([name, value]) => labels[name] === value);

// What any cluster would refuse, or would not do what was meant.
function check(objects) {
    const names = objects.map((object) => `${object.kind}/${object.metadata.name}`);
    assert.deepEqual(names, [...new Set(names)], 'no two objects have one name');
    for (const object of objects) {
        assert.ok(object.apiVersion && object.metadata.name.length <= 63);
        for (const value of Object.values(object.metadata.labels ?? {})) assert.match(value, /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/);
    }
    for (const pod of pods(objects)) {
        const of = pod.of;
        assert.ok(matches(pod.metadata.labels, of.spec.selector.matchLabels), `${of.metadata.name} selects its own pods`);
        const volumes = [...(pod.spec.volumes ?? []), ...(of.spec.volumeClaimTemplates ?? []).map((one) => one.metadata)].map((one) => one.name);
        assert.deepEqual(volumes, [...new Set(volumes)]);
        for (const one of containers(pod)) {
            for (const mount of one.volumeMounts ?? []) assert.ok(volumes.includes(mount.name), `a volume ${mount.name}`);
            const env = (one.env ?? []).map((each) => each.name);
            assert.deepEqual(env, [...new Set(env)], 'no variable is set twice');
            for (const each of one.env ?? []) assert.ok(each.valueFrom || typeof each.value === 'string', `${each.name} is a text`);
            assert.ok(one.image);
        }
        assert.equal(containers(pod).filter((one) => one.name === 'hookline').length, 1);
        const long = Number.parseInt(setting(pod, 'HOOKLINE_SHUTDOWN_DELAY'), 10) + Number.parseInt(setting(pod, 'HOOKLINE_DRAIN_TIMEOUT'), 10);
        assert.ok(pod.spec.terminationGracePeriodSeconds > long, 'the kubelet waits for the drain');
        restricted(pod);
    }
    for (const service of named(objects, 'Service')) {
        const of = pods(objects).filter((pod) => matches(pod.metadata.labels, service.spec.selector));
        assert.ok(of.length > 0, `${service.metadata.name} has pods`);
        for (const port of service.spec.ports)
            for (const pod of of) assert.ok(hookline(pod).ports.some((one) => one.containerPort === port.targetPort));
    }
    for (const scaler of [...named(objects, 'HorizontalPodAutoscaler'), ...named(objects, 'ScaledObject')]) {
        const of = objects.find((one) => one.spec?.template && one.metadata.name === scaler.spec.scaleTargetRef.name);
        assert.ok(of, 'it scales what is there');
        assert.equal(of.spec.replicas, undefined, 'the autoscaler alone says how many');
    }
    for (const budget of named(objects, 'PodDisruptionBudget'))
        assert.equal(pods(objects).filter((pod) => matches(pod.metadata.labels, budget.spec.selector.matchLabels)).length, 1);
}

// The pod security standard "restricted", of hookline's container; the app's is its owner's.
function restricted(pod) {
    assert.equal(pod.spec.automountServiceAccountToken, false);
    const of = hookline(pod).securityContext;
    assert.equal(of.runAsNonRoot, true);
    assert.equal(of.allowPrivilegeEscalation, false);
    assert.deepEqual(of.capabilities.drop, ['ALL']);
    assert.equal(of.seccompProfile.type, 'RuntimeDefault');
    assert.equal(of.readOnlyRootFilesystem, true);
}

for (const [name, { values, has = [] }] of Object.entries(sets))
    test(`renders: ${name}`, () => {
        const { objects, error } = rendered[name];
        assert.equal(error, undefined);
        check(objects);
        const names = objects.map((object) => `${object.kind}/${object.metadata.name}`);
        for (const one of has) assert.ok(names.includes(one), `${one} among ${names}`);
        const layout = values.layout ?? 'app-sidecar';
        if (!values.app?.container) return;
        const worker = pods(objects).find((pod) => pod.metadata.labels['app.kubernetes.io/component'] !== 'front');
        const sidecars = worker.spec.initContainers.filter((one) => one.restartPolicy === 'Always').map((one) => one.name);
        assert.deepEqual(sidecars, [layout === 'app-sidecar' ? 'app' : 'hookline']);
        assert.deepEqual(worker.spec.containers.map((one) => one.name), [layout === 'app-sidecar' ? 'hookline' : 'app']);
    });

for (const [name, values] of Object.entries(refused))
    test(`refuses: ${name}`, () => {
        assert.ok(refusals[name].error?.includes(name), JSON.stringify(refusals[name]).slice(0, 300));
        assert.ok(values);
    });

test('hookline is drained before the app of its pod is stopped, unless the app says how', () => {
    const [pod] = pods(rendered['a long drain'].objects);
    const [one] = pod.spec.containers;
    assert.match(one.lifecycle.preStop.exec.command[2], /POST http:\/\/127.0.0.1:9090\/drain; sleep 5; .*drain\?wait=600/);
    assert.match(one.lifecycle.postStart.exec.command[2], /DELETE .*\/drain/);
    assert.equal(pod.spec.terminationGracePeriodSeconds, 635);
    const [own] = pods(rendered['an app with a preStop of its own'].objects);
    assert.deepEqual(own.spec.containers[0].lifecycle.preStop.exec.command, ['true']);
});

test('numbers reach hookline as they were written', () => {
    const [pod] = pods(rendered.settings.objects);
    assert.equal(setting(pod, 'HOOKLINE_MAX_REQUEST_BODY'), '1073741824');
    assert.equal(setting(pod, 'HOOKLINE_RUN_ATTEMPTS'), '3');
});

test('the operator gets the rules of deploy/monitoring, and Grafana its board', () => {
    const { objects } = rendered['everything that is watched'];
    const [rule] = named(objects, 'PrometheusRule');
    assert.ok(rule.spec.groups[0].rules.length >= 8);
    const [board] = named(objects, 'ConfigMap');
    assert.deepEqual(JSON.parse(board.data['hookline.json']), JSON.parse(readFileSync(join(chart, '../monitoring/board.json'), 'utf8')));
});

test('fronts have no app and workers take no calls', () => {
    const { objects } = rendered['fronts and workers'];
    const [front, worker] = ['front', 'worker'].map((role) => pods(objects).find((pod) => setting(pod, 'HOOKLINE_ROLE') === role));
    assert.deepEqual(containers(front).map((one) => one.name), ['hookline']);
    assert.equal(setting(front, 'HOOKLINE_APP_URL'), undefined);
    assert.deepEqual(containers(worker).map((one) => one.name), ['app', 'hookline']);
    const [service] = named(objects, 'Service').filter((one) => one.metadata.name === 'words-hookline');
    assert.equal(service.spec.selector['app.kubernetes.io/component'], 'front');
});

test('all settings that the chart makes are hookline’s', () => {
    const known = readFileSync(join(chart, '../settings.md'), 'utf8');
    for (const { objects } of Object.values(rendered))
        for (const pod of pods(objects))
            for (const { name } of hookline(pod).env) assert.ok(known.includes(`\`${name}\``), `${name} is in deploy/settings.md`);
});

test('a chart of a user’s own has hookline in its pods', () => {
    const [{ objects, error }] = render(join(here, 'chart/own'), [{}]);
    assert.equal(error, undefined);
    assert.deepEqual(objects.map((object) => object.kind), ['Deployment']);
    const [pod] = pods(objects);
    assert.deepEqual(containers(pod).map((one) => one.name), ['hookline', 'app']);
    assert.equal(setting(pod, 'HOOKLINE_RUN_ATTEMPTS'), '3');
    assert.deepEqual(pod.spec.volumes.map((one) => one.name), ['hookline-data']);
});

test('the schema of the values takes what renders and names what it refuses', () => {
    const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
    const holds = new Ajv({ allowUnionTypes: true }).compile(schema);
    for (const [name, { values }] of Object.entries(sets)) assert.ok(holds(values), `${name}: ${JSON.stringify(holds.errors)}`);
    for (const wrong of [{ replica: 3 }, { replicas: '3' }, { store: { kind: 'mysql' } }, { settings: { PORT: 1 } }, { image: { digest: 'x' } }])
        assert.equal(holds(wrong), false, JSON.stringify(wrong));
});
