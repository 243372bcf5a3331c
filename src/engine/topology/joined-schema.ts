/** What is known of the fields of joined records, from what is known of both sides. */
import type { JoinSpec } from '../../document/structure/topology.ts';
import {
  fieldOf,
  forgetFields,
  typeOfConstant,
  withField,
  type RecordField,
  type RecordSchema,
} from '../../kit/record-schema.ts';

type Joining = Pick<JoinSpec, 'mode' | 'project' | 'on_missing' | 'on_collision'>;

/** The schema of all pages that were seen; nothing where they differ. */
export class CommonSchema {
  #schema: RecordSchema | undefined;
  #isFirst = true;

  see(schema: RecordSchema | undefined): void {
    if (this.#isFirst) this.#schema = schema;
    else if (this.#schema !== schema) this.#schema = undefined;
    this.#isFirst = false;
  }

  get schema(): RecordSchema | undefined {
    return this.#schema;
  }
}

/** `probe` is open where nothing is known of it, and so may be the result. */
export function joinedSchema(
  spec: Joining,
  build: RecordSchema | undefined,
  probe: RecordSchema,
): RecordSchema {
  return spec.project.reduce(
    (known, { from, as }) => withProjected(known, as, projected(spec, from, build)),
    probe,
  );

  function withProjected(
    known: RecordSchema,
    name: string,
    field: RecordField | undefined,
  ): RecordSchema {
    const before = fieldOf(known, name);
    const mayCollide = before !== undefined || known.others === true;
    if (mayCollide && spec.on_collision === 'skip')
      return before !== undefined && known.others !== true ? known : forgetFields(known, [name]);
    if (field === undefined) return forgetFields(known, [name]);
    // A match without the value leaves the record as it is.
    if (build?.others !== true) return withField(known, { ...field, name });
    return before === undefined
      ? { ...withField(known, { ...field, name, nullable: true }), others: true }
      : forgetFields(known, [name]);
  }
}

/** The field that a path of the build side leads to, as records have it that found no match too. */
function projected(
  { mode, on_missing: onMissing }: Joining,
  path: string,
  build: RecordSchema | undefined,
): RecordField | undefined {
  const field = build === undefined ? undefined : fieldAt(build, path.split('.'));
  if (field === undefined || mode === 'inner') return field;
  if (onMissing === null) return { ...field, nullable: true };
  return typeOfConstant(onMissing)?.kind === field.type.kind ? field : undefined;
}

/** A structure that is null has no fields, and its records get nothing. */
function fieldAt(schema: RecordSchema, steps: readonly string[]): RecordField | undefined {
  const [name = '', ...below] = steps;
  const field = fieldOf(schema, name);
  if (field === undefined || below.length === 0) return field;
  if (field.type.kind !== 'struct' || field.nullable) return undefined;
  return fieldAt({ fields: field.type.fields }, below);
}
