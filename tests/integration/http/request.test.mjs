// What callers send, good and hostile: it reaches the app cleanly or not at all, never as it was.
import { requestGroups } from './cases/index.mjs';
import { suite } from './lib/suite.mjs';

suite('the caller’s side', requestGroups);
