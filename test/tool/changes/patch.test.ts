import { describe, expect, it } from 'vitest'
import { parseChanges } from '../../../src/tool/changes/directive-reader.ts'
import { fileChangesInstruction } from '../../../src/tool/changes/instruction.ts'
import { applyPatch } from '../../../src/tool/changes/patch.ts'

function lines(...all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}

function patched(content: string, ...patch: readonly string[]): string {
  const result = applyPatch(content, lines(...patch))
  expect(result.failures).toEqual([])
  return result.content
}

function causes(content: string, ...patch: readonly string[]): readonly string[] {
  const result = applyPatch(content, lines(...patch))
  return result.failures.map(({ cause }) => cause)
}

const numbers = lines('one', 'two', 'three', 'four', 'five')
const notFound = 'its context and removed lines are not in the file'

describe('hunks', () => {
  it('replace, add and remove lines at their context', () => {
    expect(
      patched(numbers, '@@', ' one', '-two', '+2', ' three', '@@', ' four', '+four and a half', '@@', '-five'),
    ).toBe(lines('one', '2', 'three', 'four', 'four and a half'))
  })

  it('may have line numbers and text in the header, also wrong ones', () => {
    expect(patched(numbers, '@@ -90,2 +91,3 @@ function x', '-two', '+2')).toContain('\n2\n')
    expect(patched(numbers, '--- a/x', '+++ b/x', '@@ -1 +1 @@', '-one', '+1')).toBe(numbers.replace('one', '1'))
  })

  it('need no header if there is only one, and may be in a fence or between other marks', () => {
    expect(patched(numbers, '-two', '+2')).toContain('\n2\n')
    expect(patched(numbers, '```diff', '@@', '-two', '+2', '```')).toContain('\n2\n')
    expect(patched(numbers, '```', '@@', '-two', '+2')).toContain('\n2\n')
    expect(patched(numbers, '*** Begin Patch', '@@', '-two', '+2', '*** End Patch')).toContain('\n2\n')
  })

  it('take empty lines and lines without prefix as context', () => {
    const content = lines('a', '', 'b', '\tc')
    expect(patched(content, '@@', ' a', '', '-b', '+B', '\tc')).toBe(lines('a', '', 'B', '\tc'))
  })

  it('keep a line that begins with @@ but is no header', () => {
    expect(patched(lines('@@x = 1', 'y'), '@@', ' @@x = 1', '-y', '+z')).toBe(lines('@@x = 1', 'z'))
  })

  it('with only added lines are appended, with the blank lines between them', () => {
    expect(patched(numbers, '@@', '+six', '', '+seven', '')).toBe(`${numbers}six\n\nseven\n`)
    expect(patched('', '@@', '+a', '+b')).toBe('a\nb\n')
    expect(patched('a', '@@', '+b')).toBe('a\nb')
  })

  it('remove a range between at least two removed lines on each side', () => {
    const content = lines('[deps]', 'a = 1', 'b = 2', 'c = 3', 'd = 4', '', 'e = 5', '[end]')
    expect(patched(content, '@@', ' [deps]', '-a = 1', '-b = 2', '~', '-d = 4', '-', '+x = 9', ' e = 5')).toBe(
      lines('[deps]', 'x = 9', 'e = 5', '[end]'),
    )
    expect(patched(content, '@@', '-a  = 1', '-b = 2', '~', '-d = 4', '-e = 5', ' [end]')).toBe(
      lines('[deps]', '[end]'),
    )
  })

  it('use the nearest end of a range after its beginning', () => {
    const content = lines('x', 'y', 'a', 'b', 'm', 'x', 'y', 'n', 'x', 'y')
    expect(patched(content, '@@', '-a', '-b', '~', '-x', '-y')).toBe(lines('x', 'y', 'n', 'x', 'y'))
  })

  it('are refused for a range with too few removed lines, and if they add and remove nothing', () => {
    const cause = 'a ~ needs at least 2 removed lines directly before it and after it'
    expect(causes(numbers, '@@', '-one', '~', '-four', '-five')).toEqual([cause])
    expect(causes(numbers, '@@', '-one', '-two', '~', '-five')).toEqual([cause])
    expect(causes(numbers, '@@', '-one', ' two', '~', '-four', '-five')).toEqual([cause])
    expect(causes(numbers, '@@', ' one', ' two')).toEqual(['no line of it begins with + or -'])
  })

  it('that contain nothing are omitted', () => {
    expect(applyPatch(numbers, '@@\n\n@@\n')).toEqual({ content: numbers, hunkCount: 0, failures: [], doubts: [] })
    expect(applyPatch(numbers, 'just prose')).toMatchObject({ hunkCount: 0 })
  })
})

