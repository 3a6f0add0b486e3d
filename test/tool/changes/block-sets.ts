import { block, changes, type ChangeSet, create, notDone, part, patch } from './change-set.ts'

const readme = '# T\n\n```sh\nnpm i\n```\n\n````md\n```\nx\n```\n````\n'

export const blockSets: readonly ChangeSet[] = [
  {
    name: 'whole: a file is created and another replaced',
    before: { a: 'old\n' },
    answer: `Two files.\n\n${block('a', 'new\n')}\n${block('src/b.ts', 'export {}\n', '````ts')}`.replaceAll(
      '````ts\n</',
      '````\n</',
    ),
    after: { a: 'new\n', 'src/b.ts': 'export {}\n' },
    text: 'Two files.',
  },
  {
    name: 'whole: a file that has changed since it was shown',
    before: { a: 'by a person\n' },
    shown: { a: 'old\n' },
    answer: block('a', 'new\n'),
    after: 'as before',
    kind: 'stale',
    stale: ['a'],
  },
  {
    name: 'whole: contents that hold fences, in a longer fence and in one of the same length',
    before: {},
    answer:
      block('long.md', readme, '`````') +
      block('same.md', '# T\n\n```\nx\n```\n\nend\n', '```') +
      block('tilde.md', readme, '~~~'),
    after: { 'long.md': readme, 'same.md': '# T\n\n```\nx\n```\n\nend\n', 'tilde.md': readme },
    text: '',
  },
  {
    name: 'whole: contents that hold the tags themselves',
    before: {},
    answer: block('doc.md', block('inner', 'x\n', '```')) + block('b', 'b\n'),
    after: { 'doc.md': block('inner', 'x\n', '```'), b: 'b\n' },
  },
  {
    name: 'whole: no fence, an empty fence, and an empty block',
    before: { c: 'c\n' },
    answer:
      '<AIP_FILE_CHANGE file_path="a">\nplain\n</AIP_FILE_CHANGE>\n' +
      block('b', '') +
      '<AIP_FILE_CHANGE file_path="c"></AIP_FILE_CHANGE>\n',
    after: { a: 'plain\n', b: '', c: '' },
  },
  {
    name: 'whole: CRLF and byte order mark of the file stay',
    before: { a: '\uFEFFx\r\n' },
    answer: block('a', 'é\ny\n'),
    after: { a: '\uFEFFé\r\ny\r\n' },
  },
  {
    name: 'whole: an unchanged file among changed ones',
    before: { a: 'a\n', b: 'b\n' },
    answer: block('a', 'a\n') + block('b', 'B\n'),
    after: { a: 'a\n', b: 'B\n' },
  },
  {
    name: 'whole: copies, renames and deletions on lines of their own, quotations left alone',
    before: { a: 'a\n', b: 'b\n', c: 'c\n', d: 'd\n' },
    answer:
      'So:\n<FILE_COPY from_path="a" to_path="a2" />\n<FILE_RENAME from_path="b" to_path="b2" />\n<FILE_DELETE file_path="c"/>\n\n' +
      'In the old notation:\n```\nthis was\n<FILE_DELETE file_path="d" />\n```\n',
    after: { a: 'a\n', a2: 'a\n', b2: 'b\n', d: 'd\n' },
    text: 'So:\n\nIn the old notation:\n```\nthis was\n<FILE_DELETE file_path="d" />\n```',
  },
  {
    name: 'whole: a model that falls back to the other form',
    before: { a: '1\n' },
    answer: `\`\`\`xml\n${changes(patch('a', '-1\n+2\n'), create('b', 'b\n'))}\`\`\`\n`,
    after: { a: '2\n', b: 'b\n' },
    text: '',
  },
  {
    name: 'whole: a block that is never closed',
    before: { a: 'a\n' },
    answer: `${block('a', 'A\n')}<AIP_FILE_CHANGE file_path="b">\n\`\`\`\`\nhalf`,
    after: 'as before',
    kind: 'refused',
    errors: [notDone, 'AIP_FILE_CHANGE is never closed with </AIP_FILE_CHANGE>'],
  },
  {
    name: 'whole: a block that is not closed before the next one begins',
    before: {},
    answer: `<AIP_FILE_CHANGE file_path="a">\n\`\`\`\`\nhalf\n${block('b', 'b\n')}`,
    partial: true,
    after: 'as before',
    kind: 'refused',
    errors: [
      'AIP_FILE_CHANGE is never closed with </AIP_FILE_CHANGE>',
      'its change is in a code fence at line 2 of the answer, next to other text: if you mean it, write it outside a fence',
    ],
  },
  {
    name: 'whole: tags that cannot be read, text behind the fence',
    before: {},
    answer:
      '<AIP_FILE_CHANGE file_path=a>\n````\nx\n````\n</AIP_FILE_CHANGE>\n' +
      '<AIP_FILE_CHANGE path="a">\n````\nx\n````\n</AIP_FILE_CHANGE>\n' +
      '<AIP_FILE_CHANGE file_path="c">\n````\nx\n````\nThat is all.\n</AIP_FILE_CHANGE>\n',
    after: 'as before',
    kind: 'refused',
    errors: [
      'the tag <AIP_FILE_CHANGE file_path=a> cannot be read: attributes are written name="value"',
      'AIP_FILE_CHANGE needs the attribute file_path',
      'its content begins with a fence that its last line does not close',
    ],
  },
  {
    name: 'search and replace: several parts of one file, in any order',
    before: { a: '1\n2\n3\n4\n' },
    answer: block('a', part('4\n', 'four\n') + part('1\n2\n', 'one\n') + part('3\n', '')),
    after: { a: 'one\nfour\n' },
  },
  {
    name: 'search and replace: parts apply to a file that has changed since it was shown',
    before: { a: 'by a person\n1\n' },
    shown: { a: '1\n' },
    answer: block('a', part('1\n', 'one\n')),
    after: { a: 'by a person\none\n' },
  },
  {
    name: 'search and replace: without parts it is the whole file, and needs to have been shown',
    before: { a: 'old\n', b: 'never shown\n' },
    shown: { a: 'old\n' },
    answer: block('a', 'new\n') + block('c', 'c\n') + block('b', 'mine\n'),
    after: 'as before',
    kind: 'stale',
    unseen: ['b'],
  },
  {
    name: 'search and replace: the first place that is made of whole lines, not the first of all',
    before: { a: 'let total = 1\n  total = 2\ntotal = 2\n' },
    answer: block('a', part('total = 2\n', 'total = 3\n')),
    after: { a: 'let total = 1\n  total = 2\ntotal = 3\n' },
  },
  {
    name: 'search and replace: a text that is only found inside of a line fails',
    before: { a: 'const subtotal = 1\n' },
    answer: block('a', part('total = 1\n', 'total = 2\n')),
    after: 'as before',
    kind: 'refused',
    errors: ['1 of 1 hunks failed: Search block found only inside lines: it must contain whole lines'],
  },
  {
    name: 'search and replace: a text that is not found fails',
    before: { a: '1\n', b: 'b\n' },
    answer: block('a', part('1\n', 'one\n') + part('none\n', 'x\n')) + block('b', 'B\n'),
    after: 'as before',
    kind: 'refused',
    errors: ['1 of 2 hunks failed: Search block not found in content', notDone],
  },
  {
    name: 'search and replace, partial: the parts that are found are replaced',
    before: { a: '1\n', b: 'b\n' },
    answer: block('a', part('1\n', 'one\n') + part('none\n', 'x\n')) + block('b', 'B\n'),
    partial: true,
    after: { a: 'one\n', b: 'B\n' },
    errors: ['1 of 2 hunks failed: Search block not found in content'],
  },
  {
    name: 'search and replace: CRLF, byte order mark, no final newline, a new file',
    before: { a: '\uFEFFx\r\ny\r\nz' },
    answer: block('a', part('x\ny\n', 'X\n') + part('', 'first\n')) + block('b', part('', 'new\n')),
    after: { a: '\uFEFFfirst\r\nX\r\nz', b: 'new\n' },
  },
  {
    name: 'search and replace: parts that cannot be read, parts without a file, parts that change nothing',
    before: { a: '1\n', c: 'c\n' },
    answer:
      block('a', `${part('1\n', 'one\n')}and\n${part('1\n', 'two\n')}`) +
      block('b', part('1\n', 'one\n')) +
      block('c', part('c\n', 'c\n')),
    after: 'as before',
    kind: 'refused',
    errors: [
      'the changes cannot be read: line 6 is outside a block: and',
      'there is no file b to change',
      'the blocks leave the file as it is',
    ],
  },
]
