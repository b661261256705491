// Each change by an admin leaves a row and a line that say who, from where, what and on what; a viewer changes nothing.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from './lib/case.mjs';
import { operations } from './lib/openapi.mjs';
import { assertRefused, control, pages, rest } from './lib/rest.mjs';
import { run, startSidecar } from './lib/sidecar.mjs';
import { RUN, shared, stage } from './lib/stage.mjs';
import { gate, until } from './lib/until.mjs';

const ENV = { HOOKLINE_AUTH: 'jwt', HOOKLINE_KEEP_REQUESTS: 'all', HOOKLINE_LOG_LEVEL: 'error' };
const BASE = '/v2/projects/p';
const NOBODY = '0193f0b0-0000-7000-8000-000000000000';
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

/** An account of that role: its id, name and token. */
async function account(sidecar, role, name = `${role}, of a test`) {
    const body = { name, expires_at: inAnHour(), role };
    const answer = await control(sidecar)('POST', `${BASE}/service-accounts`, { body });
    assert.equal(answer.status, 201, answer.text);
    return answer.json();
}

const newest = async (sidecar) => (await control(sidecar)('GET', `${BASE}/audit?limit=200`)).json().audit;

/** What came into the audit while `work` was done, oldest first, and what that said. */
async function during(sidecar, work) {
    const [last] = await newest(sidecar);
    const value = await work();
    const rows = await newest(sidecar);
    const end = last ? rows.findIndex((row) => row.audit_id === last.audit_id) : rows.length;
    return [rows.slice(0, end).reverse(), value];
}

/** A run that has ended, of that token, with its webhook's delivery. */
async function endedRun({ call, receiver, sidecar }, token) {
    const { id } = await call(RUN, {
        query: { async: 'true', webhookEndpoint: `${receiver.url()}/hook?key=url-secret` },
        headers: { authorization: `Bearer ${token}`, 'x-webhook-secret': 'webhook-secret' },
        body: '{}',
    });
    const delivery = await until('it is delivered', async () => {
        const { deliveries } = (await control(sidecar)('GET', `/v2/runs/${id}`)).json();
        return deliveries?.[0]?.state === 'delivered' && deliveries[0].delivery_id;
    });
    return { id, delivery };
}

/** The lines `audit` about these rows. */
const linesOf = (sidecar, rows) => until('the lines are there', () => {
    const lines = sidecar.log.filter(({ msg }) => msg === 'audit');
    const found = rows.map((row) => lines.find((line) => line.audit_id === row.audit_id));
    return found.every(Boolean) && found;
});

test('an account that is made, limited and revoked leaves who did it, from where, and on what', async (t) => {
    const { sidecar } = await shared(t, { env: ENV });
    const admin = await account(sidecar, 'admin', 'Ada');
    const ask = rest(sidecar, { token: admin.token });
    const [rows, made] = await during(sidecar, async () => {
        const body = { name: 'ci', expires_at: inAnHour(), max_running: 3 };
        const answer = await ask('POST', `${BASE}/service-accounts`, { body });
        const { id } = answer.json();
        assert.equal((await ask('PATCH', `${BASE}/service-accounts/${id}`, { body: { rate: '5/m' } })).status, 200);
        assert.equal((await ask('PATCH', `${BASE}/service-accounts/${id}`, { body: {} })).status, 200);
        for (const _ of [1, 2]) // the second changes nothing
            assert.equal((await ask('DELETE', `${BASE}/service-accounts/${id}`)).status, 204);
        assertRefused(await ask('DELETE', `${BASE}/service-accounts/${NOBODY}`), 404);
        return answer.json();
    });
    assert.deepEqual(rows.map((row) => row.action), ['account_made', 'account_limited', 'account_revoked']);
    for (const row of rows) {
        assert.deepEqual(row.who, { account_id: admin.id, account_name: 'Ada', subject: null, uid: null });
        assert.deepEqual([row.via, row.from, row.project_id, row.count], ['run_listener', '127.0.0.1', 'p', null]);
        assert.deepEqual(row.target, { kind: 'account', id: made.id, name: 'ci' });
    }
    assert.deepEqual(rows.map((row) => row.detail), [
        { role: 'invoke', expires_at: made.expires_at, max_running: 3, max_queued: null, rate: null, max_priority: 'normal' },
        { rate: '5/m' },
        null,
    ]);
    assert.ok(!JSON.stringify(rows).includes(made.token));
    const lines = await linesOf(sidecar, rows);
    assert.deepEqual(lines.map((line) => [line.action, line.account, line.account_id, line.from, line.target_id, line.project_id]),
        rows.map((row) => [row.action, 'Ada', admin.id, '127.0.0.1', made.id, 'p']), 'whatever HOOKLINE_LOG_LEVEL says');
});

