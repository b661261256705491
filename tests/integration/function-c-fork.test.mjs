// A process that a C function forks runs the function's code, and has nothing of the host's.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir, readlink, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from './lib/case.mjs';
import { compileText, startHost } from './lib/function.mjs';
import { temporaryDirectory } from './lib/sidecar.mjs';
import { until, within } from './lib/until.mjs';

const SOURCE = `
#include <hookline/function.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t left;

static void end_left(void)
{
    if (left > 0)
        kill(left, SIGKILL);
}

static void wait_for(const char *variable)
{
    while (access(getenv(variable), F_OK) != 0)
        usleep(10000);
}

/* "status N", or that it had to be killed. */
static void describe_end(pid_t pid, char *text, size_t n)
{
    int status = 0;
    for (int i = 0; i < 1500; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            snprintf(text, n, WIFEXITED(status) ? "status %d" : "signal %d",
                WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
            return;
        }
        usleep(10000);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    snprintf(text, n, "lives on");
}

/* The child does what the member "child" says. */
static int forks(struct hl_fn_call *call)
{
    char text[32];
    const char *child = hl_fn_get_text(call, "child", "");
    wait_for("GATE");
    pid_t pid = fork();
    if (pid == 0 && child[0] == 'f')
        return 5;
    if (pid == 0 && child[0] == 'e')
        return hl_fn_emit_text(call, "in the child");
    if (pid == 0)
        return hl_fn_result_text(call, "in the child");
    describe_end(pid, text, sizeof(text));
    return hl_fn_result_text(call, text);
}

static int waits(struct hl_fn_call *call)
{
    FILE *notes = fopen(getenv("NOTES"), "a");
    fputs("ran\\n", notes);
    fclose(notes);
    return hl_fn_result_text(call, "ran");
}

static int leave_behind(void)
{
    left = fork();
    if (left == 0)
        for (;;)
            pause();
    return (int)left;
}

static int cut(struct hl_fn_call *call)
{
    hl_fn_emit_text(call, "one");
    end_left();
    return leave_behind() < 0 ? 2 : 1;
}

static int leaves(struct hl_fn_call *call)
{
    end_left();
    hl_fn_put_integer(call, leave_behind());
    return hl_fn_result(call);
}

static char of_setup[32];

static int tells(struct hl_fn_call *call)
{
    return hl_fn_result_text(call, of_setup);
}

static int setup(const struct hl_fn_host *host)
{
    (void)host;
    pid_t pid = getenv("SETUP_FORKS") ? fork() : -1;
    if (pid > 0)
        describe_end(pid, of_setup, sizeof(of_setup));
    return 0;
}

static const struct hl_fn_function functions[] = {
    {.name = "forks", .run = forks}, {.name = "waits", .run = waits}, {.name = "cut", .run = cut},
    {.name = "leaves", .run = leaves}, {.name = "tells", .run = tells}, {0}};

HL_FN_MODULE(functions, setup, end_left);
`;

async function start(t, more = {}) {
    const directory = await temporaryDirectory(t);
    const env = { GATE: join(directory, 'gate'), NOTES: join(directory, 'notes') };
    const host = await startHost(t, [await compileText(t, SOURCE)], { ...env, ...more });
    return { host, gate: env.GATE, notes: env.NOTES };
}

/** What a process has open, beside its standard streams: files that no other has by chance. */
async function links(pid) {
    const found = [];
    for (const fd of await readdir(`/proc/${pid}/fd`)) {
        if (Number(fd) > 2) found.push(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ''));
    }
    return found.filter((link) => /^(pipe|socket|anon_inode):/.test(link));
}

test('a process that stays behind has none of the host’s descriptors, and no stream stays open for it', async (t) => {
    const { host } = await start(t);
    const inherited = await links(process.pid);
    const child = (await host.call('leaves', {})).json();
    assert.ok(existsSync(`/proc/${child}`));
    const shared = async () => {
        const own = (await links(host.pid)).filter((link) => !inherited.includes(link));
        return (await links(child)).filter((link) => own.includes(link));
    };
    await until('the child has let go', async () => (await shared()).length === 0);

    const stream = host.call('cut', {}, { headers: { Accept: 'text/event-stream' } });
    await assert.rejects(within('the end of the stream', stream), { code: 'ECONNRESET' });
});

test('a forked process that comes back to the host ends, and runs no call that waits', async (t) => {
    const { host, gate, notes } = await start(t);
    for (const [child, end] of [['returns', 'status 0'], ['emits', 'status 0'], ['fails', 'status 1']]) {
        await rm(gate, { force: true });
        await rm(notes, { force: true });
        const forks = host.call('forks', { child });
        const waiting = host.call('waits', {});
        await host.call('healthz', undefined, { method: 'GET' }); // the calls wait: it came in behind them
        await writeFile(gate, '');
        assert.equal((await forks).json(), end, child);
        assert.equal((await waiting).json(), 'ran');
        assert.equal(await readFile(notes, 'utf8'), 'ran\n', child);
    }
});

test('what setup() forks does not serve', async (t) => {
    const { host } = await start(t, { SETUP_FORKS: 'yes' });
    assert.equal((await host.call('tells', {})).json(), 'status 0');
    const isUp = ({ msg }) => msg === 'listening';
    await until('it is said that it listens', () => host.log.some(isUp));
    assert.equal(host.log.filter(isUp).length, 1);
});
