// What apps answer, right and wrong: callers get it whole, or see that something is wrong with it.
import { responseGroups } from './cases/index.mjs';
import { suite } from './lib/suite.mjs';

suite('the app’s side', responseGroups);