test('what the control socket asks for has the uid, and is of the object’s project', async (t) => {
    const here = await shared(t, { env: ENV });
    const { sidecar } = here;
    const invoke = await account(sidecar, 'invoke');
    const { id, delivery } = await endedRun(here, invoke.token);
    const ask = control(sidecar);
    const [rows, rerun] = await during(sidecar, async () => {
        assert.equal((await ask('POST', `/v2/deliveries/${delivery}/redeliver`)).status, 202);
        const answer = await ask('POST', `/v2/runs/${id}/rerun`);
        assert.equal(answer.status, 202, answer.text);
        assert.equal((await ask('DELETE', `/v2/service-accounts/${invoke.id}`)).status, 204);
        assert.equal((await ask('POST', `${BASE}/dashboard-sessions`)).status, 201);
        assert.equal((await ask('POST', `${BASE}/dashboard-sessions`, { body: { role: 'invoke' } })).status, 201);
        return answer.json();
    });
    assert.deepEqual(rows.map((row) => [row.action, row.target?.id]), [['delivery_redelivered', delivery],
        ['run_rerun', id], ['account_revoked', invoke.id], ['session_opened', undefined]]);
    for (const row of rows) {
        assert.deepEqual(row.who, { account_id: null, account_name: null, subject: null, uid: process.getuid() });
        assert.deepEqual([row.via, row.from, row.project_id], ['control_socket', null, 'p']);
    }
    assert.deepEqual(rows[1].detail, { run_id: rerun.run_id });
    assert.equal(rows[3].detail.role, 'admin');
});

test('another’s run that is cancelled or run again is told, one’s own is not', async (t) => {
    const hold = gate();
    t.after(() => hold.open());
    const here = await shared(t, { env: ENV, app: async (x) => (await x.body(), await hold.promise, await x.json({})) });
    const { sidecar, call } = here;
    const [theirs, admin] = [await account(sidecar, 'invoke'), await account(sidecar, 'admin')];
    const ask = rest(sidecar, { token: admin.token });
    const begin = async (token, query) => {
        const known = new Set((await ask('GET', `${BASE}/runs?limit=200`)).json().runs.map((one) => one.run_id));
        const over = call(RUN, { query, headers: { authorization: `Bearer ${token}` }, body: '{}' });
        const { run_id: id } = await until('it runs', async () =>
            (await ask('GET', `${BASE}/runs?state=running`)).json().runs.find((one) => !known.has(one.run_id)));
        return { id, over };
    };
    for (const query of [{ async: 'true' }, {}]) {
        const [other, own] = [await begin(theirs.token, query), await begin(admin.token, query)];
        const [rows] = await during(sidecar, async () => {
            for (const { id } of [other, own]) {
                const tries = query.async ? [1, 2, 3, 4] : [1]; // of those at once only the first changes anything
                const answers = await Promise.all(tries.map(() => ask('POST', `${BASE}/runs/${id}/cancel`)));
                assert.ok(answers.some(({ status }) => status === 202), answers[0].text);
            }
        });
        assert.deepEqual(rows.map((row) => [row.action, row.target, row.who.account_id]),
            [['run_cancelled', { kind: 'run', id: other.id, name: 'a' }, admin.id]], JSON.stringify(query));
        await linesOf(sidecar, rows);
        await Promise.all([other.over, own.over]);
        if (!query.async) continue;
        const [again] = await during(sidecar, async () => {
            for (const { id } of [other, own]) {
                const answer = await until('it has ended', async () => {
                    const tried = await ask('POST', `${BASE}/runs/${id}/rerun`);
                    return tried.status !== 409 && tried;
                });
                assert.equal(answer.status, 202, answer.text);
            }
        });
        assert.deepEqual(again.map((row) => [row.action, row.target.id]), [['run_rerun', other.id]]);
    }
    hold.open();
});

