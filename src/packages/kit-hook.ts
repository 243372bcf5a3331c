/**
 * Whoever imports `headgate/kit` in this process gets the kit of this program, wherever the
 * connector lies and whatever is installed beside it: a page or an error made with another copy
 * would not be one for us.
 */
import { registerHooks } from 'node:module';
import * as kit from '../kit/index.ts';

const SPECIFIER = 'headgate/kit';
const URL_OF_KIT = 'headgate:kit';
const KEY = 'headgate.kit';

let isOffered = false;

/** Does its work once. */
export function offerKit(): void {
  if (isOffered) return;
  isOffered = true;
  Object.defineProperty(globalThis, Symbol.for(KEY), { value: kit });
  const source = `const kit = globalThis[Symbol.for('${KEY}')];\nexport const { ${Object.keys(kit).join(', ')} } = kit;\n`;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === SPECIFIER
        ? { url: URL_OF_KIT, format: 'module', shortCircuit: true }
        : next(specifier, context),
    load: (url, context, next) =>
      url === URL_OF_KIT ? { format: 'module', source, shortCircuit: true } : next(url, context),
  });
}
