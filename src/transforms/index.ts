import type { TransformDefinition } from '../kit/transform.ts';
import { cast } from './cast/cast.ts';
import { cdcUnwrap } from './cdc-unwrap.ts';
import { coalesce } from './coalesce.ts';
import { crossJoin } from './join/cross-join.ts';
import { drop } from './drop.ts';
import { explode } from './reshape/explode.ts';
import { filter } from './filter.ts';
import { flatten } from './reshape/flatten.ts';
import { hash } from './hash.ts';
import { join } from './join/join.ts';
import { jsonEncode } from './json-encode.ts';
import { jsonParse } from './json-parse.ts';
import { keysCase } from './rename/keys-case.ts';
import { lookup } from './join/lookup.ts';
import { redact } from './redact.ts';
import { renameField } from './rename/rename-field.ts';
import { renameKeys } from './rename/rename-keys.ts';
import { select } from './select.ts';
import { set } from './set.ts';
import { spellSymbols } from './rename/spell-symbols.ts';
import { split } from './split.ts';
import { sql } from './sql/sql.ts';
import { treeFlatten } from './reshape/tree-flatten.ts';
import { unpivot } from './reshape/unpivot.ts';
import { valueCase } from './value-case.ts';
import { wasm } from './wasm/wasm.ts';
import { zipColumns } from './reshape/zip-columns.ts';

/** Every transform of this build, sorted by type. */
export const TRANSFORMS: readonly TransformDefinition[] = [
  cast,
  cdcUnwrap,
  coalesce,
  crossJoin,
  drop,
  explode,
  filter,
  flatten,
  hash,
  join,
  jsonEncode,
  jsonParse,
  keysCase,
  lookup,
  redact,
  renameField,
  renameKeys,
  select,
  set,
  spellSymbols,
  split,
  sql,
  treeFlatten,
  unpivot,
  valueCase,
  wasm,
  zipColumns,
];
