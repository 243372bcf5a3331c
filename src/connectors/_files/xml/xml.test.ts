import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../../../lib/text/json.ts';
import { parseXml } from '../../../lib/xml/xml-document.ts';
import { xmlText } from '../../../lib/xml/xml-text.ts';
import { xmlRecords } from './xml-records.ts';

const NAME = 'orders.xml';

function only(content: string, head = ''): JsonValue | undefined {
  return xmlRecords(`${head}<all>${content}</all>`, { recordElement: undefined, name: NAME })[0];
}

describe('the text of an element', () => {
  it.each([
    [undefined, '<all xml:space="preserve"><a> x </a></all>', [' x ']],
    ['b', '<all xml:space="preserve"><a><b> x </b></a></all>', [' x ']],
    ['b', '<all><a xml:space="preserve"><b> x </b></a><b> y </b></all>', [' x ', 'y']],
    [
      'b',
      '<all xml:space="preserve"><a xml:space="default"><b> x </b></a><b> y </b></all>',
      ['x', ' y '],
    ],
  ])(
    'is kept where an element around the record %s says so: %s',
    (recordElement, text, records) => {
      expect(xmlRecords(text, { recordElement, name: NAME })).toEqual(records);
    },
  );

  it.each<[string, string, JsonValue]>([
    ['is trimmed', '<a>\n  one two \n</a>', 'one two'],
    [
      'is kept under xml:space',
      '<a xml:space="preserve"> x </a>',
      { '@xml:space': 'preserve', '#text': ' x ' },
    ],
    [
      'is kept within an element under xml:space, until a default',
      '<a xml:space="preserve"><b> x </b><c xml:space="default"> y </c></a>',
      { '@xml:space': 'preserve', b: ' x ', c: { '@xml:space': 'default', '#text': 'y' } },
    ],
    ['keeps spaces that are no white space of XML', '<a> \u00A0x\u2003 </a>', '\u00A0x\u2003'],
    ['keeps the spaces of CDATA', '<a> <![CDATA[ x ]]> </a>', ' x '],
    ['is one text across CDATA', '<a>1<![CDATA[<2>]]>3</a>', '1<2>3'],
    ['is one text across comments', '<a>12<!-- no --> 3</a>', '12 3'],
    ['is one text across instructions', '<a>1<?pi no?>2</a>', '12'],
    ['is joined around children', '<a>one <b/> two</a>', { b: null, '#text': 'one two' }],
    ['has line ends of one kind', '<a>1\r\n2\r3</a>', '1\n2\n3'],
    ['keeps a referenced carriage return', '<a>1&#13;2</a>', '1\r2'],
    ['keeps what looks like a number', '<a>007</a>', '007'],
    ['has references decoded once', '<a>&amp;lt;&#x1F600;&#65;</a>', '&lt;\u{1F600}A'],
  ])('%s', (_title, content, value) => {
    expect(only(content)).toEqual(value);
  });

  it('may be long', () => {
    const text = 'x &amp; y '.repeat(300_000);
    expect(only(`<a>${text}</a>`)).toBe('x & y '.repeat(300_000).trim());
  });
});