test('many deliveries have a row each where they are named, else one that counts them', async (t) => {
    const here = await shared(t, { env: ENV });
    const { sidecar } = here;
    const [invoke, admin] = [await account(sidecar, 'invoke'), await account(sidecar, 'admin')];
    const ends = [await endedRun(here, invoke.token), await endedRun(here, invoke.token)];
    const ask = rest(sidecar, { token: admin.token });
    const since = Date.now();
    const [none] = await during(sidecar, async () => {
        const body = { state: 'dead', since };
        assert.equal((await ask('POST', `${BASE}/deliveries/redeliver`, { body })).status, 202);
    });
    assert.deepEqual(none, [], 'nothing was sent');
    const [named] = await during(sidecar, async () => {
        const body = { delivery_ids: [...ends.map((one) => one.delivery), NOBODY] };
        assert.equal((await ask('POST', `${BASE}/deliveries/redeliver`, { body })).json().redelivered, 2);
    });
    assert.deepEqual(named.map((row) => row.target.id).sort(), ends.map((one) => one.delivery).sort());
    for (const { id } of ends)
        await until('it is delivered again', async () =>
            (await ask('GET', `${BASE}/runs/${id}`)).json().deliveries[0].state === 'delivered');
    const [all, count] = await during(sidecar, async () => {
        const body = { state: 'delivered', since: 0 };
        return (await ask('POST', `${BASE}/deliveries/redeliver`, { body })).json().redelivered;
    });
    assert.deepEqual(all.map((row) => [row.action, row.count, row.target, row.detail.state]),
        [['deliveries_redelivered', count, null, 'delivered']]);
});

test('the list goes on page by page, is searched, and refuses what it does not know', async (t) => {
    const { sidecar } = await shared(t, { env: ENV });
    const [admin, invoke, viewer] = [await account(sidecar, 'admin'), await account(sidecar, 'invoke'), await account(sidecar, 'viewer')];
    const ask = rest(sidecar, { token: admin.token });
    const rows = (await pages(ask, `${BASE}/audit`, 'audit', { limit: 2 })).flat();
    assert.ok(rows.length >= 3);
    assert.deepEqual(rows.map((row) => row.audit_id), [...new Set(rows.map((row) => row.audit_id))].sort().reverse());
    const made = (await pages(ask, `${BASE}/audit`, 'audit', { action: 'account_made' })).flat();
    assert.deepEqual(made, rows.filter((row) => row.action === 'account_made'));
    assert.deepEqual((await ask('GET', `${BASE}/audit?since=${Date.now() + 60_000}`)).json().audit, []);
    for (const query of ['cursor=x', `cursor=${NOBODY.replaceAll('0193f0b0', '00000000')}`, 'action=nonsense', 'limit=0', 'who=me', 'state=dead'])
        assertRefused(await ask('GET', `${BASE}/audit?${query}`), 400);
    assertRefused(await rest(sidecar)('GET', `${BASE}/audit`), 401);
    assertRefused(await rest(sidecar, { token: invoke.token })('GET', `${BASE}/audit`), 403, /admin or viewer/);
    assert.equal((await rest(sidecar, { token: viewer.token })('GET', `${BASE}/audit`)).status, 200);
    assertRefused(await ask('GET', '/v2/projects/q/audit'), 403, /another project/);
    const body = { name: 'x', expires_at: inAnHour(), role: 'auditor' };
    assertRefused(await ask('POST', `${BASE}/service-accounts`, { body }), 400, /viewer/);
});

/** What each request that is no GET leaves behind when an admin makes it; null and why nothing is to be told of it. */
const CHANGES = {
    'POST /v4/{project_id}/{app_name}/run': [null, 'a call is no change by an admin'],
    'POST …/service-accounts': 'account_made',
    'PATCH …/service-accounts/{account_id}': 'account_limited',
    'DELETE …/service-accounts/{account_id}': 'account_revoked',
    'POST …/runs/{run_id}/rerun': 'run_rerun',
    'POST …/runs/{run_id}/cancel': 'run_cancelled',
    'POST …/deliveries/redeliver': 'deliveries_redelivered',
    'POST …/deliveries/{delivery_id}/redeliver': 'delivery_redelivered', // elsewhere delivery_resent: rest-deliveries.test.mjs
    'POST …/destinations/test': 'webhook_tested', // likewise
    'POST …/jobs': 'job_made', // jobs.test.mjs, as is the next
    'POST …/jobs/{job_id}/stop': 'job_stopped',
    'POST …/dashboard-sessions': 'session_opened',
    'POST …/dashboard-sessions/renew': [null, 'a session that is there goes on'],
    'POST /drain': 'drain_begun', // drain.test.mjs, as are the next two
    'DELETE /drain': 'drain_cancelled',
    'POST /quit': 'drain_begun',
};
const kindOf = ({ method, path }) =>
    `${method} ${path.replace(/^\/v2(\/projects\/\{project_id\})?(\/apps\/\{app_name\})?\//, '…/')}`;

