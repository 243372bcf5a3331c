import type { TransformDefinition } from '../kit/transform.ts';
import { cast } from './cast.ts';
import { drop } from './drop.ts';
import { explode } from './explode.ts';
import { filter } from './filter.ts';
import { flatten } from './flatten.ts';
import { hash } from './hash.ts';
import { keysCase } from './keys-case.ts';
import { redact } from './redact.ts';
import { renameField } from './rename-field.ts';
import { renameKeys } from './rename-keys.ts';
import { select } from './select.ts';
import { set } from './set.ts';
import { spellSymbols } from './spell-symbols.ts';
import { valueCase } from './value-case.ts';

/** Every transform of this build, sorted by type. */
export const TRANSFORMS: readonly TransformDefinition[] = [
  cast,
  drop,
  explode,
  filter,
  flatten,
  hash,
  keysCase,
  redact,
  renameField,
  renameKeys,
  select,
  set,
  spellSymbols,
  valueCase,
];