describe('a failing hunk', () => {
  it('is reported as written and does not stop the others', () => {
    const result = applyPatch(
      numbers,
      lines('@@', '-one', '+1', '@@ here', ' no', '-such line', '+x', '', '@@', '-five', '+5'),
    )
    expect(result).toEqual({
      content: lines('1', 'two', 'three', 'four', '5'),
      hunkCount: 3,
      doubts: [],
      failures: [{ body: '@@ here\n no\n-such line\n+x', cause: notFound }],
    })
  })

  it('may have lines that exist only separately, or an empty file', () => {
    expect(causes(numbers, '@@', ' one', '-three', '+3')).toEqual([notFound])
    expect(causes('', '@@', '-one', '+1')).toEqual([notFound])
    expect(
      causes(lines('function greet() {', '  return 1;', '}'), '@@', ' zzz_no_such_context_alpha', '-  return 9;', '+x'),
    ).toEqual([notFound])
  })
})

describe('the place of a hunk', () => {
  const twice = lines('begin a', 'x', 'end', 'begin b', 'x', 'end', 'begin c', 'x', 'end')

  it('is the first match after the previous hunk, otherwise the first in the file', () => {
    expect(patched(twice, '@@', '-x', '+1', '@@', '-x', '+2')).toBe(
      lines('begin a', '1', 'end', 'begin b', '2', 'end', 'begin c', 'x', 'end'),
    )
    expect(patched(twice, '@@', ' begin b', '-x', '+1', '@@', '-x', '+2')).toBe(
      lines('begin a', 'x', 'end', 'begin b', '1', 'end', 'begin c', '2', 'end'),
    )
    expect(patched(twice, '@@', ' begin c', '-x', '+1', '@@', '-x', '+2')).toBe(
      lines('begin a', '2', 'end', 'begin b', 'x', 'end', 'begin c', '1', 'end'),
    )
  })

  it('prefers an exact match anywhere to a loose one that is nearer', () => {
    expect(patched(lines('  x', 'y', 'x'), '@@', '-x', '+z')).toBe(lines('  x', 'y', 'z'))
  })

  it('may match the original file, or the result of earlier hunks', () => {
    expect(patched(numbers, '@@', ' one', '+new', '@@', ' one', ' two', '-three')).toBe(
      lines('one', 'new', 'two', 'four', 'five'),
    )
    expect(patched(numbers, '@@', ' one', '-two', '+2', '@@', ' 2', '-three', '+3')).toBe(
      lines('one', '2', '3', 'four', 'five'),
    )
  })

  it('is found when blank lines around the hunk are not in the file', () => {
    expect(patched(numbers, '@@', '', ' one', '-two', '+2', '', '', '@@', ' four', '+x')).toBe(
      lines('one', '2', 'three', 'four', 'x', 'five'),
    )
  })
})