test('every route that changes something is known to leave a row, and is refused to a viewer', async (t) => {
    const here = await shared(t, { env: ENV });
    const { sidecar, app } = here;
    const [invoke, viewer] = [await account(sidecar, 'invoke'), await account(sidecar, 'viewer')];
    const { id, delivery } = await endedRun(here, invoke.token);
    const changing = operations.filter(({ method }) => !['GET', 'HEAD'].includes(method));
    const kinds = new Set(changing.map(kindOf).map((kind) => (kind.includes('/v4/') ? 'POST /v4/{project_id}/{app_name}/run' : kind)));
    assert.deepEqual([...kinds].sort(), Object.keys(CHANGES).sort(), 'a new route is to be audited: see CHANGES');
    const calls = app.requests.length;
    const [rows] = await during(sidecar, async () => {
        for (const { method, path } of changing.filter(({ path }) => !/^\/(drain|quit)$/.test(path))) {
            const at = path.replace('{project_id}', 'p').replace('{app_name}', 'a').replace('{run_id}', id)
                .replace('{delivery_id}', delivery).replace('{account_id}', invoke.id).replace('{path}', 'x');
            for (const admin of [false, true]) {
                const ask = rest(sidecar, { token: viewer.token, admin });
                const answer = await ask(method, at, { body: '{}', judge: () => {} });
                assert.ok(answer.status === 403 || (answer.status === 404 && !path.includes('{project_id}')) ||
                    (answer.status === 404 && path.endsWith('dashboard-sessions')), `${method} ${at}: ${answer.status} ${answer.text}`);
            }
        }
    });
    assert.deepEqual(rows, []);
    assert.equal(app.requests.length, calls, 'nor is the app called');
});

/** Where two answers differ: paths of members. */
function differences(a, b, at = '') {
    if (a && b && typeof a === 'object' && typeof b === 'object')
        return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) => differences(a[key], b[key], `${at}.${key}`));
    return Object.is(a, b) ? [] : [at];
}

test('a viewer sees what an admin sees, but no secret and no webhook’s URL', async (t) => {
    const here = await shared(t, { env: ENV });
    const { sidecar } = here;
    const [invoke, admin, viewer] = [await account(sidecar, 'invoke'), await account(sidecar, 'admin'), await account(sidecar, 'viewer')];
    const { id, delivery } = await endedRun(here, invoke.token);
    const reading = operations.filter(({ method, path }) => method === 'GET' && path.startsWith('/v2/projects/{project_id}') && !path.endsWith('/events'));
    const masked = [];
    const ask = rest(sidecar, { token: admin.token });
    const { job_id: job } = (await ask('POST', `${BASE}/jobs`, { body: { what: 'cancel', filter: {} } })).json();
    await until('the job has ended', async () => (await ask('GET', `${BASE}/jobs/${job}`)).json().ended_at);
    for (const { path } of reading) {
        const at = path.replace('{job_id}', job).replace('{project_id}', 'p').replace('{app_name}', 'a').replace('{run_id}', id).replace('{delivery_id}', delivery);
        const whole = await rest(sidecar, { token: admin.token })('GET', at);
        const seen = await rest(sidecar, { token: viewer.token })('GET', at);
        const later = await rest(sidecar, { token: admin.token })('GET', at);
        const status = at.endsWith('/functions') ? 404 : 200; // this app is no function host
        assert.equal(whole.status, status, `${at}: ${whole.text}`);
        assert.equal(seen.status, status, `${at}: ${seen.text}`);
        assert.doesNotMatch(seen.text, /url-secret|webhook-secret/, at);
        if (status === 404) continue;
        if (!/json/.test(seen.headers['content-type']) || /\/(logs|result|request)$/.test(at)) continue;
        const moving = differences(whole.json(), later.json()); // other tests' webhooks go on meanwhile
        const masks = differences(whole.json(), seen.json()).filter((member) => !moving.includes(member));
        masked.push(...masks.map((member) => `${path.split('/').pop()} ${member}`));
    }
    const unsteady = /^(overview|replicas) |^(histogram|errors) \.(since|until|counted_since)$|last_used_at$|service-accounts .*last_used/;
    const kinds = new Set(masked.filter((one) => !unsteady.test(one)).map((one) => one.replace(/\.\d+\./, '.0.')));
    assert.deepEqual([...kinds], ['{project_id} .role', '{project_id} .subject', 'deliveries .deliveries.0.path', '{delivery_id} .url']);
});

