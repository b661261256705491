// The image in a container engine: as README and the pages run it, killed, and after the image that was before it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FILE, test } from '../integration/lib/case.mjs';
import { atEnd } from '../integration/lib/cleanup.mjs';
import { startServer } from '../integration/lib/server.mjs';
import { freePort, temporaryDirectory } from '../integration/lib/sidecar.mjs';
import { gate, until } from '../integration/lib/until.mjs';

/** A command that speaks as docker does. */
const ENGINE = process.env.HOOKLINE_ENGINE;
/** A file, as the target `image` makes it. */
const ARCHIVE = process.env.HOOKLINE_IMAGE;
/** An image that the engine has: of an earlier version. */
const EARLIER = process.env.HOOKLINE_EARLIER_IMAGE;

const skip = (!ENGINE && 'HOOKLINE_ENGINE names no container engine') || (!ARCHIVE && 'HOOKLINE_IMAGE names no image');
const RUNS = '/v2/projects/demo/apps/words/runs';

/** What a command of the engine says. */
async function engine(...args) {
    const { stdout, stderr } = await promisify(execFile)(ENGINE, args, { maxBuffer: 1 << 26 });
    return (stdout || stderr).trim();
}

let loaded;

/** The image's id. */
function image() {
    return (loaded ??= (async () => {
        const told = await engine('load', '--input', ARCHIVE);
        return engine('inspect', '--format', '{{.Id}}', /Loaded image: (\S+)/.exec(told)[1]);
    })());
}

/** An app whose calls can be held. */
async function startApp(t) {
    const held = gate();
    const app = await startServer(t, async (exchange) => {
        if ((await exchange.body()).toString() === 'hold') await held.promise;
        await exchange.json({ said: 'done' });
    });
    atEnd(t, () => held.open());
    return app;
}

class Container {
    /** Under the rules that security.md asks for, on that volume; until it is healthy. */
    static async start(t, of, app, volume) {
        const container = new Container();
        const [port, admin] = [await freePort(), await freePort()];
        const env = {
            HOOKLINE_LISTEN: `127.0.0.1:${port}`, HOOKLINE_ADMIN_LISTEN: `127.0.0.1:${admin}`, HOOKLINE_APP_URL: app.url,
            HOOKLINE_SHUTDOWN_DELAY: '0', HOOKLINE_DRAIN_TIMEOUT: '500ms',
        };
        const settings = Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
        const rules = ['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--security-opt=no-new-privileges', '--network=host'];
        container.id = await engine('run', '--detach', ...rules, '--volume', `${volume}:/var/lib/hookline`, ...settings, of);
        container.url = `http://127.0.0.1:${port}`;
        atEnd(t, () => engine('rm', '--force', container.id));
        await until('the container is healthy', async () => {
            const state = await engine('inspect', '--format', '{{.State.Running}}', container.id);
            if (state !== 'true') throw new Error(await engine('logs', container.id));
            return container.exec('hookline', 'health').then(() => true, () => false);
        });
        return container;
    }

    exec(...command) {
        return engine('exec', this.id, ...command);
    }

    async call(path, options = {}) {
        const headers = { Authorization: `Bearer ${this.token}` };
        const response = await fetch(this.url + path, { method: 'POST', headers, ...options });
        return { status: response.status, text: await response.text() };
    }

    ask(path) {
        return this.call(path, { method: 'GET' });
    }

    async runOf(body) {
        const { text } = await this.call('/v4/demo/words/run?async=true', { body });
        return JSON.parse(text).run_id;
    }

    async stateOf(id) {
        const { text } = await this.ask(`${RUNS}/${id}`);
        const { state, reason } = JSON.parse(text);
        return reason ? `${state}: ${reason}` : state;
    }

    makeToken() {
        return this.exec('hookline', 'token', 'create', '--project', 'demo', '--name', 'test', '--expires', '1h');
    }

    /** Its exit status. */
    async end(signal) {
        await engine('kill', '--signal', signal, this.id);
        return Number(await engine('wait', this.id));
    }
}