describe('white space', () => {
  it('at both ends, in tabs and in runs is ignored for matching', () => {
    const content = lines('if (a) {', '\treturn  1  ', '}')
    expect(patched(content, '@@', ' if (a) {  ', '-  return 1', '+  return 2', ' }')).toBe(
      lines('if (a) {', '\treturn 2', '}'),
    )
  })

  it('of another kind is kept in unchanged lines, and is not added to new lines', () => {
    const content = 'price: 5\u00a0EUR\nname:\tx y\nend\u202f!\n'
    const price = patched(content, '@@', '-price: 5 EUR', '+price: 6 EUR net')
    expect(price).toBe(content.replace('5\u00a0EUR', '6\u00a0EUR net'))
    expect(patched(content, '@@', '-name: x y', '+name: x z', ' end !')).toBe(content.replace('x y', 'x z'))
    expect(patched(content, '@@', '-price: 5 EUR', '-name: x y', '+let a = 1')).toBe('let a = 1\nend\u202f!\n')
    expect(patched('\u00a0\u00a0a b\nc\n', '@@', '-  a b', '+  a d', ' c')).toBe('\u00a0\u00a0a d\nc\n')
  })

  it('and Unicode composition of unchanged lines are those of the file', () => {
    const [long, short] = ['cafe\u0301', 'caf\u00e9']
    const hunk = ['@@', ` ${short} a`, `-${short} b`, `+${short} c`]
    expect(patched(`${long} a\n${long} b\n`, ...hunk)).toBe(`${long} a\n${long} c\n`)
  })

  it.each([
    ['«a»\u00a0b 1', '"a" b 1', '"a" b 2', '«a»\u00a0b 2'],
    ['«\u00a0a\u00a0» b 1', '" a " b 1', '" a " b 2', '«\u00a0a\u00a0» b 2'],
    ['say “a”\u202fb – c 1', 'say "a" b - c 1', 'say "a" b - c 2 "d"', 'say “a”\u202fb – c 2 “d”'],
    ['a&nbsp;b &amp; c 1', 'a b & c 1', 'a b & c 2 & d', 'a&nbsp;b &amp; c 2 &amp; d'],
    ['x - y – z 1', 'x - y - z 1', 'x - y - z 2', 'x - y – z 2'],
    ['«cafe\u0301»\u00a0b 1', '"caf\u00e9" b 1', '"caf\u00e9" b 2', '«cafe\u0301»\u00a0b 2'],
  ])('is ignored together with quotes, dashes and entities: %s', (line, before, after, expected) => {
    for (const tolerance of ['letters', 'marks'] as const) {
      const result = applyPatch(`${line}\nend\n`, lines('@@', `-${before}`, `+${after}`, ' end'), tolerance)
      expect(result).toMatchObject({ content: `${expected}\nend\n`, failures: [] })
    }
  })

  it('of context is kept as it is in the file', () => {
    expect(patched(lines('a  b', '  c'), '@@', ' a b', '-c', '+d')).toBe(lines('a  b', '  d'))
  })

  it('of added lines becomes that of the file', () => {
    const deep = lines('class A {', '    f() {', '        one()', '        two()', '    }', '}')
    expect(patched(deep, '@@', ' f() {', '-    one()', '+    if (x) {', '+        one()', '+    }', '     two()')).toBe(
      lines(
        'class A {',
        '    f() {',
        '        if (x) {',
        '            one()',
        '        }',
        '        two()',
        '    }',
        '}',
      ),
    )
    const flat = lines('f() {', '  one()', '}')
    expect(patched(flat, '@@', '     f() {', '-      one()', '+      two()', '+        three()', '     }')).toBe(
      lines('f() {', '  two()', '    three()', '}'),
    )
  })

  it('of added lines becomes tabs in a file with tabs and blanks in one with blanks', () => {
    const tabs = lines('a:', '\tb:', '\t\tc', '\td')
    expect(patched(tabs, '@@', ' a:', '   b:', '-    c', '+    c:', '+      e', '   d')).toBe(
      lines('a:', '\tb:', '\t\tc:', '\t\t\te', '\td'),
    )
    const blanks = lines('a:', '  b:', '    c')
    expect(patched(blanks, '@@', ' a:', ' \tb:', '-\t\tc', '+\t\tc:', '+\t\t\te')).toBe(
      lines('a:', '  b:', '    c:', '      e'),
    )
  })

  it('in whole lines is ignored: blank lines that only one of both has', () => {
    const content = lines('a', '', '', 'b', 'c')
    expect(patched(content, '@@', ' a', ' b', '-c', '+C')).toBe(lines('a', '', '', 'b', 'C'))
    expect(patched(lines('a', 'b', 'c'), '@@', ' a', '', ' b', '-c', '+C')).toBe(lines('a', 'b', 'C'))
    expect(patched(lines('x', 'a', '', 'b', 'y'), '@@', ' x', '-a', '-b', '+c')).toBe(lines('x', 'c', 'y'))
  })

  it('between added lines is added even if its + is missing', () => {
    expect(patched(lines('a', 'b'), '@@', ' a', '+one', '', '+two', ' b')).toBe(lines('a', 'one', '', 'two', 'b'))
  })

  it('alone can be removed', () => {
    expect(patched(lines('a', '', 'b'), '@@', ' a', '-', ' b')).toBe(lines('a', 'b'))
  })
})

