import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parts } from '../../parts.ts';
import { runCommand, testWiring, type Done } from '../../../test/support/cli.ts';

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(tmpdir(), 'headgate-compile-'));
  writeFileSync(path.join(cwd, 'in.jsonl'), '{"a":1}\n');
});
afterEach(() => rmSync(cwd, { recursive: true }));

async function cli(command: string, document: string): Promise<Done> {
  writeFileSync(path.join(cwd, 'd.yaml'), document);
  return runCommand([command, 'd.yaml'], testWiring(parts), { cwd });
}

const document = (transforms: string, rest = '') =>
  `version: 1\nname: t\n${rest}pipeline:\n  source: { type: jsonl, config: { path: in.jsonl } }\n` +
  `  transforms: ${transforms}\n  sink: { type: jsonl, config: { path: out.jsonl } }\n`;

const LOOKUP =
  '{ type: lookup, config: { jsonl: gone.jsonl, on: { record: a, ref: a }, add: { b: b } } }';
const WASM = '{ type: wasm, config: { module: gone.wasm } }';

describe('what only compiling a transform shows', () => {
  it('is reported by `validate`, every transform at its place', async () => {
    const { code, err } = await cli(
      'validate',
      document(`[{ type: sql, config: { query: selec 1 } }, ${LOOKUP}, ${WASM}]`),
    );
    expect(code).toBe(1);
    expect(err).toContain(
      'pipeline.transforms[0].config.query  the query cannot be run: syntax error',
    );
    expect(err).toContain(
      'pipeline.transforms[1].config.jsonl  the file "gone.jsonl" cannot be read',
    );
    expect(err).toContain(
      'pipeline.transforms[2].config.module  the module "gone.wasm" cannot be read',
    );
  });

  it('is reported by `doctor`, and by nothing else when all is well', async () => {
    const broken = await cli('doctor', document(`[${LOOKUP}]`));
    expect(broken.code).toBe(1);
    expect(broken.out).toContain(
      'fail  transform lookup: compile  the file "gone.jsonl" cannot be read',
    );
    const sound = await cli('doctor', document('[{ type: flatten }]'));
    expect([sound.code, sound.out]).toEqual([0, expect.not.stringContaining('transform')]);
  });

  it('is reported by `doctor` for the transforms of a graph', async () => {
    const nodes =
      `version: 1\nname: g\npipeline:\n  source: { type: jsonl, config: { path: in.jsonl } }\n  sink: { type: jsonl, config: { path: out.jsonl } }\n` +
      `  nodes: { s: { kind: source }, t: { kind: transform, transforms: [${LOOKUP}] }, w: { kind: sink } }\n  edges: [{ from: s, to: t }, { from: t, to: w }]\n`;
    const { code, out } = await cli('doctor', nodes);
    expect([code, out]).toEqual([1, expect.stringContaining('fail  transform lookup: compile')]);
    expect((await cli('validate', nodes)).err).toContain(
      'pipeline.nodes.t.transforms[0].config.jsonl',
    );
  });

  it('is not judged while a parameter or a secret is only stood in for', async () => {
    const params = 'params: { table: { type: string, required: true } }\n';
    const { code } = await cli(
      'validate',
      document('[{ type: sql, config: { query: "select * from ${param.table}" } }]', params),
    );
    expect(code).toBe(0);
  });
});
