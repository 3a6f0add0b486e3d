import { describe, expect, it } from 'vitest'
import { pathText, quotedPath, type DataSource, type DataText } from '../../src/base/data-text.ts'
import { isBatonError } from '../../src/base/error.ts'
import { parseToml } from '../../src/base/toml.ts'
import { parseYaml } from '../../src/base/yaml.ts'

const readers = { toml: parseToml, yaml: parseYaml }
type Language = keyof typeof readers

function sourceOf(block: string, firstLine = 1): DataSource {
  const text = `${'above\n'.repeat(firstLine - 1)}${block}\n`
  return { file: 'x.md', text, block, firstLine, what: 'the block', code: 'CONFIG_INVALID' }
}

function read(language: Language, block: string, firstLine?: number): Promise<DataText> {
  return readers[language](sourceOf(block, firstLine))
}

/** `line:column message` of the error that parsing reports. */
async function failure(language: Language, block: string, firstLine?: number): Promise<string> {
  const error: unknown = await read(language, block, firstLine).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isBatonError(error)) return `no BatonError but ${String(error)}`
  expect(error.hint, 'every error says what to do').toMatch(/\.$/)
  return `${error.place?.line}:${error.place?.column} ${error.message}`
}

async function position(data: DataText, path: readonly (string | number)[], part?: 'key' | 'value'): Promise<string> {
  const found = await data.locate(path, part)
  return found === undefined ? 'nowhere' : `${found.line}:${found.column}`
}

describe('TOML', () => {
  it('is refused at its place when its keys are too deep', async () => {
    const keys = (levels: number): string => 'a.'.repeat(levels) + 'a'
    expect(await failure('toml', `${keys(150)} = 1`)).toBe('1:7 the block nests a.a.a.a deeper than 100 levels')
    expect(await failure('toml', `${keys(200_000)} = 1`)).toBe('1:1 the block is nested deeper than 100 levels')
    expect(await failure('toml', `[${keys(200_000)}]\nb = 1`, 3)).toBe('3:1 the block is nested deeper than 100 levels')
  })

  it('becomes plain JSON data, with dates as text', async () => {
    const { data } = await read(
      'toml',
      'a = 1\nb = 1.5\nc = [true, "x"]\nd = 1979-05-27\ne = 07:32:00\nf = 1979-05-27T07:32:00Z\n[g.h]\ni = {j = ""}',
    )
    expect(data).toStrictEqual({
      a: 1,
      b: 1.5,
      c: [true, 'x'],
      d: '1979-05-27',
      e: '07:32:00',
      f: '1979-05-27T07:32:00Z',
      g: { h: { i: { j: '' } } },
    })
  })

  it('reads a byte order mark, tabs and CRLF', async () => {
    const { data } = await read('toml', '\uFEFF\ta\t=\t1\r\nb = "x"\r\n')
    expect(data).toStrictEqual({ a: 1, b: 'x' })
  })

  it.each([
    ['a = ', '1:5 the block is not valid TOML: invalid value'],
    ['a = 1\r\na = 2', '2:1 the block is not valid TOML: trying to redefine an already defined table or value'],
    ['a = 9007199254740993', '1:5 the block is not valid TOML: integer value cannot be represented losslessly'],
    ['a = [1, nan]', '1:9 the block sets a[1] to a value that is not a number (nan or inf)'],
    ['[b]\na = -inf', '2:1 the block sets b.a to a value that is not a number (nan or inf)'],
    ['[a]\n"__proto__" = 1', '2:1 the block has a key "__proto__", which cannot be used'],
    ['\ta = "x', '1:6 the block is not valid TOML: unfinished string'],
    ['a = 2024-13-45', '1:5 the block is not valid TOML: invalid date'],
    [`a = ${'['.repeat(500)}${']'.repeat(500)}`, '1:8 the block nests a[0][0][0] deeper than 100 levels'],
  ])('refuses %.40j with line and column', async (block, message) => {
    expect(await failure('toml', block)).toBe(message)
  })

  it.each([
    ['write_mode = tru', 'Write true or false.'],
    ['write_mode = True', 'Write true or false.'],
    ['write_mode = yes', 'Write true or false.'],
    ['model = nil', 'TOML has no such value: remove the key.'],
    ['model =', 'Write a value after the =, or remove the key.'],
    [
      'temperature = .5',
      'Write a number like 10, 0.5 or 1e6: with a digit on each side of the point and no leading zero.',
    ],
    [
      'temperature = 0,5',
      'Write a number like 10, 0.5 or 1e6: with a digit on each side of the point and no leading zero.',
    ],
    ['model = gpt-5-mini # cheap', 'Put text in quotes: model = "gpt-5-mini".'],
    ['model = “gpt-5-mini”', 'Put text in quotes: model = "gpt-5-mini".'],
    ['globs = [‘src/*.ts’, "b"]', 'Put text in quotes: "src/*.ts".'],
    ['globs = [src/*.ts, "b"]', 'Put text in quotes: "src/*.ts".'],
    ['day = 2026-13-45', 'Write a date as 2026-11-22 or 2026-11-22T10:30:00Z, or put it in quotes.'],
  ])('suggests a correction for %j', async (line, hint) => {
    await expect(read('toml', `a = 1\n${line}\n`)).rejects.toMatchObject({ hint })
  })

  it('counts lines in the whole file', async () => {
    expect(await failure('toml', 'a = 1\nb = ', 12)).toBe('13:5 the block is not valid TOML: invalid value')
  })

  it('finds keys and values in tables, inline tables, lists and dotted keys', async () => {
    const data = await read('toml', 'a.b = 1\nc = [1, {d = "x"}]\n[e.f]\n"g h" = 2\n[[i]]\nj = 1\n[[i]]\nj = 2', 3)
    expect(await position(data, ['a', 'b'])).toBe('3:3')
    expect(await position(data, ['a', 'b'], 'value')).toBe('3:7')
    expect(await position(data, ['c', 1, 'd'], 'value')).toBe('4:14')
    expect(await position(data, ['e', 'f', 'g h'])).toBe('6:1')
    expect(await position(data, ['i', 1, 'j'])).toBe('10:1')
  })

  it('locates the nearest existing parent of a missing path', async () => {
    const data = await read('toml', 'x = 1\n[a]\nb = [1]')
    expect(await position(data, ['a', 'b', 7, 'c'])).toBe('3:1')
    expect(await position(data, ['a', 'q'])).toBe('2:2')
    expect(await position(data, ['nothing'])).toBe('nowhere')
  })
})

