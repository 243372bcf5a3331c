import { expect, it } from 'vitest';
import { plan } from '../../test/fakes/documents.ts';
import { pathTo } from './node-path.ts';

const GRAPH = `{version: 1, name: g, pipeline: {
  sources: {a: {type: lines, config: {path: a}}, b: {type: lines, config: {path: b}}},
  sink: {type: nowhere},
  nodes: {
    a: {kind: source, ref: a}, b: {kind: source, ref: b}, x: {kind: transform, transforms: [{type: keep, config: {fields: [n]}}]}, m: {kind: merge}, t: {kind: tee},
    y: {kind: transform, transforms: [{type: set, config: {values: {n: 1}}}, {type: keep, config: {fields: [n]}}]}, z: {kind: transform, transforms: [{type: set, config: {values: {n: 2}}}]},
    w: {kind: sink}, v: {kind: sink}},
  edges: [{from: a, to: x}, {from: x, to: m}, {from: b, to: m}, {from: m, to: y}, {from: y, to: t}, {from: t, to: z}, {from: z, to: w}, {from: t, to: v}]}}`;

it('is the transforms between a sink node and where its records came together, in their order', () => {
  const { topology } = plan(GRAPH);
  if (topology === undefined) throw new Error('expected a graph');
  const reported = (sink: string) => {
    const { from, transforms } = pathTo(topology, sink);
    return [from, ...transforms.map(({ path }) => path)];
  };
  expect(reported('w')).toEqual([
    'm',
    'pipeline.nodes.y.transforms[0]',
    'pipeline.nodes.y.transforms[1]',
    'pipeline.nodes.z.transforms[0]',
  ]);
  expect(reported('v')).toEqual([
    'm',
    'pipeline.nodes.y.transforms[0]',
    'pipeline.nodes.y.transforms[1]',
  ]);
});