describe('loose matches', () => {
  it('ignore case and punctuation', () => {
    const content = lines('# The Title.', 'uses `process_stage` here;', 'end')
    expect(patched(content, '@@', ' # the title', '-uses process_stage here', '+uses nothing here', ' end')).toBe(
      lines('# The Title.', 'uses nothing here', 'end'),
    )
  })

  it('do not confuse different brackets', () => {
    expect(causes(lines('[', ']'), '@@', ' {', '+x', ' }')).toEqual([notFound])
  })

  it('accept similar lines if there is only one such place', () => {
    const content = lines('const alpha = 1', 'function calculateTheTotal(items) {', '  return sum(items)', '}')
    expect(
      patched(
        content,
        '@@',
        ' function calculateTotal(items) {',
        '-  return sum(items)',
        '+  return sum(items, 0)',
        ' }',
      ),
    ).toBe(lines('const alpha = 1', 'function calculateTheTotal(items) {', '  return sum(items, 0)', '}'))
  })

  it('accept a context line that is truncated at its start', () => {
    const content = lines('pub fn initialize_connection(config) {', '  let pool = create(config)', '}')
    expect(
      patched(content, '@@', ' initialize_connection(config) {', '-  let pool = create(config)', '+  let pool = x'),
    ).toBe(lines('pub fn initialize_connection(config) {', '  let pool = x', '}'))
  })

  it('are refused when several places match equally', () => {
    const content = lines('Some Text Here', 'x', 'some text: here', 'x')
    expect(causes(content, '@@', '-some text here', '+y')).toEqual([
      'its lines are not in the file exactly, and several places are similar',
    ])
  })

  it('never remove a line with different numbers', () => {
    expect(
      causes(
        lines('const userNameOfTheFirst = getUserName(1)'),
        '@@',
        '-const userNameOfTheFirst = getUserName(2)',
        '+x',
      ),
    ).toEqual([notFound])
  })

  it('are searched within 1,000 lines from the previous hunk', () => {
    const file = (distance: number): string =>
      lines('first', ...Array.from({ length: distance }, (_, n) => `l${n}`), 'The Last!')
    const patch = ['@@', '-first', '+1', '@@', '-the last', '+2'] as const
    expect(patched(file(999), ...patch)).toMatch(/l998\n2\n$/)
    expect(causes(file(1001), ...patch)).toEqual([notFound])
  })
})

describe('line breaks', () => {
  it('of Windows are kept, also in added lines', () => {
    expect(patched('a\r\nb\r\nc\r\n', '@@', ' a', '-b', '+B', '+BB')).toBe('a\r\nB\r\nBB\r\nc\r\n')
    expect(applyPatch('a\nb\n', '@@\r\n a\r\n-b\r\n+c\r\n').content).toBe('a\nc\n')
  })

  it('stay mixed in mixed files', () => {
    expect(patched('a\r\nb\nc\r\nd\r\n', '@@', '-c', '+C')).toBe('a\r\nb\nC\r\nd\r\n')
  })

  it('at the end stay missing', () => {
    expect(patched('a\nb', '@@', '-b', '+c')).toBe('a\nc')
    expect(patched('a\nb', '@@', '-a', '+c')).toBe('c\nb')
    expect(patched('a\nb', '@@', ' b', '+c')).toBe('a\nb\nc')
    expect(patched('a\nb', '@@', '-b')).toBe('a')
  })

  it('at the end change when the patch says so', () => {
    expect(patched('a\nb', '@@', '-b', '\\ No newline at end of file', '+b')).toBe('a\nb\n')
    expect(patched('a\nb\n', '@@', '-b', '+b', '\\ No newline at end of file')).toBe('a\nb')
  })

  it('are preserved with a byte order mark', () => {
    expect(patched('\uFEFFa\nb\n', '@@', '-a', '+c')).toBe('\uFEFFc\nb\n')
  })

  it('of all lines may be removed', () => {
    expect(patched('a\n', '@@', '-a')).toBe('')
  })
})

describe('large and strange files', () => {
  const large = Array.from({ length: 50_000 }, (_, n) => `line ${n}${n % 10 === 0 ? '' : ' of many'}`)

  it('are patched with many hunks, exact and loose ones', () => {
    const exact = Array.from({ length: 100 }, (_, n) => ['@@', ` line ${n * 150}`, `+after ${n * 150}`]).flat()
    const loose = Array.from({ length: 10 }, (_, n) => [
      '@@',
      `   line ${n * 1500 + 10}`,
      `+next ${n * 1500 + 10}`,
    ]).flat()
    const result = patched(lines(...large), ...exact, ...loose).split('\n')
    expect(result).toHaveLength(50_111)
    expect(result[result.indexOf('line 14850') + 1]).toBe('after 14850')
    expect(result[result.indexOf('line 13510') + 1]).toBe('next 13510')
  })

  it('are searched in linear time when all lines are equal', () => {
    const same = Array.from({ length: 50_000 }, () => 'x')
    const context = Array.from({ length: 10_000 }, () => ' x')
    expect(causes(lines(...same), '@@', ...context, '-y')).toEqual([notFound])
    expect(causes(lines(...same), '@@', '-x', '-x', '~', '-x', '-y')).toEqual([notFound])
  })

  it('may contain any Unicode', () => {
    expect(patched(lines('Grüße 👋', '日本語'), '@@', ' Grüße 👋', '-日本語', '+中文 𝒳')).toBe(
      lines('Grüße 👋', '中文 𝒳'),
    )
  })
})

