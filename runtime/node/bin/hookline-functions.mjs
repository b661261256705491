#!/usr/bin/env node
// Serves the exported functions of a file: POST /NAME with a JSON object calls NAME with it.
const [major] = process.versions.node.split('.');
if (Number(major) < 18) {
    process.stderr.write(`hookline-functions: this is Node ${process.version}, and 18 or newer is needed\n`);
    process.exit(1);
}
const { main } = await import('../src/main.mjs');
await main(process.argv.slice(2));
