// Which requests reach the app, under which path, and which are refused before it.
import assert from 'node:assert/strict';
import { test } from './lib/case.mjs';
import { RUN, assertProblem, caller, shared, stage } from './lib/stage.mjs';
import { request } from './lib/raw.mjs';
import { control } from './lib/rest.mjs';
import { startSidecar } from './lib/sidecar.mjs';
import { until } from './lib/until.mjs';

test('POST …/run calls the app at /run', async (t) => {
    const { app, call } = await shared(t);
    const response = await call(RUN, { body: '{"a":1}' });
    assert.equal(response.status, 200);
    assert.equal(app.requests[0].target, '/run');
    assert.equal(app.requests[0].method, 'POST');
    assert.equal(app.requests[0].bytes.toString(), '{"a":1}');
});

test('HOOKLINE_APP_RUN_PATH moves the run path', async (t) => {
    const { app, call } = await stage(t, { env: { HOOKLINE_APP_RUN_PATH: '/api/predict' } });
    await call(RUN, { query: { x: '1' } });
    assert.equal(app.requests[0].target, '/api/predict?x=1');
});

test('any method reaches another endpoint of the app', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    for (const method of [
        'GET',
        'PUT',
        'PATCH',
        'DELETE',
        'OPTIONS',
        'POST',
        'PROPFIND',
        'QUERY',
    ]) {
        await client.send(request(method, '/v4/p/a/deep/er?x=%2F', {}, ''));
        const response = await client.response(method);
        assert.equal(response.status, 200, method);
        const seen = app.requests.at(-1);
        assert.deepEqual([seen.method, seen.target], [method, '/deep/er?x=%2F']);
    }
});

test('another method on /run is 405 with Allow', async (t) => {
    const { app, connect } = await shared(t);
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
        const client = await connect();
        await client.send(request(method, RUN));
        const response = await client.response(method);
        assertProblem(response, 405);
        assert.equal(response.get('allow'), 'POST');
    }
    assert.equal(app.requests.length, 0);
});

test('CONNECT and TRACE are 405 everywhere', async (t) => {
    const { app, connect } = await shared(t);
    const attempts = [
        ['TRACE', '/'],
        ['TRACE', RUN],
        ['TRACE', '/v4/p/a/x'],
        ['CONNECT', 'example.com:443'],
    ];
    for (const [method, target] of attempts) {
        const client = await connect();
        await client.send(request(method, target, { Host: 'example.com:443' }));
        assert.equal((await client.response()).status, 405, `${method} ${target}`);
    }
    assert.equal(app.requests.length, 0);
});

test('what is under no route of ours passes through with its query untouched', async (t) => {
    const { app, call, connect } = await shared(t);
    await call('/models', { method: 'GET' });
    const client = await connect();
    const target = '/run?async=maybe&webhookEndpoint=ftp%3A%2F%2Fx&&a=%7e';
    await client.send(request('POST', target, {}, 'x'));
    assert.equal((await client.response()).status, 200);
    assert.deepEqual(
        app.requests.map((r) => r.target),
        ['/models', target],
    );
});

test('an absolute-form target and OPTIONS * pass as they should', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    await client.send(request('GET', 'http://other.test:81/path?q=1', { Host: 'hookline.test' }));
    assert.equal((await client.response()).status, 200);
    assert.equal(app.requests[0].target, '/path?q=1');
    assert.equal(app.requests[0].get('host'), 'other.test:81');
    await client.send(request('OPTIONS', '*'));
    await client.response('OPTIONS');
    assert.ok(app.requests.slice(1).every((r) => r.target === '*'));
});

test('HOOKLINE_PASSTHROUGH=off answers 404 instead', async (t) => {
    const { app, call } = await stage(t, { env: { HOOKLINE_PASSTHROUGH: 'off' } });
    assertProblem(await call('/models', { method: 'GET' }), 404);
    assert.equal((await call(RUN)).status, 200);
    assert.equal(app.requests.length, 1);
});

