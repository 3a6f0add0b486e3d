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

const otherForms = [/^overruled: (?!D\d|DESIGN)\S/, /^not yet: issue [J-P](?:, \S.*)?$/, /^not ours: \S/]

/** `test: FILE › TITLE`, several joined by `; `; undefined for any other form. */
function namedTests(status: string): readonly { readonly file: string; readonly title: string }[] | undefined {
  const parts = status.split(/; (?=test: )/).map((part) => /^test: (test\/[\w/.-]+\.ts) › (\S.*)$/.exec(part))
  if (parts.some((part) => part === null)) return undefined
  return parts.map((part) => ({ file: part?.[1] ?? '', title: part?.[2] ?? '' }))
}

const quoted = /'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/.source
const caller = /\b(it|test|describe)((?:\.\w+)*)(?=[(<])/.source

/** The titles of the tests of a file as in its source: `%s` stays; `describe` and skipped tests do not count. */
function titlesIn(source: string): ReadonlySet<string> {
  const titles = new Set<string>()
  // a title directly follows its caller, or the `)` that ends the table of `each`
  const parts = new RegExp(`${caller}|(?:(?<=\\b(?:it|test))|\\))\\(\\s*(?:${quoted})`, 'g')
  let isTest = false
  for (const [, name, modifiers = '', single, double, template] of source.matchAll(parts)) {
    const title = single ?? double ?? template
    if (name !== undefined) isTest = name !== 'describe' && !/\.(?:skip|todo|skipIf)\b/.test(modifiers)
    else if (isTest && title !== undefined) {
      titles.add(title.replaceAll(/\\(.)/g, '$1'))
      isTest = false
    }
  }
  return titles
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
    ].join('\n')
    const expected = [
      'plain',
      'double',
      'template ${x}',
      "it's",
      'on its own line',
      'each %s',
      'typed %s',
      'when it can',
    ]
    expect([...titlesIn(source)]).toEqual(expected)
  })
})

describe('docs/requirements.md', () => {
  it('has every requirement and every vector once, in order', () => {
    expect(rows.map(({ number }) => number)).toEqual([...numbers('R', 318), ...numbers('TV', 40)])
  })

  it('says of each what it is about, and its status in one of the known forms', () => {
    const wrong = rows.filter(
      ({ about, status }) =>
        about === '' || (namedTests(status) === undefined && !otherForms.some((form) => form.test(status))),
    )
    expect(wrong).toEqual([])
  })

  it('names tests that exist', () => {
    const titles = new Map<string, ReadonlySet<string>>()
    const missing = rows.flatMap(({ number, status }) =>
      (namedTests(status) ?? [])
        .filter(({ file, title }) => {
          if (!existsSync(join(root, file))) return true
          const known = titles.get(file) ?? titlesIn(readFileSync(join(root, file), 'utf8'))
          titles.set(file, known)
          return !known.has(title)
        })
        .map(({ file, title }) => `${number}: ${file} › ${title}`),
    )
    expect(missing).toEqual([])
  })
})
