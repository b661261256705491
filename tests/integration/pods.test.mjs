// Manifests of deploy/: what the components make of a workload, what pods ask of a namespace, what the layouts’ hooks do to a hookline.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { test } from './lib/case.mjs';
import { atEnd } from './lib/cleanup.mjs';
import { apply, readObjects, render } from './lib/kustomize.mjs';
import { shared } from './lib/stage.mjs';
import { gate, until, within } from './lib/until.mjs';

const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));
const EXAMPLES = `${DEPLOY}components/examples/`;
const LAYOUTS = ['app-as-sidecar', 'hookline-as-sidecar', 'job'];

const podsOf = (objects) => objects.filter(({ spec }) => spec?.template).map(({ spec }) => spec.template.spec);
const podOf = (objects) => podsOf(objects)[0];
const allOf = (pod) => [...(pod.initContainers ?? []), ...pod.containers];
const named = (list, name) => list.find((one) => one.name === name);
const seconds = (text) => {
    const [, number, unit] = /^(\d+)(s|m)$/.exec(text);
    return Number(number) * { s: 1, m: 60 }[unit];
};
/** What of Kubernetes' restricted standard (https://kubernetes.io/docs/concepts/security/pod-security-standards/) a pod breaks. */
function violations(pod) {
    const found = [];
    const must = (is, text) => is || found.push(text);
    for (const name of ['hostNetwork', 'hostPID', 'hostIPC']) must(!pod[name], name);
    const volumes = ['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim', 'projected', 'secret'];
    for (const { name, ...kind } of pod.volumes ?? []) must(volumes.includes(Object.keys(kind)[0]), `volume ${name}`);
    for (const { name, securityContext: own = {}, ports = [] } of allOf(pod)) {
        const either = (member) => own[member] ?? pod.securityContext?.[member];
        must(!own.privileged, `${name} privileged`);
        must(own.allowPrivilegeEscalation === false, `${name} allowPrivilegeEscalation`);
        must(own.capabilities?.drop?.includes('ALL'), `${name} capabilities.drop`);
        must((own.capabilities?.add ?? []).every((one) => one === 'NET_BIND_SERVICE'), `${name} capabilities.add`);
        must(either('runAsNonRoot') === true, `${name} runAsNonRoot`);
        must(either('runAsUser') !== 0, `${name} runAsUser`);
        must(['RuntimeDefault', 'Localhost'].includes(either('seccompProfile')?.type), `${name} seccompProfile`);
        must(ports.every(({ hostPort }) => !hostPort), `${name} hostPort`);
    }
    return found;
}

/** The whole pods of deploy/, by where they are. */
async function pods() {
    const found = new Map();
    for (const name of LAYOUTS) found.set(name, podOf(await render(EXAMPLES + name)));
    for (const name of ['kubernetes.yaml', 'kubernetes-replicas.yaml', 'kubernetes-front.yaml'])
        for (const [i, pod] of podsOf(await readObjects(DEPLOY + name)).entries()) found.set(`${name} ${i}`, pod);
    return found;
}

test('the components render as kubectl has them', async (t) => {
    const isThere = process.env.PATH.split(':').some((folder) => existsSync(`${folder}/kubectl`));
    if (!isThere) return t.skip('there is no kubectl');
    const sorted = (objects) => objects.sort((a, b) => a.kind.localeCompare(b.kind));
    const answers = LAYOUTS.map((name) => promisify(execFile)('kubectl', ['kustomize', EXAMPLES + name]));
    for (const [i, { stdout }] of (await Promise.all(answers)).entries()) {
        const theirs = parseAllDocuments(stdout).map((one) => one.toJS());
        assert.deepEqual(sorted(await render(EXAMPLES + LAYOUTS[i])), sorted(theirs), LAYOUTS[i]);
    }
});

test('the restricted Pod Security Standard takes every pod, and hookline has no account’s token and writes to its volume alone', async () => {
    for (const [name, pod] of await pods()) {
        assert.deepEqual(violations(pod), [], name);
        assert.equal(pod.automountServiceAccountToken, false, name);
        const { securityContext, volumeMounts } = named(allOf(pod), 'hookline');
        assert.equal(securityContext.readOnlyRootFilesystem, true, name);
        assert.deepEqual(volumeMounts.map(({ mountPath }) => mountPath), ['/var/lib/hookline'], name);
        for (const member of ['allowPrivilegeEscalation', 'capabilities', 'runAsNonRoot', 'seccompProfile']) {
            const without = structuredClone(pod);
            for (const one of allOf(without)) delete one.securityContext[member];
            delete without.securityContext?.[member];
            assert.notDeepEqual(violations(without), [], `${name} without ${member}`);
        }
    }
});

test('the app as sidecar: hookline is the main container and has its whole drain before the app is stopped', async () => {
    const objects = await render(`${EXAMPLES}app-as-sidecar`);
    const pod = podOf(objects);
    assert.deepEqual(pod.containers.map(({ name }) => name), ['hookline']);
    assert.deepEqual(pod.initContainers.map(({ name, restartPolicy }) => [name, restartPolicy]), [['words', 'Always']]);
    const { env } = pod.containers[0];
    const [delay, drain] = ['HOOKLINE_SHUTDOWN_DELAY', 'HOOKLINE_DRAIN_TIMEOUT'].map((name) => seconds(named(env, name).value));
    assert.equal(pod.terminationGracePeriodSeconds, delay + drain + 10);
    assert.equal(objects.find(({ kind }) => kind === 'Service').spec.ports[0].targetPort, 8080);
});

