/** The contract of a store of templates, as a suite every implementation is held to. */
import { describe, expect, it } from 'vitest';
import type { TemplateState, TemplateStore, TemplateVersion } from '../../src/history/templates.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 7, 1, 0, 0, second)).toISOString();

function aVersion(
  id: string,
  version: number,
  over: Partial<TemplateVersion> = {},
): TemplateVersion {
  return {
    id,
    version,
    kind: 'pipeline',
    name: 'Orders',
    description: null,
    body: `# ${id} ${version}\nversion: 1\n`,
    format: 'yaml',
    params: { day: { type: 'string', required: true, secret: false } },
    is_scheduled: false,
    created_at: at(version),
    created_by: 'ann',
    ...over,
  };
}

function aState(id: string, over: Partial<TemplateState> = {}): TemplateState {
  return {
    id,
    kind: 'pipeline',
    revision: 1,
    versions: [1],
    next_version: 2,
    tags: {},
    launches: [],
    deprecated_versions: [],
    registered_at: at(1),
    ...over,
  };
}

export function describeTemplates(name: string, open: () => Promise<TemplateStore>): void {
  describe(`templates in ${name}`, () => {
    it('lists the versions that have a schedule, for as long as they are there', async () => {
      const store = await open();
      const state = aState('orders');
      const version = aVersion('orders', 1, { is_scheduled: true });
      await store.changeTemplate({ before: undefined, after: state, version });
      await store.changeTemplate({
        before: undefined,
        after: aState('plain'),
        version: aVersion('plain', 1),
      });
      expect(await store.getTemplateVersion('orders', 1)).toEqual(version);
      expect(await store.listScheduled()).toEqual([{ id: 'orders', version: 1 }]);
      await store.changeTemplate({ before: state, after: undefined });
      expect(await store.listScheduled()).toEqual([]);
    });

    it('gives back what was stored, every version with its document', async () => {
      const store = await open();
      const first = aState('orders');
      const [one, two] = [
        aVersion('orders', 1),
        aVersion('orders', 2, { name: null, created_by: null, description: 'two' }),
      ];
      expect(await store.getTemplate('orders')).toBeUndefined();
      expect(
        await store.changeTemplate({
          before: undefined,
          after: first,
          version: one,
        }),
      ).toBe(true);
      const second = aState('orders', {
        revision: 2,
        versions: [2, 1],
        next_version: 3,
        tags: { prod: 1 },
        launches: [{ seq: 1, version: 1, launched_at: at(5) }],
        deprecation: { deprecated_at: at(6), reason: 'old' },
        deprecated_versions: [{ version: 1, deprecated_at: at(7), deprecated_by: 'bob' }],
        registered_at: at(2),
      });
      expect(
        await store.changeTemplate({
          before: first,
          after: second,
          version: two,
        }),
      ).toBe(true);
      expect(await store.getTemplate('orders')).toEqual(second);
      expect(await store.getTemplateVersion('orders', 1)).toEqual(one);
      expect(await store.getTemplateVersion('orders', 2)).toEqual(two);
      expect(await store.getTemplateVersion('orders', 3)).toBeUndefined();
    });

    it('refuses a change of what has changed since, and changes nothing then', async () => {
      const store = await open();
      const first = aState('orders');
      await store.changeTemplate({
        before: undefined,
        after: first,
        version: aVersion('orders', 1),
      });
      const next = aState('orders', { revision: 2, versions: [2, 1] });
      expect(
        await store.changeTemplate({
          before: undefined,
          after: first,
          version: aVersion('orders', 1, { body: 'other' }),
        }),
      ).toBe(false);
      expect(
        await store.changeTemplate({ before: first, after: next, version: aVersion('orders', 2) }),
      ).toBe(true);
      const late = aState('orders', { revision: 2, versions: [2], tags: { prod: 2 } });
      expect(
        await store.changeTemplate({
          before: first,
          after: late,
          version: aVersion('orders', 2, { body: 'late' }),
        }),
      ).toBe(false);
      expect(await store.changeTemplate({ before: first, after: undefined })).toBe(false);
      expect(await store.getTemplate('orders')).toEqual(next);
      expect((await store.getTemplateVersion('orders', 1))?.body).toContain('orders 1');
      expect((await store.getTemplateVersion('orders', 2))?.body).toContain('orders 2');
    });

    it('lets one of two that register at once win', async () => {
      const store = await open();
      const first = aState('orders');
      await store.changeTemplate({
        before: undefined,
        after: first,
        version: aVersion('orders', 1),
      });
      const next = aState('orders', { revision: 2, versions: [2, 1] });
      const results = await Promise.all(
        ['a', 'b', 'c'].map((body) =>
          store.changeTemplate({
            before: first,
            after: next,
            version: aVersion('orders', 2, { body }),
          }),
        ),
      );
      expect(results.filter(Boolean)).toHaveLength(1);
      const won = ['a', 'b', 'c'][results.indexOf(true)];
      expect((await store.getTemplateVersion('orders', 2))?.body).toBe(won);
    });

    it('chooses a version of the template as it is now, after every change of it', async () => {
      const store = await open();
      const newest = (state: TemplateState) => state.versions[0] ?? 0;
      expect(await store.chooseVersion('orders', newest)).toBeUndefined();
      const first = aState('orders');
      const one = aVersion('orders', 1);
      await store.changeTemplate({ before: undefined, after: first, version: one });
      const chosen = { state: first, version: one };
      expect(await store.chooseVersion('orders', newest)).toEqual(chosen);
      expect(await store.chooseVersion('orders', newest)).toEqual(chosen);
      expect(await store.chooseVersion('orders', () => 7)).toEqual({
        ...chosen,
        version: undefined,
      });
      const error = new Error('there is no such channel');
      const refuse = () => {
        throw error;
      };
      await expect(store.chooseVersion('orders', refuse)).rejects.toBe(error);
      const second = aState('orders', { revision: 2, versions: [2, 1] });
      const two = aVersion('orders', 2);
      await store.changeTemplate({ before: first, after: second, version: two });
      expect(await store.chooseVersion('orders', newest)).toEqual({ state: second, version: two });
      expect((await store.chooseVersion('orders', () => 1))?.version).toEqual(one);
      // Registered anew it has the same revision and the same number, and another document.
      await store.changeTemplate({ before: second, after: undefined });
      expect(await store.chooseVersion('orders', newest)).toBeUndefined();
      const anew = aVersion('orders', 1, { body: 'version: 1 # anew' });
      await store.changeTemplate({ before: undefined, after: first, version: anew });
      expect((await store.chooseVersion('orders', newest))?.version).toEqual(anew);
    });

    it('drops the versions that a state does not list, and all of them with the template', async () => {
      const store = await open();
      const first = aState('orders');
      await store.changeTemplate({
        before: undefined,
        after: first,
        version: aVersion('orders', 1),
      });
      const second = aState('orders', { revision: 2, versions: [2] });
      await store.changeTemplate({ before: first, after: second, version: aVersion('orders', 2) });
      await store.changeTemplate({
        before: undefined,
        after: aState('other'),
        version: aVersion('other', 1),
      });
      expect(await store.getTemplateVersion('orders', 1)).toBeUndefined();
      expect(await store.changeTemplate({ before: second, after: undefined })).toBe(true);
      expect(await store.getTemplate('orders')).toBeUndefined();
      expect(await store.getTemplateVersion('orders', 2)).toBeUndefined();
      expect((await store.getTemplateVersion('other', 1))?.id).toBe('other');
      await store.changeTemplate({
        before: undefined,
        after: first,
        version: aVersion('orders', 1),
      });
      expect(await store.getTemplate('orders')).toEqual(first);
    });

    it('lists the newest registration first, with the newest version and without documents', async () => {
      const store = await open();
      expect(await store.listTemplates()).toEqual([]);
      for (const [id, second] of [
        ['b', 3],
        ['a', 3],
        ['acme/c', 9],
      ] as const)
        await store.changeTemplate({
          before: undefined,
          after: aState(id, { registered_at: at(second) }),
          version: aVersion(id, 1),
        });
      const listed = await store.listTemplates();
      expect(listed.map(({ state }) => state.id)).toEqual(['acme/c', 'a', 'b']);
      const { body: _, ...listing } = aVersion('acme/c', 1);
      expect(listed[0]).toEqual({
        state: aState('acme/c', { registered_at: at(9) }),
        newest: listing,
      });
    });

    it('lists in pages, also where several were registered at one time, and by kind', async () => {
      const store = await open();
      for (const [id, second] of [
        ['d', 1],
        ['c', 3],
        ['b', 3],
        ['a', 3],
        ['e', 9],
      ] as const)
        await store.changeTemplate({
          before: undefined,
          after: aState(id, { registered_at: at(second) }),
          version: aVersion(id, 1),
        });
      const idsOf = async (query: Parameters<TemplateStore['listTemplates']>[0]) =>
        (await store.listTemplates(query)).map(({ state }) => state.id);
      expect(await idsOf({})).toEqual(['e', 'a', 'b', 'c', 'd']);
      expect(await idsOf({ limit: 2 })).toEqual(['e', 'a']);
      expect(await idsOf({ limit: 2, after: 'a' })).toEqual(['b', 'c']);
      expect(await idsOf({ limit: 2, after: 'c' })).toEqual(['d']);
      expect(await idsOf({ limit: 2, after: 'd' })).toEqual([]);
      expect(await idsOf({ limit: 1, after: 'gone' })).toEqual(['e']);
      expect(await idsOf({ kind: aVersion('a', 1).kind, limit: 9 })).toHaveLength(5);
      expect(await idsOf({ kind: 'sink-template' })).toEqual([]);
    });
  });
}
