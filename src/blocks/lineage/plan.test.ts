import { catalogBlock } from '../catalog/index.ts';
import { lineageBlock } from './index.ts';
import { blockOf } from '../define-block.ts';
import { describe, expect, it } from 'vitest';
import { issuesOf, plan } from '../../../test/fakes/documents.ts';

const document = (lineage: string): string => `
version: 1
name: p
lineage: ${lineage}
pipeline:
  source: {type: lines, config: {path: in}}
  sink: {type: nowhere}
`;
const FILE = 'transport: {type: file, config: {path: e.jsonl}}';

describe('lineage', () => {
  it('keeps the tokens of its job name for the run', () => {
    const { warnings, blocks } = plan(
      document(`{namespace: a, ${FILE}, job_name: "\${name}/\${row_id}/\${now.date}"}`),
    );
    const lineage = blockOf({ blocks }, lineageBlock);
    expect(lineage?.spec.job_name).toBe('${name}/${row_id}/${now.date}');
    expect(lineage?.spec.emit_on).toEqual({
      start: true,
      running: false,
      complete: true,
      fail: true,
      abort: true,
    });
    expect(warnings).toEqual([]);
  });

  it('refuses tokens that nothing fills in, in the job name and elsewhere', () => {
    expect(issuesOf(() => plan(document(`{namespace: a, ${FILE}, job_name: "\${row}"}`)))).toEqual([
      'unknown_token lineage.job_name',
    ]);
    expect(issuesOf(() => plan(document(`{namespace: "\${now.date}", ${FILE}}`)))).toEqual([
      'token_out_of_scope lineage.namespace',
    ]);
  });

  it('takes a topic of Kafka, and refuses addresses that are none', () => {
    const to = (type: string, config: string): string =>
      document(`{namespace: a, transport: {type: ${type}, config: ${config}}}`);
    for (const type of ['kafka', 'broker']) {
      const transport = { type, config: { brokers: 'b:9092', topic: 't' } };
      const planned = plan(to(type, '{brokers: "b:9092", topic: t}'));
      expect(blockOf(planned, lineageBlock)?.spec.transport).toEqual(transport);
      expect(issuesOf(() => plan(to(type, '{brokers: "a b"}'))).toSorted()).toEqual([
        'invalid_value lineage.transport.config.brokers',
        'missing_key lineage.transport.config.topic',
      ]);
    }
    const url = '{namespace: a, transport: {type: http, config: {url: "ftp://x"}}}';
    expect(issuesOf(() => plan(document(url)))).toEqual([
      'invalid_value lineage.transport.config.url',
    ]);
  });

  it('warns when events contain the document, and when columns are asked for but no record is looked at', () => {
    const reported = plan(
      document(
        `{namespace: a, ${FILE}, include_source_code_facet: true, include_schema_facet: true, sample_records: 0}`,
      ),
    );
    expect(reported.warnings.map(({ code }) => code).sort()).toEqual([
      'document_told',
      'without_effect',
    ]);
    expect(blockOf(reported, lineageBlock)?.document).toHaveProperty('pipeline');
  });
});

describe('catalog', () => {
  const catalog = (url: string): string =>
    document(`{namespace: a, ${FILE}}\ncatalog: {url: "${url}"}`);

  it.each(['memory', 'sqlite:a.db', 'sqlite://./a.db', 'postgres://u:p@h/d'])(
    'may be kept at %s',
    (url) => {
      expect(blockOf(plan(catalog(url)), catalogBlock)).toEqual({ url, sample_records: 100 });
    },
  );

  it.each(['mysql://h/d', 'a.db', 'sqlite:'])('is refused at %s', (url) => {
    expect(issuesOf(() => plan(catalog(url)))).toEqual(['invalid_value catalog.url']);
  });
});
