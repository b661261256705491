// chromium.mjs - the browser of the integration tests, for scripts that look at the dashboard.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';

const { chromium } = createRequire(new URL('../../integration/package.json', import.meta.url))('playwright-core');
const PROGRAM = ['/usr/lib/chromium/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export function launch() {
    return chromium.launch({ executablePath: PROGRAM, args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'], chromiumSandbox: false });
}
