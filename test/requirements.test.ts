import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseAst } from 'vitest/node'

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

/** Whether a test runs always, only where the machine has what it needs, or never. */
type Runs = 'always' | 'sometimes' | 'never'

/** A node of a syntax tree. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

interface Caller {
  /** Not a group of tests. */
  readonly isTest: boolean
  readonly runs: Runs
}

/** What `it`, `test` and `describe`, and the names that a file gives them, make of a test. */
type Callers = ReadonlyMap<string, Caller>

const vitestCallers: Callers = new Map([
  ['it', { isTest: true, runs: 'always' }],
  ['test', { isTest: true, runs: 'always' }],
  ['describe', { isTest: false, runs: 'always' }],
  ['suite', { isTest: false, runs: 'always' }],
])

/**
 * The titles of the tests of a file as in its source, in which `%s` and `${x}` stay. Skipped tests do not count, wherever
 * that is said: by a modifier, an option or a condition, of the test or of a group around it, or in the test itself.
 */
function titlesIn(source: string): ReadonlyMap<string, Runs> {
  const titles = new Map<string, Runs>()
  const program = parseAst(source, { lang: 'ts' }) as unknown as Node
  const callers = callersIn(program)

  function visit(node: Node, around: Runs): void {
    const called = node.type === 'CallExpression' ? calledBy(node, callers) : undefined
    let runs = node.type === 'IfStatement' || isCondition(node) ? least(around, 'sometimes') : around
    if (called !== undefined) {
      const { isTest, title } = called
      runs = least(runs, called.runs)
      if (isTest && runs !== 'never' && title !== undefined)
        titles.set(titleOf(title, source), skipsItself(node) ? 'sometimes' : runs)
    }
    for (const child of childrenOf(node)) visit(child, runs)
  }
  visit(program, 'always')
  return titles
}

/** The names under which a file calls tests and groups: `const itHere = hasIt ? it : it.skip`. */
function callersIn(program: Node): Callers {
  const callers = new Map(vitestCallers)
  for (const statement of program['body'] as readonly Node[]) {
    for (const { id, init } of (statement['declarations'] ?? []) as readonly { id: Node; init: Node | null }[]) {
      const caller = init === null ? undefined : callerOf(init, callers)
      if (caller !== undefined && typeof id['name'] === 'string') callers.set(id['name'], caller)
    }
  }
  return callers
}

/** These modifiers are called before the title is. */
const calledModifier = /^(?:each|for|skipIf|runIf)$/

/** What an expression such as `it.skipIf(x).each(table)` stands for. */
function callerOf(node: Node, callers: Callers): Caller | undefined {
  if (node.type === 'Identifier') return callers.get(String(node['name']))
  if (node.type === 'ConditionalExpression') {
    const [one, other] = [callerOf(node['consequent'] as Node, callers), callerOf(node['alternate'] as Node, callers)]
    return one === undefined || other === undefined ? undefined : { ...one, runs: 'sometimes' }
  }
  if (node.type === 'ParenthesizedExpression') return callerOf(node['expression'] as Node, callers)
  if (node.type === 'TaggedTemplateExpression') return callerOf(node['tag'] as Node, callers)
  if (node.type === 'CallExpression') {
    const callee = node['callee'] as Node
    return isModifier(callee) ? callerOf(callee, callers) : undefined
  }
  if (node.type !== 'MemberExpression') return undefined
  const caller = callerOf(node['object'] as Node, callers)
  const name = nameOf(node)
  const own: Runs = /^(?:skip|todo)$/.test(name) ? 'never' : /^(?:skipIf|runIf)$/.test(name) ? 'sometimes' : 'always'
  return caller === undefined ? undefined : { ...caller, runs: least(caller.runs, own) }
}

function isModifier(callee: Node): boolean {
  return callee.type === 'MemberExpression' && calledModifier.test(nameOf(callee))
}

function nameOf(member: Node): string {
  return String((member['property'] as Node)['name'])
}

/** A call that has a title; options may skip it. */
function calledBy(node: Node, callers: Callers) {
  const callee = node['callee'] as Node
  const caller = isModifier(callee) ? undefined : callerOf(callee, callers)
  if (caller === undefined) return undefined
  const [title, ...others] = node['arguments'] as readonly Node[]
  const options = others.filter(({ type }) => type === 'ObjectExpression')
  const runs = options.map(skippedBy).reduce(least, caller.runs)
  return { ...caller, runs, title }
}

function skippedBy(options: Node): Runs {
  const given = (options['properties'] as readonly Node[]).filter(
    ({ key }) => key !== undefined && /^(?:skip|todo)$/.test(String((key as Node)['name'])),
  )
  return given
    .map(({ value }): Runs => {
      const known = (value as Node)['value']
      return known === false ? 'always' : known === undefined ? 'sometimes' : 'never'
    })
    .reduce(least, 'always')
}

