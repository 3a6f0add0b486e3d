import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

interface Row {
  /** `R12` or `TV3`. */
  readonly number: string
  readonly about: string
  readonly status: string
}

const page = readFileSync(join(root, 'docs/requirements.md'), 'utf8')
const rows = [...page.matchAll(/^\| ((?:R|TV)\d+) \| (.*?) \| (.*) \|$/gm)].map(
  ([, number = '', about = '', status = '']): Row => ({ number, about, status }),
)

const otherForms = [/^overruled: (?!D\d|DESIGN)\S/, /^not yet: (?!issue)\S/, /^not ours: \S/]

interface NamedTest {
  readonly file: string
  readonly title: string
}

/** The parts of a status, without `test: ` for tests; undefined if one has none of the known forms. */
function readStatus(status: string): { readonly tests: readonly NamedTest[]; readonly others: number } | undefined {
  const parts = status.split(/; (?=(?:test|overruled|not yet|not ours): )/)
  const tests = parts.flatMap((part): readonly NamedTest[] => {
    const [, file, title] = /^test: (test\/[\w/.-]+\.ts) › (\S.*)$/.exec(part) ?? []
    return file === undefined || title === undefined ? [] : [{ file, title }]
  })
  const others = parts.filter((part) => otherForms.some((form) => form.test(part))).length
  // tests come first, so that what is said about the rest follows them
  const isOrdered = parts.slice(0, tests.length).every((part) => part.startsWith('test: '))
  return isOrdered && tests.length + others === parts.length ? { tests, others } : undefined
}

function namedTests(status: string): readonly NamedTest[] {
  return readStatus(status)?.tests ?? []
}

const quoted = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/.source
const caller = /\b(it|test|describe)((?:\.\w+)*)(?=[(<])/.source
const never = /\.(?:skip|todo)\b/
const maybe = /\.(?:skipIf|runIf)\b/

/** Whether a test runs always, or only where the machine has what it needs. */
type Runs = 'always' | 'sometimes'

/**
 * The titles of the tests of a file as in its source, in which `%s` stays. Groups are no tests, and skipped tests do
 * not count, wherever that is said.
 */
function titlesIn(source: string): ReadonlyMap<string, Runs> {
  const titles = new Map<string, Runs>()
  const skipped = groupsIn(source, never)
  const conditional = groupsIn(source, maybe)
  // a title directly follows its caller, or the `)` that ends the table of `each`
  const parts = new RegExp(`${caller}|(?:(?<=\\b(?:it|test))|\\))\\(\\s*(?:${quoted})`, 'g')
  let runs: Runs | undefined
  for (const { index, 0: _, 1: name, 2: modifiers = '', 3: single, 4: double, 5: template } of source.matchAll(parts)) {
    const title = single ?? double ?? template
    const isIn = (groups: readonly Group[]): boolean => groups.some(({ from, to }) => from < index && index < to)
    if (name !== undefined) {
      const counts = name !== 'describe' && !never.test(modifiers) && !isIn(skipped)
      runs = counts ? (maybe.test(modifiers) || isIn(conditional) ? 'sometimes' : 'always') : undefined
    } else if (runs !== undefined && title !== undefined) {
      titles.set(title.replaceAll(/\\(.)/g, '$1'), runs)
      runs = undefined
    }
  }
  return titles
}

interface Group {
  readonly from: number
  readonly to: number
}

/** The groups with such a modifier. A group ends at the first `})` that is indented like its start. */
function groupsIn(source: string, modifier: RegExp): readonly Group[] {
  return [...source.matchAll(/^( *)describe((?:\.\w+)+)/gm)].flatMap(({ index, 1: indent = '', 2: modifiers = '' }) => {
    if (!modifier.test(modifiers)) return []
    const end = source.indexOf(`\n${indent}})`, index)
    return [{ from: index, to: end === -1 ? source.length : end }]
  })
}

function numbers(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`)
}

describe('titlesIn', () => {
  it('finds the titles of tests in every form of call, and no others', () => {
    const source = [
      "describe('group', () => {",
      "it('plain', f)",
      'test("double", f)',
      'it(`template ${x}`, f)',
      "it('it\\'s', f)",
      "it(\n  'on its own line',\n  f,\n)",
      "it.each([['a', f(1)]] as const)('each %s', () => f(2)('inside'))",
      "it.each<[string]>([['x']])(\n'typed %s', f)",
      "it.runIf(g('x'))('when it can', f)",
      "it.skip('skipped', f)",
      "describe.each([1])('groups %s', f)",
      "expect(g)('not a title')",
      "describe.skip('a group', () => {\n  describe('in it', () => {\n    it('is skipped', f)\n  })\n})",
      "describe.skipIf(g(1))('a group', () => {\n  it('where it can', f)\n  it.skip('not here either', f)\n})",
      "it('behind it', f)",
    ].join('\n')
    expect([...titlesIn(source)]).toEqual([
      ['plain', 'always'],
      ['double', 'always'],
      ['template ${x}', 'always'],
      ["it's", 'always'],
      ['on its own line', 'always'],
      ['each %s', 'always'],
      ['typed %s', 'always'],
      ['when it can', 'sometimes'],
      ['where it can', 'sometimes'],
      ['behind it', 'always'],
    ])
  })
})

describe('docs/requirements.md', () => {
  it('has every requirement and every vector once, in order', () => {
    expect(rows.map(({ number }) => number)).toEqual([...numbers('R', 318), ...numbers('TV', 40)])
  })

  it('says of each what it is about, and its status in one of the known forms', () => {
    const wrong = rows.filter(({ about, status }) => about === '' || readStatus(status) === undefined)
    expect(wrong).toEqual([])
  })

  it('knows a status by its parts: tests first, then what is overruled or missing', () => {
    const test = 'test: test/a.test.ts › it works; and more'
    expect(readStatus(test)).toEqual({ tests: [{ file: 'test/a.test.ts', title: 'it works; and more' }], others: 0 })
    expect(readStatus(`${test}; ${test}; overruled: no; not yet: this`)).toMatchObject({ tests: [{}, {}], others: 2 })
    for (const wrong of ['', 'done', 'not yet: issue X', 'overruled: D31', `not yet: this; ${test}`, 'test: a › b']) {
      expect(readStatus(wrong), wrong).toBeUndefined()
    }
  })

  /** How each test that a row names runs; undefined: there is no such test. */
  function runsOf(status: string): readonly (readonly [NamedTest, Runs | undefined])[] {
    return namedTests(status).map((test) => {
      const { file, title } = test
      if (!existsSync(join(root, file))) return [test, undefined]
      const known = titles.get(file) ?? titlesIn(readFileSync(join(root, file), 'utf8'))
      titles.set(file, known)
      return [test, known.get(title)]
    })
  }
  const titles = new Map<string, ReadonlyMap<string, Runs>>()

  it('names tests that exist', () => {
    const missing = rows.flatMap(({ number, status }) =>
      runsOf(status).flatMap(([{ file, title }, runs]) =>
        runs === undefined ? [`${number}: ${file} › ${title}`] : [],
      ),
    )
    expect(missing).toEqual([])
  })

  it('says what the tests of a row need, if none of them runs everywhere', () => {
    const needing = rows.filter(({ status }) => {
      const all = runsOf(status).map(([, runs]) => runs)
      return all.length > 0 && !all.includes('always')
    })
    expect(rows.filter(({ about }) => /\(needs [\w ]+\)$/.test(about))).toEqual(needing)
  })
})
