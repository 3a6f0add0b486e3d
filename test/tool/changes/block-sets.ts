import { block, changes, type ChangeSet, create, notDone, part, patch } from './change-set.ts'

const readme = '# T\n\n```sh\nnpm i\n```\n\n````md\n```\nx\n```\n````\n'
const heading = 'Title\n=======\n\ntext\n'
const conflict = 'a\n<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> branch\nz\n'
const returns = 'def a():\n    return 1\n\ndef b():\n    return 1\n'

function unclear(lines: string): string {
  return `any of its lines ${lines} after <<<<<<< SEARCH can be its divider =======, and the file does not decide which: choose lines to search for that neither contain such a line nor end before one, or use a FILE_PATCH`
}

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
  {
    name: 'search and replace: an underline in the file, in both parts, in the search part alone, and of another length',
    before: {
      a: heading,
      b: heading,
      c: 'Notes\n=====\n\ntext\n',
      d: 'Welcome\n=======\n',
      e: '=======\nOver\n=======\nx\n',
    },
    answer:
      block('a', part(heading, 'Title\n=======\n\nTEXT\n')) +
      block('b', part(heading, 'TEXT\n')) +
      block('c', part('Notes\n=====\n\ntext\n', 'Notes\n=====\n\nTEXT\n')) +
      block('d', part('Welcome\n=======\n', 'Welcome!\n========\n')) +
      block('e', part('=======\nOver\n=======\n', '=======\nUnder\n=======\n')),
    after: {
      a: 'Title\n=======\n\nTEXT\n',
      b: 'TEXT\n',
      c: 'Notes\n=====\n\nTEXT\n',
      d: 'Welcome!\n========\n',
      e: '=======\nUnder\n=======\nx\n',
    },
  },
  {
    name: 'search and replace: an underline in the replacement alone, and in a new file',
    before: { a: 'text\n' },
    answer:
      block('a', part('text\n', 'text\n\nNext\n=======\n\nmore\n')) + block('b', part('', 'Title\n=======\n\ntext\n')),
    after: { a: 'text\n\nNext\n=======\n\nmore\n', b: 'Title\n=======\n\ntext\n' },
  },
  {
    name: 'search and replace: a merge conflict is resolved, with Windows line ends, too',
    before: { a: conflict, b: conflict, c: conflict.replaceAll('\n', '\r\n') },
    answer:
      `./a\n${part(conflict.slice(2, -2), 'both\n')}\n` +
      `./b\n\`\`\`\n${part('mine\n=======\ntheirs\n', 'both\n')}\`\`\`\n` +
      block('c', part(conflict.slice(2, -2), 'both\n')),
    after: { a: 'a\nboth\nz\n', b: conflict.replace('mine\n=======\ntheirs', 'both'), c: 'a\r\nboth\r\nz\r\n' },
  },
  {
    name: 'search and replace: a divider that the file does not decide is refused',
    before: { a: heading, b: heading, c: heading, d: heading },
    answer:
      block('a', part('Title\n=======\n\ntezt\n', 'Title\n=======\n\nTEXT\n')) +
      block('b', part('Title\n=======\n', '# Title\n')) +
      block('c', part('', 'Before\n=======\n\nmore\n')) +
      block('d', part('none\n=======\ntext\n', 'TEXT\n')),
    after: 'as before',
    kind: 'refused',
    errors: [
      `1 of 1 hunks failed: ${unclear('2, 5 and 7')}`,
      `1 of 1 hunks failed: ${unclear('2 and 3')}`,
      `1 of 1 hunks failed: ${unclear('1 and 3')}`,
      '1 of 1 hunks failed: Search block not found in content',
    ],
  },
  {
    name: 'search and replace: a part that fits in several places is refused with their lines',
    before: { a: returns, b: 'b\n' },
    answer: block('a', part('    return 1\n', '    return 2\n')) + block('b', part('b\n', 'B\n')),
    after: 'as before',
    kind: 'refused',
    errors: [
      '1 of 1 hunks failed: its search text is in the file 2 times, at lines 2, 5: include lines around it, so that it fits in one place only',
      notDone,
    ],
  },
  {
    name: 'search and replace, partial: parts that fit in several places are left out, and the others applied',
    before: { a: `${returns}end\n` },
    answer: block('a', part('    return 1\n', '    return 2\n') + part('end\n', 'END\n')),
    partial: true,
    after: { a: `${returns}END\n` },
    errors: [
      '1 of 2 hunks failed: its search text is in the file 2 times, at lines 2, 5: include lines around it, so that it fits in one place only',
    ],
  },
  {
    name: 'search and replace: equal parts for all equal places, which they do not change twice',
    before: { a: returns, b: 'x\nx\n' },
    answer:
      block('a', part('    return 1\n', '    return 2\n').repeat(2)) + block('b', part('x\n', 'new\nx\n').repeat(2)),
    after: { a: returns.replaceAll('1', '2'), b: 'new\nx\nnew\nx\n' },
  },
  {
    name: 'search and replace: a text that an earlier part has added as well is replaced where it was',
    before: { a: 'top\nreturn 1\n' },
    answer: block('a', part('top\n', 'new\nreturn 1\ntop\n') + part('return 1\n', 'return 2\n')),
    after: { a: 'new\nreturn 1\ntop\nreturn 2\n' },
  },
  {
    name: 'search and replace: paths with spaces above a block, above a fence and in it',
    before: {
      'my notes.txt': '1\n',
      'My Docs/n.txt': '1\n',
      'a b/LICENSE': '1\n',
      'in it.txt': '1\n',
      'c d.txt': '1\n',
    },
    answer:
      `Some changes:\n\nmy notes.txt\n${part('1\n', '2\n')}\nMy Docs/n.txt:\n\`\`\`\n${part('1\n', '2\n')}\`\`\`\n\n` +
      `### a b/LICENSE\n${part('1\n', '2\n')}\n\`\`\`\nin it.txt\n${part('1\n', '2\n')}c d.txt\n${part('1\n', '2\n')}\`\`\`\n` +
      `File: new file.txt\n${part('', 'new\n')}`,
    after: {
      'my notes.txt': '2\n',
      'My Docs/n.txt': '2\n',
      'a b/LICENSE': '2\n',
      'in it.txt': '2\n',
      'c d.txt': '2\n',
      'new file.txt': 'new\n',
    },
  },
  {
    name: 'search and replace: prose above a block is no path: the file above it applies, or none',
    before: { a: '1\n2\n', 'src/a.ts': '1\n' },
    answer: `\`a.txt\`\n\n./a\n${part('1\n', 'one\n')}And the second line in src/a.ts\n${part('2\n', 'two\n')}`,
    after: { a: 'one\ntwo\n', 'src/a.ts': '1\n' },
  },
  {
    name: 'search and replace: a block below prose alone names no file, and creates none',
    before: {},
    answer: `Create the file notes.txt\n${part('', 'new\n')}`,
    after: 'as before',
    kind: 'refused',
    errors: [
      'a search and replace block names no file: write its path alone on the line above the block, in backticks if it is a new file with spaces in its name',
    ],
  },
  {
    name: 'search and replace: a replacement with the end of a block in it is refused as a whole',
    before: { a: 'x\n' },
    answer: `./a\n${part('x\n', 'y\n>>>>>>> REPLACE\nz\n')}`,
    after: 'as before',
    kind: 'refused',
    errors: [
      notDone,
      'a line >>>>>>> REPLACE ends no search and replace block: a file that contains such a line is changed with a FILE_PATCH',
    ],
  },
]