test('/v2/projects and unknown /_hookline paths are 404 and never the app', async (t) => {
    const { app, call } = await shared(t);
    for (const path of [
        '/v2/projects/p/service-accounts',
        '/v2/projects/p/unknown',
        '/_hookline/other',
        '/_hookline/',
        '/_hookline/healthz/x',
    ]) {
        assertProblem(await call(path, { method: 'GET' }), 404);
    }
    assert.equal(app.requests.length, 0);
});

test('project and app of the path must be the configured ones', async (t) => {
    const env = { HOOKLINE_PROJECT_ID: 'proj-1', HOOKLINE_APP_NAME: 'my_app' };
    const { app, call } = await stage(t, { env });
    assert.equal((await call('/v4/proj-1/my_app/run')).status, 200);
    for (const path of ['/v4/proj-2/my_app/run', '/v4/proj-1/other/run', '/v4/PROJ-1/my_app/x']) {
        assertProblem(await call(path), 404);
    }
    assert.equal(app.requests.length, 1);
});

test('names are 1 to 128 of the allowed characters', async (t) => {
    const { app, connect } = await shared(t);
    const client = await connect();
    for (const name of ['A-z.0_9', 'n'.repeat(128), '...']) {
        await client.send(request('POST', `/v4/${name}/${name}/run`, {}, ''));
        assert.equal((await client.response()).status, 200, name);
    }
    const seen = app.requests.length;
    for (const name of [
        'n'.repeat(129),
        'a%2Fb',
        'a%2fb',
        '..',
        '.',
        '%2e%2e',
        '%2E',
        'a%00',
        'a$',
        'a%20b',
        '',
        'a%zz',
    ]) {
        for (const path of [`/v4/${name}/app/run`, `/v4/project/${name}/run`]) {
            const refused = await connect();
            await refused.send(request('POST', path, {}, ''));
            const { status } = await refused.response();
            assert.ok(status === 400 || status === 404, `${path}: ${status}`);
        }
    }
    for (const path of ['/v4/a%2Fb/app/run', '/v4/%2e%2e/app/run', '/v4/p/../run']) {
        const refused = await connect();
        await refused.send(request('POST', path, {}, ''));
        assertProblem(await refused.response(), 400);
    }
    assert.equal(app.requests.length, seen, 'the app was called for a refused path');
});

test('async and webhookEndpoint are cut out of the query, every other byte stays', async (t) => {
    const { app, receiver, connect } = await shared(t);
    const hook = encodeURIComponent(receiver.url());
    const client = await connect();
    for (const [query, forwarded] of [
        ['?async=false', ''],
        ['?async=false&a=1', '?a=1'],
        ['?a=1&async=0&b=2', '?a=1&b=2'],
        [`?a=%20+&webhookEndpoint=${hook}&b`, '?a=%20+&b'],
        [`?%61sync=false&x=%c3%a4&webhook%45ndpoint=${hook}&&=`, '?x=%c3%a4&&='],
        ['?asyncs_of=true&sync=true', '?asyncs_of=true&sync=true'],
        ['?', '?'],
    ]) {
        await client.send(request('POST', `${RUN}${query}`, {}, ''));
        assert.equal((await client.response()).status, 200, query);
        assert.equal(app.requests.at(-1).target, `/run${forwarded}`, query);
    }
});

test('a parameter that is nearly hookline’s is 400 and names ours; HOOKLINE_OWN_PARAMETERS=off lets it pass', async (t) => {
    const { app, call, connect, sidecar } = await stage(t);
    for (const [name, ours] of [
        ['webhookendpoint', 'webhookEndpoint'],
        ['web_hook_endpoint', 'webhookEndpoint'],
        ['Async', 'async'],
        ['asnyc', 'async'],
    ])
        for (const path of [RUN, '/v4/p/a/other']) {
            const { detail } = assertProblem(await call(path, { query: { [name]: 'x' } }), 400);
            assert.match(detail, new RegExp(`${name} is not hookline's, which is ${ours},`));
            assert.match(detail, /HOOKLINE_OWN_PARAMETERS=off/);
        }
    assert.equal(app.requests.length, 0);
    await sidecar.restart({ HOOKLINE_OWN_PARAMETERS: 'off' });
    const client = await connect();
    await client.send(request('POST', `${RUN}?asyncx=true&Async=true&async=false`, {}, ''));
    assert.equal((await client.response()).status, 200);
    assert.equal(app.requests.at(-1).target, '/run?asyncx=true&Async=true');
});