describe('YAML', () => {
  it('becomes plain JSON data by the core schema', async () => {
    const { data } = await read('yaml', 'a: 1\nb: 0x10\nc: [yes, true, ~]\nd: 2024-01-01\ne: |\n  x\n  y\nf: {1: z}\n')
    expect(data).toStrictEqual({ a: 1, b: 16, c: ['yes', true, null], d: '2024-01-01', e: 'x\ny\n', f: { '1': 'z' } })
  })

  it('treats empty text as an empty mapping', async () => {
    expect((await read('yaml', '')).data).toStrictEqual({})
    expect((await read('yaml', '# only a comment\n')).data).toStrictEqual({})
  })

  it('expands aliases as copies', async () => {
    const { data } = await read('yaml', 'a: &x [1]\nb: *x')
    expect(data).toStrictEqual({ a: [1], b: [1] })
  })

  it.each([
    ['a: 1\na: 2', '2:1 the block has the key "a" twice'],
    ['a: 1\n---\nb: 2', '2:1 the block is not valid YAML: it contains more than one document'],
    ['- 1', '1:1 the block must be a list of keys with values'],
    ['just text', '1:1 the block must be a list of keys with values'],
    ['a: !thing 1', '1:4 the block is not valid YAML: Unresolved tag: !thing'],
    ['a: !!binary aGk=', '1:13 the block uses the tag tag:yaml.org,2002:binary, which is not supported'],
    ['a: *b', '1:4 the block has an alias *b without an anchor before it'],
    ['a: &b [*b]', '1:7 the block nests values deeper than 100 levels'],
    ['<<: {a: 1}', '1:1 the block uses a merge key (<<), which is not supported'],
    ['? [a]\n: 1', '1:3 the block has a key that is not text'],
    ['b: .nan', '1:4 the block has a value that is not a number (nan or inf)'],
    [
      'b: 12345678901234567890',
      '1:4 the block has an integer that cannot be represented exactly: 12345678901234567890',
    ],
    ['__proto__: 1', '1:1 the block has a key "__proto__", which cannot be used'],
    ['\ta: 1', '1:1 the block is not valid YAML: Tabs are not allowed as indentation'],
  ])('refuses %.40j with line and column', async (block, message) => {
    expect(await failure('yaml', block)).toBe(message)
  })

  it('refuses aliases that add too many values', async () => {
    const levels = 'bcdefgh'.split('').map((name, index) => `${name}: &${name} [${`*${'abcdefg'[index]}, `.repeat(9)}]`)
    expect(await failure('yaml', `a: &a [1, 2, 3]\n${levels.join('\n')}`)).toMatch(/repeats too much through aliases/)
  })

  it('refuses nesting that would exhaust the stack', async () => {
    expect(await failure('yaml', `a: ${'['.repeat(20_000)}`)).toMatch(/^1:\d+ the block is nested too deeply$/)
  })

  it('finds keys and values, also in the middle of a file', async () => {
    const data = await read('yaml', 'a:\n  b: x\nc:\n  - 1\n  - d: y', 3)
    expect(await position(data, ['a', 'b'])).toBe('4:3')
    expect(await position(data, ['a', 'b'], 'value')).toBe('4:6')
    expect(await position(data, ['c', 1, 'd'], 'value')).toBe('7:8')
    expect(await position(data, ['c', 9])).toBe('5:1')
  })
})

it('paths are written in the usual notation', () => {
  expect(pathText(['lua', 'timeout'])).toBe('lua.timeout')
  expect(pathText(['sub_agents', 1, 'a b'])).toBe('sub_agents[1]."a b"')
  expect(quotedPath(['lua', 'timeout'])).toBe('"lua.timeout"')
  expect(quotedPath(['model_aliases', 'a b'])).toBe('model_aliases."a b"')
})
