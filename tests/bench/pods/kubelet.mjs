// kubelet.mjs - plays a pod as the kubelet does, from its rendered manifest, in a network namespace of its own, so that all
// ports and hooks are as they are written. Needs root.
//
// Start: init containers in their order, a sidecar (restartPolicy: Always) up to its startup probe; then the main containers;
// postStart beside each. End: all preStop hooks at once; each main container gets SIGTERM behind its hook; a sidecar when the
// main containers are gone, the last one first; SIGKILL when the grace period is over, of which each has 2 s at least.
// A Job's pod: its main container's own end is the pod's.
// Not here: restarts of containers, readiness (whoever sends calls asks for it), limits of resources.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const LEAST_MS = 2_000;

/** Runs this program again in a network of its own, where nothing of it is seen outside. */
export async function ownNetwork() {
    if (process.env.HOOKLINE_BENCH_NETWORK) return;
    const env = { ...process.env, HOOKLINE_BENCH_NETWORK: '1' };
    const words = ['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', process.execPath, ...process.argv.slice(1)];
    const [code] = await once(spawn('unshare', words, { env, stdio: 'inherit' }), 'exit');
    process.exit(code ?? 1);
}

const ip = (...words) => execFileSync('ip', words);

/** A pod of `spec` at 10.98.<index>.2, whose containers `engine` runs (engine.mjs). */
export class Pod {
    #containers = []; // in the order of their start: { own, child, ended, isSidecar }
    #holder;

    constructor(spec, index, engine) {
        Object.assign(this, { spec, index, engine, address: `10.98.${index}.2` });
    }

    /** Whoever stands in its network names this process. */
    get holder() {
        return this.#holder.pid;
    }

    async plugIn() {
        this.#holder = spawn('unshare', ['--net', 'sh', '-c', 'ip link set lo up && echo up && exec sleep infinity'], {
            stdio: ['ignore', 'pipe', 'inherit'],
        });
        await once(this.#holder.stdout, 'data');
        const [here, there] = [`here${this.index}`, `there${this.index}`];
        ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', `${this.holder}`);
        ip('addr', 'add', `10.98.${this.index}.1/30`, 'dev', here);
        ip('link', 'set', here, 'up');
        const inside = (...words) => execFileSync('nsenter', ['-t', `${this.holder}`, '-n', 'ip', ...words]);
        inside('addr', 'add', `${this.address}/30`, 'dev', there);
        inside('link', 'set', there, 'up');
    }

    unplug() {
        this.#holder.kill('SIGKILL');
    }

    async start() {
        this.#containers = [];
        for (const own of this.spec.initContainers ?? []) {
            const isSidecar = own.restartPolicy === 'Always';
            const one = await this.#run(own, isSidecar);
            if (isSidecar) await this.#started(own);
            else await one.ended;
        }
        await Promise.all(this.spec.containers.map((own) => this.#run(own, false)));
    }

    async #run(own, isSidecar) {
        const child = this.engine.start(this, own);
        const one = { own, child, isSidecar, ended: once(child, 'exit') };
        this.#containers.push(one);
        await this.engine.started(this, own);
        await this.#hook(one, 'postStart');
        return one;
    }

    async #started({ startupProbe }) {
        if (!startupProbe) return;
        const { httpGet, failureThreshold, periodSeconds } = startupProbe;
        for (let i = 0; i < (failureThreshold * periodSeconds * 1000) / 50; i++) {
            if (await this.#isGood(httpGet.path)) return;
            await sleep(50);
        }
        throw new Error(`${httpGet.path} was never good`);
    }

    async #isGood(path) {
        return fetch(`http://${this.address}:8080${path}`).then(({ ok }) => ok, () => false);
    }

    /** Until hookline is ready. */
    async ready() {
        while (!(await this.#isGood('/_hookline/readyz'))) await sleep(50);
    }

    async #hook({ own }, name) {
        const command = own.lifecycle?.[name]?.exec.command;
        if (!command) return;
        const [code] = await once(this.engine.exec(this, own, command), 'exit');
        if (code !== 0) throw new Error(`${name} of ${own.name} ended with ${code}`);
    }

    /** Ms until it was gone, and how each container ended: `{ ms, ends }`. */
    async stop() {
        const began = performance.now();
        const deadline = began + this.spec.terminationGracePeriodSeconds * 1000;
        const hooks = new Map(this.#containers.map((one) => [one, this.#hook(one, 'preStop')]));
        const end = async (one) => {
            await hooks.get(one);
            await this.#end(one, deadline);
        };
        await Promise.all(this.#main().map(end));
        for (const one of this.#sidecars()) await end(one);
        return { ms: performance.now() - began, ends: await this.#ends() };
    }

    /** Waits until the main containers have ended by themselves, then ends the sidecars: `{ ms, ends }`, ms from the former to the latter. */
    async complete() {
        await Promise.all(this.#main().map(({ ended }) => ended));
        const began = performance.now();
        for (const one of this.#sidecars()) await this.#end(one, began + this.spec.terminationGracePeriodSeconds * 1000);
        return { ms: performance.now() - began, ends: await this.#ends() };
    }

    #main() {
        return this.#containers.filter(({ isSidecar, own }) => !isSidecar && this.spec.containers.includes(own));
    }

    #sidecars() {
        return this.#containers.filter(({ isSidecar }) => isSidecar).reverse();
    }

    async #ends() {
        const ends = await Promise.all(this.#containers.map(async ({ own, ended }) => [own.name, (await ended).find((x) => x !== null)]));
        return Object.fromEntries(ends);
    }

    async #end({ own, child, ended }, deadline) {
        this.engine.signal(this, own, child, 'SIGTERM');
        const left = Math.max(deadline - performance.now(), LEAST_MS);
        const timer = setTimeout(() => this.engine.signal(this, own, child, 'SIGKILL'), left);
        await ended;
        clearTimeout(timer);
    }
}