describe('a DOCTYPE', () => {
  const LIST = '<!ATTLIST a n CDATA "no" k (p|q) "q" i CDATA #IMPLIED f CDATA #FIXED "x">';
  it.each<[string, string, string, JsonValue]>([
    ['gives attributes', LIST, '<a n="1">t</a>', { '@n': '1', '@k': 'q', '@f': 'x', '#text': 't' }],
    ['gives them to elements without any', LIST, '<a/>', { '@n': 'no', '@k': 'q', '@f': 'x' }],
    [
      'is bound to its first declaration of an attribute',
      '<!ATTLIST a n CDATA "1"><!ATTLIST a n CDATA "2" m CDATA "3">',
      '<a/>',
      { '@n': '1', '@m': '3' },
    ],
    [
      'may refer to entities in values',
      '<!ENTITY e "v&#10;"><!ATTLIST a n CDATA "&e;\n&#65;&#9;">',
      '<a/>',
      { '@n': 'v  A\t' },
    ],
    [
      'says which attributes are names, whose white space goes',
      '<!ATTLIST a n NMTOKENS #IMPLIED t CDATA #IMPLIED>',
      '<a n="  p   q " t="  p   q "/>',
      { '@n': 'p q', '@t': '  p   q ' },
    ],
    [
      'may keep white space',
      '<!ATTLIST a xml:space (default|preserve) "preserve">',
      '<a> x </a>',
      { '@xml:space': 'preserve', '#text': ' x ' },
    ],
    [
      'has declarations in parameter entities',
      `<!ENTITY % p "<!ATTLIST a n CDATA 'y'> <!ENTITY e 'v'>"> %p;`,
      '<a>&e;</a>',
      { '@n': 'y', '#text': 'v' },
    ],
    [
      'declares nothing in instructions',
      '<?p <!ENTITY e "no"> ?><!ENTITY e "v">',
      '<a>&e;</a>',
      'v',
    ],
    ['declares nothing in comments', '<!-- <!ENTITY e "no"> --><!ENTITY e "v">', '<a>&e;</a>', 'v'],
    ['may have comments in entities', '<!ENTITY e "a<!-- c -->b">', '<a>&e;</a>', 'ab'],
  ])('%s', (_title, declarations, content, value) => {
    const head = `<!DOCTYPE all PUBLIC "-//x//it's" "a<b.dtd" [${declarations}]>`;
    expect(only(content, head)).toEqual(value);
  });

  it('whose parameter entities would make too much of it is refused', () => {
    const more = Array.from({ length: 9 }, (_, index) => {
      const inner = `&#37;p${index};`.repeat(10);
      return `<!ENTITY % p${index + 1} "${inner}">`;
    });
    const head = `<!DOCTYPE all [<!ENTITY % p0 "${' '.repeat(10)}">${more.join('')}%p9;]>`;
    expect(() => only('<a/>', head)).toThrow('expands to more than 10000000 characters');
  });
});

