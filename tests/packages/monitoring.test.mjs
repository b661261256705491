// deploy/monitoring against Debian's Prometheus: each rule is fired by promtool, several by a hookline that really has such
// trouble, and each query of the board brings series. HOOKLINE_TEST_PROMETHEUS: where the two programs are, if not in PATH.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from '../integration/lib/case.mjs';
import { atEnd, withUs } from '../integration/lib/cleanup.mjs';
import { link } from '../integration/lib/link.mjs';
import { expressions, pathOf, read } from '../integration/lib/monitoring.mjs';
import { fleet } from '../integration/lib/replicas.mjs';
import { freePort, temporaryDirectory } from '../integration/lib/sidecar.mjs';
import { RUN } from '../integration/lib/stage.mjs';
import { until } from '../integration/lib/until.mjs';

const run = promisify(execFile);
const program = (name) => join(process.env.HOOKLINE_TEST_PROMETHEUS ?? '', name);

/** A Prometheus that asks these sidecars each second, with rules that wait for nothing: `query(expression)`, `alerts()`. */
async function startPrometheus(t, sidecars) {
    const directory = await temporaryDirectory(t);
    const port = await freePort();
    const targets = sidecars.map(({ adminPort }) => `127.0.0.1:${adminPort}`);
    await writeFile(join(directory, 'rules.yaml'), (await read('rules.yaml')).replace(/^ +for: .*\n/gm, ''));
    await writeFile(join(directory, 'prometheus.yaml'), JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: ['rules.yaml'],
        scrape_configs: [{ job_name: 'hookline', static_configs: [{ targets }] }],
    }));
    const child = withUs(spawn(program('prometheus'), [
        `--config.file=${join(directory, 'prometheus.yaml')}`, `--storage.tsdb.path=${join(directory, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`, '--log.level=error',
    ], { stdio: ['ignore', 'ignore', 'inherit'] }));
    atEnd(t, async () => {
        child.kill();
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    const ask = async (path) => {
        const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`).catch(() => null);
        const body = await answer?.json();
        if (body?.status === 'error') throw new Error(body.error);
        return body?.data;
    };
    return {
        query: async (expression) => (await ask(`query?query=${encodeURIComponent(expression)}`))?.result ?? [],
        alerts: async () => (await ask('alerts'))?.alerts ?? [],
    };
}

test('promtool takes the rules, and each of them fires in its test', async (t) => {
    const directory = await temporaryDirectory(t);
    for (const name of ['rules.yaml', 'rules-test.yaml']) await copyFile(pathOf(name), join(directory, name));
    await run(program('promtool'), ['check', 'rules', 'rules.yaml'], { cwd: directory });
    const { stdout, stderr } = await run(program('promtool'), ['test', 'rules', 'rules-test.yaml'], { cwd: directory });
    assert.match(stdout + stderr, /SUCCESS/);
});

test('each query of the board brings series, and rules fire on what really goes wrong', async (t) => {
    const all = await fleet(t, { env: { HOOKLINE_WEBHOOK_ATTEMPTS: '1' } });
    const cable = await link(t, all.database.url);
    const a = await all.add('a');
    const b = await all.add('b', { url: cable.url });
    const prometheus = await startPrometheus(t, [a.sidecar, b.sidecar]);
    const isFiring = async (name) =>
        (await prometheus.alerts()).some(({ labels, state }) => labels.alertname === name && state === 'firing');
    const fires = (...names) => Promise.all(names.map((name) => until(`${name} fires`, () => isFiring(name))));

    await a.begin({ hook: all.receiver.url('/hook') });
    await a.call(RUN);
    for (const expression of await expressions('board.json')) {
        const query = expression.replaceAll('$job', '.*').replaceAll('$instance', '.*').replaceAll('$__rate_interval', '10s');
        await until(`series for ${query}`, async () => (await prometheus.query(query)).length > 0);
    }
    assert.deepEqual((await prometheus.alerts()).map(({ labels }) => labels.alertname), []);

    const gone = { query: { webhookEndpoint: 'http://127.0.0.1:1/' } };
    await Promise.all(Array.from({ length: 60 }, () => a.call(RUN, gone))); // each counts the attempts that it makes
    await fires('HooklineDeadLetters', 'HooklineDestinationFailing');
    await cable.cut();
    await fires('HooklineReplicaCutOff', 'HooklineStoreFailing');
    const [{ metric }] = await prometheus.query('hookline_runs_queued');
    assert.equal(metric.instance, `127.0.0.1:${a.sidecar.adminPort}`, 'no figure of the one that is cut off');
    assert.equal((await prometheus.query('hookline_runs_queued')).length, 1);
    await a.app.close();
    await fires('HooklineNotReady', 'HooklineAppTakesNoCalls');
    await until('HooklineErrors fires', async () => { // what has come within one look is no rate
        await Promise.all(Array.from({ length: 10 }, () => a.call(RUN)));
        return isFiring('HooklineErrors');
    });
    await b.sidecar.kill();
    await fires('HooklineDown');
});
