/**
 * A small search server: indexes, aliases, mappings made by the first document, bulk requests,
 * searches that see what was refreshed, scrolls and the listing of indexes.
 */
import {
  isObject,
  jsonText,
  parseJson,
  stringifyJson,
  type JsonObject,
  type JsonValue,
} from '../../src/lib/text/json.ts';
import type { Reply, SeenRequest } from './http-server.ts';

interface Index {
  mappings: JsonObject;
  settings: JsonObject;
  readonly aliases: Set<string>;
  readonly documents: Map<string, JsonObject>;
  /** What searches find. */
  seen: Map<string, JsonObject>;
}

interface Scroll {
  readonly hits: readonly JsonObject[];
  readonly size: number;
  from: number;
}

const notFound = (type: string, reason: string): Reply => ({
  status: 404,
  json: { error: { type, reason }, status: 404 },
});
const refused = (type: string, reason: string): Reply => ({
  status: 400,
  json: { error: { type, reason }, status: 400 },
});

export class FakeSearch {
  readonly indexes = new Map<string, Index>();
  readonly scrolls = new Map<string, Scroll>();
  #made = 0;

  /** Whole numbers keep their digits. */
  answer(request: SeenRequest): Reply {
    const { json = null, ...reply } = this.#answer(request);
    const headers = { 'content-type': 'application/json' };
    return { ...reply, headers, body: stringifyJson(json as JsonValue) };
  }

  #answer(request: SeenRequest): Reply {
    const path = decodeURIComponent(request.path.replace(/^\//, ''));
    const [first = '', second, third] = path.split('/');
    if (path === '_cluster/health') return { json: { status: 'green' } };
    if (path === '_aliases') return this.#changeAliases(bodyOf(request));
    if (path === '_search/scroll') return this.#scroll(request);
    if (path === '_cat/indices') return { json: this.#listed() };
    if (third !== undefined || first.startsWith('_')) return refused('illegal', `no ${path}`);
    if (second === '_search') return this.#search(first, request);
    if (second === '_bulk') return this.#bulk(first, request.body);
    if (second === '_mapping')
      return request.method === 'PUT'
        ? this.#map(first, bodyOf(request))
        : this.#told(first, 'mappings');
    if (second === '_alias') return this.#told(first, 'aliases');
    if (second === '_refresh') return this.#refresh(first);
    return this.#index(first, request);
  }

  /** The documents of an index or alias, whether searches find them or not. */
  rows(name: string): JsonObject[] | undefined {
    const [index] = this.#named(name);
    return index === undefined ? undefined : [...index.documents.values()];
  }

  make(name: string, documents: readonly JsonObject[] = []): void {
    const index = this.#makeIndex(name);
    for (const document of documents) this.#store(index, `made-${(this.#made += 1)}`, document);
    index.seen = new Map(index.documents);
  }

  /** An index behind an alias. */
  makeBehind(alias: string): void {
    this.#makeIndex(`${alias}-0`).aliases.add(alias);
  }

  #makeIndex(name: string, more: Partial<Pick<Index, 'mappings' | 'settings'>> = {}): Index {
    const index: Index = {
      mappings: more.mappings ?? {},
      settings: more.settings ?? {},
      aliases: new Set(),
      documents: new Map(),
      seen: new Map(),
    };
    this.indexes.set(name, index);
    return index;
  }

  #entries(pattern: string): [string, Index][] {
    const shapes = pattern
      .split(',')
      .map((one) => new RegExp(`^${one.replaceAll('.', '\\.').replaceAll('*', '.*')}$`));
    return [...this.indexes].filter(([name, { aliases }]) =>
      shapes.some((shape) => shape.test(name) || [...aliases].some((alias) => shape.test(alias))),
    );
  }

