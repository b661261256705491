// Limits of a service account: made with it, shown with it, changed by an admin, and held to at once on every worker.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, stage } from './lib/stage.mjs';
import { assertRefused, control, rest } from './lib/rest.mjs';

const ACCOUNTS = '/v2/projects/p/service-accounts';
const LIMITS = { max_running: 4, max_queued: 1000, rate: '100/m', max_priority: 'high' };
const NO_LIMITS = { max_running: null, max_queued: null, rate: null, max_priority: 'normal' };

const limitsOf = ({ max_running, max_queued, rate, max_priority }) => ({ max_running, max_queued, rate, max_priority });

/** An account with those limits; `call` uses its token. */
async function locked(t, limits = {}, { app, env = {} } = {}) {
    const all = await stage(t, { app, env: { HOOKLINE_AUTH: 'jwt', HOOKLINE_PROJECT_ID: 'p', ...env } });
    const admin = control(all.sidecar);
    const create = async (more = {}) => {
        const body = { name: 'ci', expires_at: new Date(Date.now() + 3_600_000).toISOString(), ...more };
        const answer = await admin('POST', ACCOUNTS, { body });
        assert.equal(answer.status, 201, answer.text);
        return answer.json();
    };
    const account = await create(limits);
    const change = async (body, id = account.id) => {
        const answer = await admin('PATCH', `${ACCOUNTS}/${id}`, { body });
        assert.equal(answer.status, 200, answer.text);
        return answer.json();
    };
    const as = (token) => (path = RUN, options = {}) =>
        all.call(path, { body: '{}', ...options, headers: { authorization: `Bearer ${token}`, ...options.headers } });
    return { ...all, admin, create, account, change, as, call: as(account.token) };
}

for (const store of ['sqlite', 'memory'])
    test(`${store}: limits are shown with an account, in lists too, and changed one by one`, async (t) => {
        const { admin, create, account, change } = await locked(t, LIMITS, { env: { HOOKLINE_STORE: store } });
        assert.deepEqual(limitsOf(account), LIMITS);
        const plain = await create();
        assert.deepEqual(limitsOf(plain), NO_LIMITS);
        const list = async () => {
            const rows = (await admin('GET', ACCOUNTS)).json().service_accounts;
            return Object.fromEntries(rows.map((row) => [row.id, limitsOf(row)]));
        };
        assert.deepEqual(await list(), { [account.id]: LIMITS, [plain.id]: NO_LIMITS });

        const changed = await change({ rate: '5/s', max_running: null });
        const left = { ...LIMITS, rate: '5/s', max_running: null };
        assert.deepEqual(limitsOf(changed), left);
        assert.equal(changed.name, 'ci');
        assert.equal(changed.token, undefined);
        assert.deepEqual(await list(), { [account.id]: left, [plain.id]: NO_LIMITS });
        assert.deepEqual(limitsOf(await change({})), left);
        const lifted = await change({ max_running: null, max_queued: null, rate: null, max_priority: null });
        assert.deepEqual(limitsOf(lifted), NO_LIMITS);
        const all = await admin('PATCH', `/v2/service-accounts/${plain.id}`, { body: { max_queued: 7 } });
        assert.equal(all.json().max_queued, 7, 'whoever may see every project names none');
        assert.equal(all.json().project_id, 'p');
    });

test('limits outlive a restart', async (t) => {
    const { sidecar, admin, account, change } = await locked(t, LIMITS);
    await change({ rate: '7/d' });
    await sidecar.restart();
    const [row] = (await admin('GET', ACCOUNTS)).json().service_accounts;
    assert.equal(row.id, account.id);
    assert.deepEqual(limitsOf(row), { ...LIMITS, rate: '7/d' });
});

const BAD = {
    max_running: [0, -1, 1.5, 1_000_000_001, '4', true, [], {}],
    max_queued: [0, -1, 0.5, 1e15, '1000', false],
    rate: [100, '100', '0/m', '-1/m', '1.5/m', '100/min', '100/', '10000001/m', '', '1/m ', true],
    max_priority: ['highest', '', 'HIGH', 1, true, []],
};

test('a limit that is none is refused by its name, and nothing changes', async (t) => {
    const { admin, account } = await locked(t, LIMITS);
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    for (const [name, values] of Object.entries(BAD))
        for (const value of values) {
            const said = new RegExp(`member ${name} is not`);
            const one = await admin('PATCH', `${ACCOUNTS}/${account.id}`, { body: { max_queued: 5, [name]: value } });
            assertRefused(one, 400, said);
            assertRefused(await admin('POST', ACCOUNTS, { body: { name: 'x', expires_at, [name]: value } }), 400, said);
        }
    for (const body of ['', '[]', '"100/m"', '{"rate":"1/s","rate":"2/s"}', '{'])
        assertRefused(await admin('PATCH', `${ACCOUNTS}/${account.id}`, { body }), 400, /JSON object/);
    for (const other of ['name', 'expires_at', 'role', 'max_runing'])
        assertRefused(await admin('PATCH', `${ACCOUNTS}/${account.id}`, { body: { rate: '1/s', [other]: 'x' } }), 400,
            new RegExp(`member ${other} cannot be changed`));
    const [row, ...more] = (await admin('GET', ACCOUNTS)).json().service_accounts;
    assert.equal(more.length, 0);
    assert.deepEqual(limitsOf(row), LIMITS);
});

test('only an admin of its project changes the limits of an account', async (t) => {
    const { sidecar, account, create } = await locked(t);
    const boss = await create({ role: 'admin' });
    const patch = (token, path) => rest(sidecar, { token })('PATCH', path, { body: { max_running: 1 } });
    assertRefused(await patch(account.token, `${ACCOUNTS}/${account.id}`), 403, /admin/);
    assertRefused(await patch(undefined, `${ACCOUNTS}/${account.id}`), 401, /token/);
    assertRefused(await patch(boss.token, `/v2/projects/q/service-accounts/${account.id}`), 404, /another project/);
    assertRefused(await patch(boss.token, `${ACCOUNTS}/0193dead-0000-7000-8000-000000000000`), 404, /service account/);
    assert.equal((await patch(boss.token, `${ACCOUNTS}/${account.id}`)).json().max_running, 1);
});