test('hookline as sidecar: the app is as it was but for its hooks, which wait inside the grace period', async () => {
    const before = podOf(await readObjects(`${EXAMPLES}hookline-as-sidecar/words.yaml`));
    const objects = await render(`${EXAMPLES}hookline-as-sidecar`);
    const pod = podOf(objects);
    const { lifecycle, ...app } = pod.containers[0];
    assert.deepEqual([app], before.containers);
    assert.deepEqual(pod.initContainers.map(({ name, restartPolicy }) => [name, restartPolicy]), [['hookline', 'Always']]);
    assert.equal(named(pod.initContainers[0].env, 'HOOKLINE_SHUTDOWN_DELAY').value, '0s');
    const [, delay, wait] = /sleep (\d+);.*wait=(\d+)/.exec(lifecycle.preStop.exec.command[2]).map(Number);
    assert.equal(pod.terminationGracePeriodSeconds, delay + wait + 30);
    assert.equal(objects.find(({ kind }) => kind === 'Service').spec.ports[0].targetPort, 8080);
});

test('hookline as sidecar stands behind the other init containers: what it needs is there before it and goes after it', async () => {
    const objects = await readObjects(`${EXAMPLES}hookline-as-sidecar/words.yaml`);
    podOf(objects).initContainers = [{ name: 'load' }, { name: 'database', restartPolicy: 'Always' }];
    await apply(`${DEPLOY}components/hookline-as-sidecar`, objects);
    assert.deepEqual(podOf(objects).initContainers.map(({ name }) => name), ['load', 'database', 'hookline']);
});

test('a user adds at most six lines; workloads without the label stay as they are', async () => {
    for (const name of LAYOUTS) {
        const [own, words] = await Promise.all(
            ['kustomization.yaml', 'words.yaml'].map((file) => readFile(`${EXAMPLES}${name}/${file}`, 'utf8')));
        const added = own.split('\n').filter((line) => line && !/^(#|resources:)/.test(line));
        added.push(...words.split('\n').filter((line) => /^ +(labels: \{hookline: in-front\}|restartPolicy: Always)$/.test(line)));
        assert.ok(added.length <= 6, `${name}:\n${added.join('\n')}`);
    }
    const others = (await readObjects(`${EXAMPLES}hookline-as-sidecar/words.yaml`)).map((one) => ({ ...one, metadata: { name: 'x' } }));
    const after = structuredClone(others);
    for (const name of ['app-as-sidecar', 'hookline-as-sidecar']) await apply(`${DEPLOY}components/${name}`, after);
    assert.deepEqual(after, others);
});

test('the probes ask where hookline answers, and the settings of the manifests are known to it', async (t) => {
    const page = await readFile(`${DEPLOY}settings.md`, 'utf8');
    const { sidecar, call } = await shared(t);
    for (const [name, pod] of await pods()) {
        const { env, ports, ...container } = named(allOf(pod), 'hookline');
        for (const { name: setting } of env) assert.ok(page.includes(`| \`${setting}\` |`), `${name}: ${setting}`);
        for (const { httpGet } of ['readinessProbe', 'livenessProbe', 'startupProbe'].map((one) => container[one]).filter(Boolean)) {
            assert.equal(named(ports, httpGet.port).containerPort, 8080);
            assert.equal((await call(httpGet.path, { method: 'GET' })).status, 200, `${name}: ${httpGet.path}`);
        }
    }
    assert.ok(sidecar.port);
});

test('the app’s preStop drains hookline and waits for the call inside; its postStart takes a drain back', async (t) => {
    const { lifecycle } = podOf(await render(`${EXAMPLES}hookline-as-sidecar`)).containers[0];
    const door = gate();
    const { app, sidecar, call } = await shared(t, { app: async (x) => { await door.promise; await x.send(200); } });
    const run = ({ exec: { command } }) => {
        const [program, ...words] = command.map((word) =>
            word.replaceAll('127.0.0.1:9090', `127.0.0.1:${sidecar.adminPort}`).replace('sleep 10', ':'));
        const child = spawn(program, words, { stdio: ['ignore', 'ignore', 'inherit'] });
        atEnd(t, () => child.kill('SIGKILL'));
        return { child, ended: once(child, 'exit') };
    };
    const running = call();
    await until('it is inside the app', () => app.requests.length === 1);
    const { child, ended } = run(lifecycle.preStop);
    await until('it drains', async () => /^draining: .*\(left: 1 call\)/.test((await sidecar.admin('/readyz')).text));
    assert.equal(child.exitCode, null);
    door.open();
    assert.equal((await running).status, 200);
    assert.deepEqual(await within('the end of preStop', ended), [0, null]);
    assert.deepEqual(await within('postStart', run(lifecycle.postStart).ended), [0, null]);
    assert.equal((await sidecar.admin('/readyz')).status, 200);
});
