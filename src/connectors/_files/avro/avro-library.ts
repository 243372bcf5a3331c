/** Types of the library, which give every value exactly. */
import type avsc from 'avsc';
import { exactTypes } from './avro-exact-types.ts';
import { withLibraryNames } from './avro-names.ts';

export interface AvroLibrary {
  /**
   * `wrapped`: values of unions name their branch. Names that Avro does not allow have another form in
   * the type (`libraryName`). Maps are read as their entries.
   */
  typeOf(schema: unknown, wrapped: boolean): avsc.Type;
}

export async function avroLibrary(): Promise<AvroLibrary> {
  const { default: avro } = await import('avsc');
  const exact = exactTypes(avro);
  return {
    typeOf: (schema, wrapped) =>
      avro.Type.forSchema(withLibraryNames(schema) as string, {
        // Not as entries of the registry: those do not reach types with a logical type.
        typeHook: (one, opts) => {
          const name = typeof one === 'string' ? one : (one as { readonly type?: unknown }).type;
          const make = typeof name === 'string' && Object.hasOwn(exact, name) ? exact[name] : null;
          return make?.(one as object, opts);
        },
        wrapUnions: wrapped ? 'always' : 'never',
      }),
  };
}