  #named(pattern: string): Index[] {
    return this.#entries(pattern).map(([, index]) => index);
  }

  #told(name: string, what: 'mappings' | 'aliases'): Reply {
    const found = this.#entries(name);
    if (found.length === 0 && !name.includes('*'))
      return notFound('index_not_found_exception', `no such index [${name}]`);
    const told = ({ mappings, aliases }: Index): JsonObject =>
      what === 'mappings'
        ? { mappings }
        : { aliases: Object.fromEntries([...aliases].map((alias) => [alias, {}])) };
    return { json: Object.fromEntries(found.map(([one, index]) => [one, told(index)])) };
  }

  #index(name: string, request: SeenRequest): Reply {
    if (request.method === 'PUT') {
      if (this.indexes.has(name))
        return refused('resource_already_exists_exception', `index [${name}] already exists`);
      const { mappings = {}, settings = {} } = bodyOf(request) as Record<string, JsonObject>;
      this.#makeIndex(name, { mappings, settings });
      return { json: { acknowledged: true, index: name } };
    }
    const found = this.#entries(name);
    if (found.length === 0) return notFound('index_not_found_exception', `no such index [${name}]`);
    if (request.method === 'DELETE') for (const [one] of found) this.indexes.delete(one);
    const told = found.map(([one, { mappings, settings }]) => [one, { mappings, settings }]);
    return {
      json: request.method === 'DELETE' ? { acknowledged: true } : Object.fromEntries(told),
    };
  }

  #changeAliases({ actions = [] }: JsonObject): Reply {
    const wanted = (Array.isArray(actions) ? actions : []).filter(isObject);
    const places = wanted.flatMap((action) =>
      Object.values(action).map((one) => (one as JsonObject)['index'] as string),
    );
    const missing = places.find((name) => !this.indexes.has(name));
    if (missing !== undefined)
      return notFound('index_not_found_exception', `no such index [${missing}]`);
    for (const { add, remove_index: remove } of wanted) {
      if (isObject(remove ?? null)) this.indexes.delete((remove as JsonObject)['index'] as string);
      const { index = '', alias = '' } = (add ?? {}) as Record<string, string>;
      if (this.indexes.has(alias)) return refused('invalid_alias_name_exception', alias);
      this.indexes.get(index)?.aliases.add(alias);
    }
    return { json: { acknowledged: true } };
  }

  #refresh(name: string): Reply {
    const found = this.#named(name);
    if (found.length === 0) return notFound('index_not_found_exception', `no such index [${name}]`);
    for (const index of found) index.seen = new Map(index.documents);
    return { json: { _shards: { total: 1, successful: 1, failed: 0 } } };
  }

  #listed(): JsonObject[] {
    return [...this.indexes].map(([index, { seen }]) => ({ index, 'docs.count': `${seen.size}` }));
  }

  #map(name: string, { properties = {} }: JsonObject): Reply {
    for (const index of this.#named(name)) {
      const known = propertiesOf(index);
      for (const [field, wanted] of Object.entries(properties as JsonObject)) {
        const type = (one: JsonValue | undefined) => (one as JsonObject | undefined)?.['type'];
        if (known[field] !== undefined && type(known[field]) !== type(wanted))
          return refused('illegal_argument_exception', `mapper [${field}] cannot be changed`);
        known[field] = wanted;
      }
      index.mappings = { ...index.mappings, properties: known };
    }
    return { json: { acknowledged: true } };
  }

  #bulk(name: string, text: string): Reply {
    const lines = text.split('\n').filter((line) => line !== '');
    const items: JsonObject[] = [];
    const index = this.#named(name)[0] ?? this.#makeIndex(name);
    for (let at = 0; at < lines.length; at += 1) {
      const action = parseJson(lines[at] ?? '') as Record<string, JsonObject>;
      const [op = '', told = {}] = Object.entries(action)[0] ?? [];
      const id = (told['_id'] as string | undefined) ?? `made-${(this.#made += 1)}`;
      if (op === 'delete') {
        items.push({ delete: { _id: id, status: index.documents.delete(id) ? 200 : 404 } });
        continue;
      }
      at += 1;
      const fault = this.#store(index, id, parseJson(lines[at] ?? '') as JsonObject);
      const outcome: JsonObject = { _id: id, status: fault === undefined ? 201 : 400 };
      if (fault !== undefined)
        outcome['error'] = { type: 'document_parsing_exception', reason: fault };
      items.push({ [op]: outcome });
    }
    return { json: { errors: items.length > 0, items } };
  }

  /** The first value of a field decides what others may be. */
  #store(index: Index, id: string, document: JsonObject): string | undefined {
    const known = propertiesOf(index);
    for (const [field, value] of Object.entries(document)) {
      const type = typeOf(value);
      if (type === undefined) continue;
      const before = (known[field] as JsonObject | undefined)?.['type'];
      if (before === undefined) known[field] = mappedTo(type);
      else if (!fits(before as string, value))
        return `failed to parse field [${field}] of type [${before as string}]`;
    }
    index.mappings = { ...index.mappings, properties: known };
    index.documents.set(id, document);
    return undefined;
  }

  #search(name: string, request: SeenRequest): Reply {
    const found = this.#named(name);
    if (found.length === 0 && !name.includes('*'))
      return notFound('index_not_found_exception', `no such index [${name}]`);
    const { query = { match_all: {} }, size = 10, _source: shown = true } = bodyOf(request);
    const faulty = unknownQuery(query);
    if (faulty !== undefined) return refused('parsing_exception', `unknown query [${faulty}]`);
    const hits = found.flatMap(({ seen }) =>
      [...seen]
        .filter(([, document]) => matches(query, document))
        .map(([_id, _source]) => ({ _id, ...(shown === false ? {} : { _source }) })),
    );
    const keep = request.query.get('scroll');
    if (keep === null) return { json: answerOf(hits.slice(0, Number(size)), hits.length) };
    const place = `scroll-${(this.#made += 1)}`;
    const scroll = { hits, size: Number(size), from: 0 };
    this.scrolls.set(place, scroll);
    return { json: { _scroll_id: place, ...nextOf(scroll) } };
  }

  #scroll(request: SeenRequest): Reply {
    const { scroll_id: given } = bodyOf(request);
    const places = [given].flat() as string[];
    if (request.method === 'DELETE') {
      for (const place of places) this.scrolls.delete(place);
      return { json: { succeeded: true } };
    }
    const [place = ''] = places;
    const scroll = this.scrolls.get(place);
    if (scroll === undefined)
      return notFound('search_phase_execution_exception', 'no search context');
    return { json: { _scroll_id: place, ...nextOf(scroll) } };
  }
}

