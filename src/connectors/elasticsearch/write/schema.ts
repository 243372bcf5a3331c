import type { DestinationColumn, SchemaAccess, SchemaChange } from '../../../kit/sink.ts';
import { ConnectorError } from '../../../lib/errors.ts';
import { setField, type JsonObject } from '../../../lib/text/json.ts';
import { step, type Link } from '../link.ts';
import { fieldsOf, MAPPED, mappingsOf } from '../mapping.ts';

/** Fields can be added; what a field is mapped to cannot be changed. */
export function schemaOf(link: Link, index: string): SchemaAccess {
  const path = `${step(index)}/_mapping`;
  return {
    async current() {
      const found = await link.find({ method: 'GET', path });
      if (found === undefined) return undefined;
      const columns = new Map<string, DestinationColumn>();
      for (const mapping of mappingsOf(found))
        for (const { name, type } of fieldsOf(mapping))
          // A field takes a list of its values, too.
          columns.set(name, { name, types: [type, 'array'], nullable: true });
      return [...columns.values()];
    },
    async evolve({ add, widen }: SchemaChange) {
      const [first] = widen;
      if (first !== undefined)
        throw new ConnectorError('refused', `the mapping of \`${first.name}\` cannot be changed`, {
          hint: 'write into a new index, or set `schema.allow_type_widening: false`',
        });
      if (add.length === 0) return;
      const properties: JsonObject = {};
      for (const { name, type } of add) setField(properties, name, MAPPED[type]);
      await link.ask({ method: 'PUT', path, json: { properties } });
    },
  };
}