describe('a document', () => {
  it('gives its records in its order, whatever they are called', () => {
    const text = '<all><a>1</a><b>2</b><a>3</a><g><a>4</a></g></all>';
    expect(xmlRecords(text, { recordElement: undefined, name: NAME })).toEqual([
      '1',
      '2',
      '3',
      { a: '4' },
    ]);
    expect(xmlRecords(text, { recordElement: 'a', name: NAME })).toEqual(['1', '3', '4']);
    expect(xmlRecords(text, { recordElement: 'all', name: NAME })).toEqual([
      { a: ['1', '3'], b: '2', g: { a: '4' } },
    ]);
  });

  it('keeps prefixes, whether or not they are declared', () => {
    expect(parseXml('<p:r xmlns:p="urn:x"><q:a p:b="1"/></p:r>', NAME)).toEqual({
      'p:r': { '@xmlns:p': 'urn:x', 'q:a': { '@p:b': '1' } },
    });
  });

  it('may use the entities that it declares', () => {
    const head = `<!DOCTYPE all [<!-- <!ENTITY c "no"> --><!ENTITY c "A &amp; &#66;"><!ENTITY c 'later'>]>`;
    expect(only('<a b="&c;">&c;</a>', head)).toEqual({ '@b': 'A & B', '#text': 'A & B' });
  });

  it('may use entities that contain others, declared in any order', () => {
    const head = `<!DOCTYPE all [<!ENTITY a "1 &b; &b; &#38;amp; &#38;#60;"><!ENTITY b '&c;!'><!ENTITY c "&#x62;">]>`;
    expect(only('<x>&a;</x>', head)).toBe('1 b! b! & <');
  });

  it('may use entities that contain markup, and others that do', () => {
    const head = `<?xml version="1.0"?><!-- <!DOCTYPE no [ --><!DOCTYPE all [
      <!ENTITY b "<b n='1'>&t;</b>"><!-- ]> ' --><!ENTITY two "&b;&b;"><!ENTITY t "x &amp; y"><!ENTITY c "&#60;c/>">]>`;
    expect(only('<x>&two;<y/>&c;</x>', head)).toEqual({
      b: [
        { '@n': '1', '#text': 'x & y' },
        { '@n': '1', '#text': 'x & y' },
      ],
      y: null,
      c: null,
    });
    const opaque = '<x><!-- &b; --><![CDATA[&b;]]><?p &b;?></x>';
    expect(only(opaque, head)).toBe('&b;');
    expect(() => only('<x a="&b;"/>', head)).toThrow('contains markup, which cannot stand there');
  });

  it.each([
    ['<!ENTITY a "<b>&a;</b>">', 'the entity `&a;` contains itself'],
    ['<!ENTITY a "x <b>">', '<b> is open, and another element is closed'],
    ['<!ENTITY a "&b;"><!ENTITY b "-&a;">', 'the entity `&a;` contains itself'],
    ['<!ENTITY a "&b;">', 'the entity `&b;` is not defined'],
    ['<!ENTITY a SYSTEM "file:///etc/passwd">', 'the entity `&a;` is not defined'],
    ['<!ENTITY % a "x">', 'the entity `&a;` is not defined'],
  ])('is refused with an entity declared as %s', (declaration, why) => {
    expect(() => only('<x>&a;</x>', `<!DOCTYPE all [${declaration}]>`)).toThrow(
      `line 1 of ${NAME} is not well-formed XML: ${why}`,
    );
  });

  it('is refused when entities would make too much text of it', () => {
    const head = `<!DOCTYPE all [<!ENTITY a "${'x'.repeat(100_000)}">]>`;
    expect(() => only(`<x>${'&a;'.repeat(101)}</x>`, head)).toThrow(
      'the entity `&a;` expands to more than 10000000 characters',
    );
  });

  it.each(['ten', ''])(
    'is refused when entities in entities would make too much of it (%j)',
    (text) => {
      const levels = Array.from({ length: 30 }, (_, level) => {
        const inner = level === 0 ? text : `&e${level - 1};`.repeat(10);
        return `<!ENTITY e${level} "${inner}">`;
      });
      expect(() => only('<x>&e29;</x>', `<!DOCTYPE all [${levels.join('')}]>`)).toThrow(
        'expands to more than 10000000 characters',
      );
    },
  );

  it('is refused when it is nested too deeply', () => {
    expect(() => only('<x>'.repeat(1001) + '</x>'.repeat(1001))).toThrow(
      'nested more than 1000 levels deep',
    );
  });

  it.each([
    ['', 'document must contain a root element'],
    ['<r>\n<a></r>', '<a> is open, and another element is closed'],
    ['</r>', 'unmatched closing tag: r'],
    ['<r><a>', '<r>, <a> are not closed'],
    ['<r a="1" a="2"/>', 'duplicate attribute: a'],
    ['<r/><r/>', 'documents may contain only one root'],
    ['<r>\u0001</r>', 'disallowed character'],
    ['<r>a & b</r>', '<r> is not closed; an `&` that starts no reference'],
    ['<r>a & b; c</r>', 'an `&` that starts no reference must be written `&amp;`'],
  ])('%j is refused', (text, why) => {
    expect(() => xmlRecords(text, { recordElement: undefined, name: NAME })).toThrow(
      new RegExp(`^line \\d+ of ${NAME} is not well-formed XML: .*${why}`),
    );
  });
});

it('a document with bytes that are no text is refused with the line', () => {
  const bytes = Buffer.from('<all>\n<a>caf\xe9</a></all>', 'latin1');
  expect(() => xmlText(bytes, NAME)).toThrow(`line 2 of ${NAME} is not text in utf-8`);
});
