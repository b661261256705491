// runner.mjs - node:test without its hook on every promise. By that it knows to which test an uncaught error belongs, and it
// takes a third of what a file computes that has many promises (streams, undici, thousands of connections). Without it an
// uncaught error is of no test: it fails the file; and a test inside another one is `t.test`, for node:test does not know
// in which it stands.
import hooks from 'node:async_hooks';

const { createHook } = hooks;
hooks.createHook = () => ({ enable() {}, disable() {} }); // node:test asks for it when it is loaded
export const { after, test } = await import('node:test');
hooks.createHook = createHook;
