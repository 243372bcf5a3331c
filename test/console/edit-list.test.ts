import { describe, expect, it } from 'vitest';
import { withMovedItem, withoutItem } from '../../console/src/author/form/edit-list.ts';

const PLACE = ['pipeline', 'transforms'];
const BLOCK = `version: 1
pipeline: # all of it
  transforms: # three of them
    # first
    - type: a # beside a
      config: { x: 1 }

    # second, in
    # two lines
    - { type: b }
    -
      type: c
      # below c
  # of the sink
  sink: { type: s }
`;

describe('items of a list in a text', () => {
  it('move with their comments, and everything else stays', () => {
    expect(withMovedItem(BLOCK, PLACE, { from: 0, to: 1 })).toBe(`version: 1
pipeline: # all of it
  transforms: # three of them
    # second, in
    # two lines
    - { type: b }
    # first
    - type: a # beside a
      config: { x: 1 }

    -
      type: c
      # below c
  # of the sink
  sink: { type: s }
`);
    const last = withMovedItem(BLOCK, PLACE, { from: 2, to: 0 });
    expect(last).toMatch(/three of them\n {4}-\n {6}type: c\n {6}# below c\n {4}# first\n/);
    expect(withMovedItem(last ?? '', PLACE, { from: 0, to: 2 })).toBe(BLOCK);
  });

  it('are taken out with their comments', () => {
    expect(withoutItem(BLOCK, PLACE, 1)).toBe(
      BLOCK.replace(/ {4}# second[^]*?\{ type: b \}\n/, ''),
    );
    expect(withoutItem(BLOCK, PLACE, 2)).toBe(BLOCK.replace(/ {4}-\n[^]*?# below c\n/, ''));
  });

  it('leave an empty list behind when the last one goes', () => {
    const one = 'pipeline:\n  transforms:\n    - type: a\n      config: {}\n  sink: {}\n';
    expect(withoutItem(one, PLACE, 0)).toBe('pipeline:\n  transforms: []\n  sink: {}\n');
    expect(withoutItem('pipeline:\n  transforms:\n  - type: a', PLACE, 0)).toBe(
      'pipeline:\n  transforms: []\n',
    );
    expect(withoutItem('{"pipeline":{"transforms":[{"type":"a"}]}}', PLACE, 0)).toBe(
      '{"pipeline":{"transforms":[]}}\n',
    );
  });

  it('move and go between brackets, and in JSON', () => {
    const flow = 'pipeline: { transforms: [{ type: a }, { type: b, c: "," }, x] } # end\n';
    expect(withMovedItem(flow, PLACE, { from: 2, to: 0 })).toBe(
      'pipeline: { transforms: [x, { type: a }, { type: b, c: "," }] } # end\n',
    );
    expect(withoutItem(flow, PLACE, 0)).toBe(
      'pipeline: { transforms: [{ type: b, c: "," }, x] } # end\n',
    );
    expect(withoutItem(flow, PLACE, 2)).toBe(
      'pipeline: { transforms: [{ type: a }, { type: b, c: "," }] } # end\n',
    );
    const json =
      '{\n  "pipeline": {\n    "transforms": [\n      {"type": "a"},\n      {"type": "b"}\n    ]\n  }\n}\n';
    expect(withMovedItem(json, PLACE, { from: 1, to: 0 })).toBe(
      json.replace('"a"', '"?"').replace('"b"', '"a"').replace('"?"', '"b"'),
    );
  });

  it('are left alone where something would be lost', () => {
    // What is named must stand before what refers to it.
    const named = 'pipeline:\n  transforms:\n    - &a { type: a }\n    - *a\n';
    expect(withMovedItem(named, PLACE, { from: 1, to: 0 })).toBeUndefined();
    expect(withoutItem(named, PLACE, 0)).toBeUndefined();
    expect(withMovedItem('pipeline: [', PLACE, { from: 0, to: 1 })).toBeUndefined();
    expect(withMovedItem('pipeline: {}', PLACE, { from: 0, to: 1 })).toBeUndefined();
  });

  it('keep texts of several lines that look like comments and dashes', () => {
    const text =
      'pipeline:\n  transforms:\n    - type: sql\n      q: |\n        # not one\n        - neither\n    - type: b\n';
    expect(withMovedItem(text, PLACE, { from: 1, to: 0 })).toBe(
      'pipeline:\n  transforms:\n    - type: b\n    - type: sql\n      q: |\n        # not one\n        - neither\n',
    );
  });
});