test('async takes true and 1 in any case; false, 0 and absence are synchronous', async (t) => {
    const { call } = await shared(t);
    for (const value of ['true', 'True', 'TRUE', '1']) {
        assert.equal((await call(RUN, { query: { async: value } })).status, 202, value);
    }
    for (const value of ['false', 'False', '0']) {
        assert.equal((await call(RUN, { query: { async: value } })).status, 200, value);
    }
});

test('an unknown async value is 400 and the app is not called', async (t) => {
    const { app, call, connect } = await shared(t);
    for (const value of ['yes', '2', 'tru', ' true', 'true,true']) {
        assertProblem(await call(RUN, { query: { async: value } }), 400);
    }
    for (const query of ['?async', '?async=', '?async=%zz']) {
        const client = await connect();
        await client.send(request('POST', RUN + query, {}, ''));
        assertProblem(await client.response(), 400);
    }
    assert.equal(app.requests.length, 0);
});

test('a repeated parameter of ours is 400 and the app is not called', async (t) => {
    const { app, receiver, connect } = await shared(t);
    const hook = `webhookEndpoint=${encodeURIComponent(receiver.url())}`;
    for (const query of ['async=true&async=true', 'async=true&%61sync=false', `${hook}&${hook}`]) {
        const client = await connect();
        await client.send(request('POST', `${RUN}?${query}`, {}, '{}'));
        assertProblem(await client.response(), 400);
    }
    assert.equal(app.requests.length, 0);
});

test('a JSON body that is not JSON is the app’s business', async (t) => {
    const { app, call } = await shared(t);
    const headers = { 'content-type': 'application/json' };
    assert.equal((await call(RUN, { headers, body: '{"broken": ' })).status, 200);
    assert.equal(app.requests[0].bytes.toString(), '{"broken": ');
});

test('a call that comes back through its own hookline is 508, through other ones it goes on', async (t) => {
    const { app, call, sidecar: first } = await stage(t);
    const second = await startSidecar(t, { env: { HOOKLINE_APP_URL: first.url } });
    const show = async (id) => (await control(first)('GET', `/v2/projects/p/apps/a/runs/${id}`)).json();
    for (const loop of [second.url, first.url]) {
        await first.restart({ HOOKLINE_APP_URL: loop });
        for (const [method, path] of [['POST', RUN], ['GET', '/v4/p/a/x'], ['GET', '/passed/through']]) {
            const answer = await call(path, { method });
            assert.equal(answer.status, 508, answer.text);
            assert.match(answer.json().detail, /Via.*HOOKLINE_APP_URL/);
        }
        const { id } = await call(RUN, { query: { async: 'true' } });
        const run = await until('the run ends', async () => {
            const now = await show(id);
            return now.state === 'failure' && now;
        });
        assert.deepEqual([run.reason, run.status_code], ['app_error', 508]);
    }
    await first.restart({ HOOKLINE_APP_URL: app.url });
    assert.equal((await caller(t, second)('/v4/p/a/x', { headers: { via: '1.0 fred' } })).status, 200);
    const via = app.requests[0].head.all('via').join(', ');
    const [, outer, inner] = /^1\.0 fred, 1\.1 (hookline-[0-9a-f]{8}), 1\.1 (hookline-[0-9a-f]{8})$/.exec(via);
    assert.notEqual(outer, inner);
    await first.restart();
    assert.equal((await call('/v4/p/a/x', { headers: { via: `1.1 ${inner}` } })).status, 200, 'each start has another name');
});
