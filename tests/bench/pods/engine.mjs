// engine.mjs - what runs a pod's containers: processes of this machine, or podman with the images, in the pod's network.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const APP = fileURLToPath(new URL('app.mjs', import.meta.url));
const isHookline = ({ name }) => name === 'hookline';

/** `settings`: what the ConfigMap `hookline` says. */
const environment = ({ env = [] }, settings) => ({ ...settings, ...Object.fromEntries(env.map(({ name, value }) => [name, value])) });

// An engine has, for a container of a pod: start (a child process that lasts as long), started (once a hook can run in it), exec
// (a command in it, a child process), signal.

/** The binary and an app in this machine's own Node; a pod's volume is a folder of `directory`. */
class Processes {
    constructor({ directory, settings = {}, binary = process.env.HOOKLINE_BIN, app = APP }) {
        Object.assign(this, { directory, settings, binary, app });
    }

    start(pod, container) {
        const log = openSync(join(this.directory, `${pod.index}-${container.name}.log`), 'a');
        const data = join(this.directory, `volume-${pod.index}`, 'data');
        mkdirSync(join(data, '..'), { recursive: true });
        const [command, env] = isHookline(container)
            ? [[this.binary], { ...environment(container, this.settings), HOOKLINE_DATA_DIR: data }]
            : [[process.execPath, this.app], { PATH: process.env.PATH }];
        return spawn('nsenter', ['-t', `${pod.holder}`, '-n', ...command], { env, stdio: ['ignore', log, log] });
    }

    started() {}

    exec(pod, container, command) {
        return spawn('nsenter', ['-t', `${pod.holder}`, '-n', ...command], { stdio: ['ignore', 'ignore', 'inherit'] });
    }

    signal(pod, container, child, name) {
        child.kill(name);
    }
}

/** The images, with what the manifest says of user, capabilities and root file system; SIGTERM as the kubelet has it sent. */
class Podman {
    constructor({ directory, settings = {}, images, podman = process.env.PODMAN ?? 'podman' }) {
        Object.assign(this, { directory, settings, images, podman });
    }

    name(pod, { name }) {
        return `hookline-bench-${process.pid}-${pod.index}-${name}`;
    }

    start(pod, container) {
        const log = openSync(join(this.directory, `${pod.index}-${container.name}.log`), 'a');
        const words = ['run', '--rm', '--replace', '--name', this.name(pod, container), '--network', `ns:/proc/${pod.holder}/ns/net`];
        const { readOnlyRootFilesystem, capabilities, allowPrivilegeEscalation } = container.securityContext ?? {};
        if (readOnlyRootFilesystem) words.push('--read-only', '--read-only-tmpfs=false');
        for (const one of capabilities?.drop ?? []) words.push('--cap-drop', one.toLowerCase());
        if (allowPrivilegeEscalation === false) words.push('--security-opt', 'no-new-privileges');
        for (const [name, value] of Object.entries(environment(container, isHookline(container) ? this.settings : {})))
            words.push('--env', `${name}=${value}`);
        for (const { name, mountPath } of container.volumeMounts ?? []) words.push('--volume', `${this.#volume(pod, name)}:${mountPath}`);
        return spawn(this.podman, [...words, this.images[container.name]], { stdio: ['ignore', log, log] });
    }

    /** An emptyDir, as the kubelet makes it: anybody's. */
    #volume(pod, name) {
        const path = join(this.directory, `volume-${pod.index}-${name}`);
        mkdirSync(path, { recursive: true });
        spawnSync('chmod', ['0777', path]);
        return path;
    }

    async started(pod, container) {
        const words = ['container', 'inspect', '--format', '{{.State.Running}}', this.name(pod, container)];
        while (spawnSync(this.podman, words, { encoding: 'utf8' }).stdout.trim() !== 'true') await sleep(50);
    }

    exec(pod, container, command) {
        return spawn(this.podman, ['exec', this.name(pod, container), ...command], { stdio: ['ignore', 'ignore', 'inherit'] });
    }

    signal(pod, container, child, name) {
        spawnSync(this.podman, ['kill', '--signal', name, this.name(pod, container)], { stdio: 'ignore' });
    }
}

/** What ENGINE says: podman, else processes. */
export function engineOf(directory, settings) {
    const { ENGINE, IMAGE = 'hookline', APP_IMAGE = 'words' } = process.env;
    const images = { hookline: IMAGE, words: APP_IMAGE };
    return ENGINE === 'podman' ? new Podman({ directory, settings, images }) : new Processes({ directory, settings });
}
