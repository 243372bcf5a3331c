/** Documents whose runs the console shows. */
import { writeFileSync } from 'node:fs';

/** 200 records, of which one is filtered out and three are dead letters. */
export function writeOrders(path: string): void {
  const rows = Array.from({ length: 200 }, (_, index) => {
    const id = index + 1;
    return `${id},name ${id},${id % 60 === 0 ? -1 : id}`;
  });
  writeFileSync(path, `id,name,amount\n${rows.join('\n')}\n`);
}

interface Named {
  readonly name: string;
  readonly input: string;
  readonly folder: string;
}

export function orders({ name, input, folder }: Named) {
  return {
    version: 1,
    name,
    pipeline: {
      source: { type: 'csv', config: { path: input } },
      transforms: [
        { type: 'cast', config: { fields: { id: 'int', amount: 'float' } } },
        { type: 'filter', config: { path: '$.name', op: 'ne', value: 'name 7' } },
      ],
      quality: {
        record: [
          { type: 'compare', field: 'amount', op: 'gte', value: 0, on_failure: 'quarantine' },
        ],
      },
      dlq: { sink: { type: 'jsonl', config: { path: `${folder}/bad.jsonl` } } },
      sink: { type: 'jsonl', config: { path: `${folder}/${name}.jsonl` } },
    },
  };
}

/** One of its rows reads a file that is not there. */
export function threeRows({ name, input, folder }: Named): string {
  return `version: 1
name: ${name}
pipeline:
  source: { type: csv, config: { path: ${input} } }
  sink: { type: jsonl, config: { path: ${folder}/rows.jsonl } }
matrix:
  - { id: north, sink: { type: jsonl, config: { path: ${folder}/north.jsonl } } }
  - { id: south, sink: { type: jsonl, config: { path: ${folder}/south.jsonl } } }
  - id: lost
    source: { type: csv, config: { path: ${folder}/gone.csv } }
`;
}