describe('the example of the instruction', () => {
  it('applies to the file it describes', () => {
    const patch = parseChanges(fileChangesInstruction).directives.find(({ kind }) => kind === 'Patch')
    if (patch?.kind !== 'Patch') throw new Error('there is no patch')
    const main = lines(
      "import { start } from './start.ts'",
      '',
      'export function main(): void {',
      "  print('hello')",
      '  start()',
      '}',
    )
    expect(applyPatch(main, patch.content)).toMatchObject({
      failures: [],
      content: lines(
        "import { start } from './start.ts'",
        "import { greeting } from './greeting.ts'",
        '',
        'export function main(): void {',
        '  print(greeting)',
        '  start()',
        '}',
      ),
    })
  })
})

describe('a hunk whose lines occur in several places', () => {
  const twins = lines('def a():', '    x = 1', '    return x', '', 'def b():', '    x = 1', '    return x')
  const change = ['-    x = 1', '+    x = 2'] as const
  const inA = twins.replace('x = 1', 'x = 2')
  const inB = twins.replace(/x = 1(?=[^=]*$)/, 'x = 2')

  function result(content: string, ...patch: readonly string[]): { content: string; doubts: readonly string[] } {
    const { content: changed, doubts, failures } = applyPatch(content, lines(...patch))
    expect(failures).toEqual([])
    return { content: changed, doubts }
  }

  it.each([
    ['@@ -6,1 +6,1 @@', inB],
    ['@@ -2 +2 @@', inA],
    ['@@ -6 @@', inB],
    ['@@ -2,1 +2,1 @@ def a():', inA],
    ['@@ def b():', inB],
    ['@@ def b(): @@', inB],
    ['@@  def  b', inB],
    ['@@ def a():', inA],
    ['@@ -90,1 +90,1 @@ def b():', inB],
    ['@@ -2,1 +2,1 @@ def b():', inB],
  ])('is applied at the place in its header: %s', (header, expected) => {
    expect(result(twins, header, ...change)).toEqual({ content: expected, doubts: [] })
  })

  it('is counted from its first line, which may be a blank one that the file lacks', () => {
    expect(result(twins, '@@ -5,2 +5,2 @@', ' def b():', ...change).content).toBe(inB)
    const blank = lines('x', 'y', '', 'x', 'y')
    expect(result(blank, '@@ -3,2 +3,2 @@', ' ', '-x', '+z').content).toBe(lines('x', 'y', '', 'z', 'y'))
    expect(result(lines('x', 'y', 'x', 'y'), '@@ -2,2 +2,2 @@', ' ', '-x', '+z').content).toBe(
      lines('x', 'y', 'z', 'y'),
    )
  })

  it('is applied below a heading even if nothing is indented', () => {
    const text = lines('# a', 'same', '# b', 'same', '# c', 'same')
    expect(result(text, '@@ # b', '-same', '+new')).toEqual({
      content: lines('# a', 'same', '# b', 'new', '# c', 'same'),
      doubts: [],
    })
  })

  it('is counted in the file before the hunks above it', () => {
    const patch = ['@@ -1,1 +1,3 @@', ' def a():', '+    y = 0', '+    z = 0', '@@ -6,1 +8,1 @@', ...change]
    expect(result(twins, ...patch)).toEqual({
      content: inB.replace('a():\n', 'a():\n    y = 0\n    z = 0\n'),
      doubts: [],
    })
  })

  it.each([
    ['@@', inA, 2, 6],
    ['@@ somewhere else', inA, 2, 6],
    ['@@ -1,1 +1,1 @@', inA, 2, 6],
    ['@@ -7,1 +7,1 @@', inB, 6, 2],
  ])('is applied to the first, or the nearest, with a note about the others: %s', (header, expected, at, other) => {
    expect(result(twins, header, ...change)).toEqual({
      content: expected,
      doubts: [`a hunk was applied at line ${at}, but fits at line ${other} as well`],
    })
  })

  it('names some of many places, including those that differ only in white space', () => {
    const many = lines(...Array.from({ length: 9 }, () => 'x  = 1'))
    expect(result(many, '@@', '-x = 1', '+x = 2').doubts).toEqual([
      'a hunk was applied at line 1, but fits at lines 2, 3, 4, 5, 6 and 3 more as well',
    ])
  })

  it('is unambiguous when a hunk before it determines the place, or each place has its hunk', () => {
    expect(result(twins, '@@', '-def b():', '+def c():', '@@', ...change).doubts).toEqual([])
    expect(result(twins, '@@', ...change, '@@', ...change)).toEqual({
      content: twins.replaceAll('x = 1', 'x = 2'),
      doubts: [],
    })
  })
})