async function makeVolume(t) {
    const name = await engine('volume', 'create');
    atEnd(t, () => engine('volume', 'rm', '--force', name));
    return name;
}

test('the image is small, runs as its user with nothing to write but its volume, and is healthy', { skip }, async (t) => {
    const id = await image();
    const about = JSON.parse(await engine('inspect', id))[0];
    assert.ok(about.Size <= 30_000_000, String(about.Size));
    assert.equal(about.Config.User, '10001:10001');
    assert.equal(about.Config.Labels['org.opencontainers.image.licenses'], 'Apache-2.0');
    const container = await Container.start(t, id, await startApp(t), await makeVolume(t));
    await engine('healthcheck', 'run', container.id);
    assert.equal(await container.exec('hookline', '--version'), `hookline ${about.Config.Labels['org.opencontainers.image.version']}`);
    container.token = await container.makeToken();
    assert.deepEqual(await container.call('/v4/demo/words/run', { body: 'x' }), { status: 200, text: '{"said":"done"}' });
    assert.equal(await container.end('TERM'), 0);
});

test('killed or stopped inside a run it begins again on its volume, and loses nothing', { skip }, async (t) => {
    const [app, volume] = [await startApp(t), await makeVolume(t)];
    const before = await Container.start(t, await image(), app, volume);
    before.token = await before.makeToken();
    const done = await before.runOf('x');
    await until('the first run is over', async () => (await before.stateOf(done)) === 'success');
    const inside = await before.runOf('hold');
    await until('the second is inside the app', async () => (await before.stateOf(inside)) === 'running');
    assert.equal(await before.end('KILL'), 137);
    const after = await Container.start(t, await image(), app, volume);
    after.token = before.token;
    assert.match(await after.stateOf(inside), /interrupted/);
    assert.equal((await after.ask(`${RUNS}/${done}/result`)).text, '{"said":"done"}');

    const cut = await after.runOf('hold');
    await until('a third is inside the app', async () => (await after.stateOf(cut)) === 'running');
    assert.equal(await after.end('TERM'), 3); // its drain limit has passed
    const last = await Container.start(t, await image(), app, volume);
    last.token = before.token;
    assert.match(await last.stateOf(cut), /failure/);
});

test('it goes on with the volume of an earlier image', { skip: skip || (!EARLIER && 'HOOKLINE_EARLIER_IMAGE names none') }, async (t) => {
    const [app, volume] = [await startApp(t), await makeVolume(t)];
    const before = await Container.start(t, EARLIER, app, volume);
    before.token = await before.makeToken();
    const done = await before.runOf('x');
    await until('its run is over', async () => (await before.stateOf(done)) === 'success');
    const inside = await before.runOf('hold');
    await until('another is inside the app', async () => (await before.stateOf(inside)) === 'running');
    await before.end('KILL');
    const after = await Container.start(t, await image(), app, volume);
    after.token = before.token;
    assert.equal((await after.ask(`${RUNS}/${done}/result`)).text, '{"said":"done"}');
    assert.match(await after.stateOf(inside), /interrupted/);
    assert.equal((await after.call('/v4/demo/words/run', { body: 'x' })).status, 200);
});

test('its folders are copied into an image of another kind, and run there', { skip }, async (t) => {
    const directory = await temporaryDirectory(FILE);
    const copies = ['/opt/hookline', '/usr/local/lib/hookline'].map((path) => `COPY --from=hookline ${path} ${path}`);
    const lines = [`FROM ${await image()} AS hookline`, 'FROM scratch', ...copies];
    await writeFile(join(directory, 'Dockerfile'), `${lines.join('\n')}\n`);
    const other = (await engine('build', '--quiet', directory)).split('\n').at(-1);
    atEnd(t, () => engine('rmi', '--force', other));
    assert.match(await engine('run', '--rm', '--network=host', other, '/opt/hookline/hookline', '--version'), /^hookline \d/);
});