test('hookline audit is a table, and JSON lines with --json', async (t) => {
    const { sidecar } = await shared(t, { env: ENV });
    const viewer = await account(sidecar, 'viewer', 'Vi');
    const env = { HOOKLINE_DATA_DIR: sidecar.dataDir };
    const json = await run(['audit', '--json', '--limit', '1', '--action', 'account_made'], env);
    const row = JSON.parse(json.stdout);
    assert.deepEqual([row.action, row.target.id], ['account_made', viewer.id]);
    const table = (await run(['audit', '--project', 'p'], env)).stdout.split('\n');
    assert.match(table[0], /^AT +ACTION +WHO +FROM +PROJECT +TARGET +COUNT +DETAIL$/);
    assert.match(table[1], new RegExp(`account_made +uid ${process.getuid()} +control_socket +p +account Vi ${viewer.id}`));
    const wrong = await run(['audit', '--action', 'nonsense'], env);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /--action is account_made, .* or job_ended, not "nonsense"/);
});

/** A setting that is no secret, with one among its words. */
const COMMAND = (which) => JSON.stringify(['/bin/sh', '-c', 'exec sleep 1000', `${which}-secret`]);

test('a start with other settings and the begin of the end are told, to all projects, and no secret', async (t) => {
    const base = { ...ENV, HOOKLINE_APP_URL: 'http://127.0.0.1:1' };
    const first = await startSidecar(t, {
        env: { ...base, HOOKLINE_WEBHOOK_SECRET: 'first-secret', HOOKLINE_RUN_ATTEMPTS: '2', HOOKLINE_APP_COMMAND: COMMAND('first') },
        wait: 'healthz',
    });
    const { dataDir } = first;
    assert.deepEqual((await newest(first)).filter((row) => row.action !== 'drain_begun'), [], 'a first start has nothing to compare with');
    await first.stop();
    const env = { ...base, HOOKLINE_WEBHOOK_SECRET: 'other-secret', HOOKLINE_RETENTION: '2d', HOOKLINE_APP_COMMAND: COMMAND('other') };
    const second = await startSidecar(t, { env, dataDir, wait: 'healthz' });
    const rows = await until('it is told', async () => {
        const found = await newest(second);
        return found.some((row) => row.action === 'settings_changed') && found;
    });
    const [changed, drain] = ['settings_changed', 'drain_begun'].map((action) => rows.find((row) => row.action === action));
    const { HOOKLINE_LISTEN: _1, HOOKLINE_ADMIN_LISTEN: _2, ...settings } = changed.detail.settings;
    assert.deepEqual(settings, {
        HOOKLINE_WEBHOOK_SECRET: 'changed',
        HOOKLINE_APP_COMMAND: 'changed',
        HOOKLINE_RUN_ATTEMPTS: { from: '2', to: null },
        HOOKLINE_RETENTION: { from: null, to: '2d' },
    });
    assert.deepEqual([changed.via, changed.project_id, drain.via, drain.detail], ['start', null, 'signal', { signal: 'SIGTERM' }]);
    assert.doesNotMatch(JSON.stringify(rows), /first-secret|other-secret/);
    await linesOf(second, [changed]);
    assert.ok(first.log.some((line) => line.msg === 'audit' && line.audit_id === drain.audit_id));

    await second.stop();
    // As a hookline that told commands has kept it.
    const plain = COMMAND('other').replaceAll("'", "''");
    const change = `UPDATE meta SET v = CAST(json_set(CAST(v AS TEXT), '$.HOOKLINE_APP_COMMAND', '${plain}') AS BLOB) WHERE k = 'settings'`;
    await promisify(execFile)('sqlite3', [join(dataDir, 'hookline.db'), change]);
    const third = await startSidecar(t, { env: { ...env, HOOKLINE_RETENTION: '3d' }, dataDir, wait: 'healthz' });
    const later = await until('it is told', async () => {
        const [row] = (await newest(third)).filter(({ action }) => action === 'settings_changed');
        return row.audit_id !== changed.audit_id && row;
    });
    const { HOOKLINE_LISTEN: _3, HOOKLINE_ADMIN_LISTEN: _4, ...others } = later.detail.settings;
    assert.deepEqual(others, { HOOKLINE_RETENTION: { from: '2d', to: '3d' } });
});