/** Whether the test calls `skip` of its context. */
function skipsItself(test: Node): boolean {
  return (test['arguments'] as readonly Node[]).slice(1).some((argument) => has(argument, isSkipCall))
}

function isSkipCall(node: Node): boolean {
  if (node.type !== 'CallExpression') return false
  const callee = node['callee'] as Node
  const isOfContext = callee.type === 'MemberExpression' && nameOf(callee) === 'skip'
  return (
    callee['name'] === 'skip' ||
    (isOfContext && /^(?:ctx|context|task)$/.test(String((callee['object'] as Node)['name'])))
  )
}

/** `isThere && it(…)`, `isThere ? it(…) : undefined`. */
function isCondition({ type }: Node): boolean {
  return type === 'ConditionalExpression' || type === 'LogicalExpression'
}

function least(one: Runs, other: Runs): Runs {
  if (one === 'never' || other === 'never') return 'never'
  return one === 'always' ? other : one
}

function titleOf(title: Node, source: string): string {
  return source.slice(title.start + 1, title.end - 1).replaceAll(/\\(.)/g, '$1')
}

function has(node: Node, isIt: (node: Node) => boolean): boolean {
  return isIt(node) || childrenOf(node).some((child) => has(child, isIt))
}

function childrenOf(node: Node): readonly Node[] {
  return Object.values(node)
    .flat()
    .filter((value): value is Node => typeof value === 'object' && value !== null && 'type' in value)
}

function numbers(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index + 1}`)
}

describe('titlesIn', () => {
  it('finds the titles of tests in every form of call, and nothing else', () => {
    const source = [
      "describe('group', () => {})",
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
      "describe.skipIf(g(1))(\n  'a group',\n  () => {\n    it('further in', f)\n  },\n)",
      "it('behind it', f)",
      "describe('a group', { skip: true }, () => it('skipped by an option', f))",
      "it('skipped by its option', { skip: true }, f)",
      "it('where its option lets it', { skip: !g(1), timeout: 1 }, f)",
      'const itHere = g(1) ? it : it.skip',
      "itHere('under another name', f)",
      'const group = describe.skip',
      "group('a group', () => it('skipped under another name', f))",
      ";(g(1) ? describe : describe.skip)('a group', () => it('in a group of one of two', f))",
      "if (g(1)) it('if that is so', f)",
      "if (g(1)) {\n  describe('a group', () => { for (const x of g(2)) it(`if that is so, ${x}`, f) })\n}",
      "it('that may skip itself', ({ skip }) => { if (g(1)) skip() })",
      "it('that may skip itself too', (context) => context.skip(g(1)))",
      "it.concurrent.skip('skipped, too', f)",
      "describe.skip.each([1])('a group', () => it('skipped in each', f))",
      "it.each`a\n${1}`('of a table', f)",
      "it('with a condition', () => expect(g(1) ? 1 : 2))",
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
      ['further in', 'sometimes'],
      ['behind it', 'always'],
      ['where its option lets it', 'sometimes'],
      ['under another name', 'sometimes'],
      ['in a group of one of two', 'sometimes'],
      ['if that is so', 'sometimes'],
      ['if that is so, ${x}', 'sometimes'],
      ['that may skip itself', 'sometimes'],
      ['that may skip itself too', 'sometimes'],
      ['of a table', 'always'],
      ['with a condition', 'always'],
    ])
  })
})

describe('docs/requirements.md', () => {
  it('contains every requirement and every vector once, in order', () => {
    expect(rows.map(({ number }) => number)).toEqual([...numbers('R', 318), ...numbers('TV', 40)])
  })

  it('has a description and a status in a known form for each number', () => {
    const wrong = rows.filter(({ about, status }) => about === '' || readStatus(status) === undefined)
    expect(wrong).toEqual([])
  })

  it('a status names tests first, then what is overruled or missing', () => {
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

  it('names only tests that exist', () => {
    const missing = rows.flatMap(({ number, status }) =>
      runsOf(status).flatMap(([{ file, title }, runs]) =>
        runs === undefined ? [`${number}: ${file} › ${title}`] : [],
      ),
    )
    expect(missing).toEqual([])
  })

  it('says what the tests of a row need if none of them runs everywhere', () => {
    const needing = rows.filter(({ status }) => {
      const all = runsOf(status).map(([, runs]) => runs)
      return all.length > 0 && !all.includes('always')
    })
    expect(rows.filter(({ about }) => /\(needs [\w ]+\)$/.test(about))).toEqual(needing)
  })
})