function bodyOf(request: SeenRequest): JsonObject {
  return request.body === '' ? {} : (parseJson(request.body) as JsonObject);
}

function nextOf(scroll: Scroll): JsonObject {
  const some = scroll.hits.slice(scroll.from, scroll.from + scroll.size);
  scroll.from += some.length;
  return answerOf(some, scroll.hits.length);
}

function answerOf(hits: readonly JsonObject[], total: number): JsonObject {
  return {
    timed_out: false,
    _shards: { total: 1, successful: 1, failed: 0 },
    hits: { total: { value: total, relation: 'eq' }, hits: [...hits] },
  };
}

function propertiesOf({ mappings }: Index): JsonObject {
  return { ...(mappings['properties'] as JsonObject | undefined) };
}

function typeOf(value: JsonValue): string | undefined {
  const [one = null] = Array.isArray(value) ? value : [value];
  if (one === null) return undefined;
  if (typeof one === 'string') return 'text';
  if (typeof one === 'boolean') return 'boolean';
  if (typeof one === 'bigint') return 'long';
  if (typeof one === 'number') return Number.isInteger(one) ? 'long' : 'float';
  return 'object';
}

function mappedTo(type: string): JsonObject {
  if (type === 'object') return { properties: {}, type: 'object' };
  return type === 'text' ? { type, fields: { keyword: { type: 'keyword' } } } : { type };
}

/** Numbers are taken from texts, too; texts from anything but objects. */
function fits(type: string, value: JsonValue): boolean {
  const all = Array.isArray(value) ? value : [value];
  return all.every((one) => {
    if (one === null) return true;
    if (type === 'object') return isObject(one);
    if (isObject(one)) return false;
    if (type === 'boolean') return typeof one === 'boolean' || one === 'true' || one === 'false';
    return type === 'text' || !Number.isNaN(Number(one));
  });
}

const QUERIES = ['match_all', 'term', 'terms', 'range', 'bool'];

function unknownQuery(query: JsonValue): string | undefined {
  const [kind = ''] = isObject(query) ? Object.keys(query) : [];
  return QUERIES.includes(kind) ? undefined : kind;
}

function matches(query: JsonValue, document: JsonObject): boolean {
  const [[kind, body] = ['', null]] = Object.entries(query as JsonObject);
  if (kind === 'match_all') return true;
  if (kind === 'bool') {
    const { filter = [] } = body as JsonObject;
    return [filter].flat().every((one) => matches(one, document));
  }
  const [[field, wanted] = ['', null]] = Object.entries(body as JsonObject);
  const value = document[field.replace(/\.keyword$/, '')] ?? null;
  if (kind === 'range') {
    const { gte = null, lt = null } = wanted as JsonObject;
    return (gte === null || (value ?? 0) >= gte) && (lt === null || (value ?? 0) < lt);
  }
  const one = isObject(wanted) ? (wanted['value'] ?? null) : wanted;
  // A text is found by its words only, unless the whole of it is asked for.
  const isWords = typeof value === 'string' && !field.endsWith('.keyword');
  return [one]
    .flat()
    .some((each) => (isWords ? value.split(' ').includes(jsonText(each)) : each === value));
}
