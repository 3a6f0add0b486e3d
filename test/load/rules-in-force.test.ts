import { describe, expect, it } from 'vitest'
import { isJsonObject, type JsonObject } from '../../src/base/json.ts'
import { type PermissionRule, rulesOf } from '../../src/config/permission-rules.ts'
import { judgeCall } from '../../src/load/rules-in-force.ts'
import { ruleProblems } from '../../src/load/rule-problems.ts'
import { subjectKind, toolNames } from '../../src/tool/toolbox/rows.ts'

type Table = readonly [file: string, table: JsonObject, trusted?: 'trusted']

/** The rules of files, one per line. */
function files(...tables: readonly Table[]): readonly PermissionRule[] {
  return tables.flatMap(([file, table, trusted]): readonly PermissionRule[] => {
    const tightens = file !== 'mine' && trusted === undefined
    return rulesOf(table, { origin: file, tightens }).map((rule, index) => ({
      ...rule,
      origin: `${file}:${index + 1}`,
    }))
  })
}

describe('the rule that decides about a call', () => {
  const permission = files(
    ['mine', { bash: { 'npm *': 'allow', 'npm publish*': 'deny' }, webfetch: { '*.a.example': 'allow' } }],
    ['mine', { mcp: { 'github__*': 'allow' }, github__create: 'deny' }],
    ['baton.toml', { bash: { 'npm test*': 'ask' } }],
  )
  const judged = async (asked: string): Promise<string> => {
    const { verdict, doubt = '', parts } = await judgeCall(asked, { settings: { permission }, workspace: '/w' })
    return `${verdict} ${doubt} ${parts.map(({ about, rule }) => `[${about}: ${rule.key} ${rule.origin}]`).join('')}`
  }

  it.each([
    ['todo', 'allow  [: permission.todo default]'],
    ['bash', 'ask  [: permission."*" default]'],
    ['bash npm i', 'allow  [npm i: permission.bash."npm *" mine:1]'],
    ['  bash   npm i ', 'allow  [npm i: permission.bash."npm *" mine:1]'],
    [
      'bash npm i && npm test -u',
      'ask  [npm i: permission.bash."npm *" mine:1][npm test -u: permission.bash."npm test*" baton.toml:1, only where it is stricter]',
    ],
    ['bash npm i > x', 'ask a redirect into a file [npm i: permission."*" default]'],
    ['bash npm $X', 'ask  [npm …: permission.bash."npm publish*" mine:2]'],
    ['webfetch https://x.a.example/y?z', 'allow  [https://x.a.example/y?z: permission.webfetch."*.a.example" mine:3]'],
    ['webfetch x.a.example', 'allow  [x.a.example: permission.webfetch."*.a.example" mine:3]'],
    ['server__tool', 'ask  [: permission."*" default]'],
    ['github__read', 'allow  [: permission.mcp."github__*" mine:1]'],
    ['mcp github__create', 'deny  [: permission.github__create mine:2]'],
  ])('%s', async (asked, expected) => {
    expect((await judged(asked)).replace('permission.bash default', 'permission."*" default')).toBe(expected)
  })

  it('is looked up by the name of a tool', async () => {
    await expect(judged(' ')).rejects.toMatchObject({ code: 'USAGE' })
    await expect(judged('webfetch a b')).rejects.toMatchObject({ message: '"a b" is not a host' })
  })
})

it('tools that patterns can match name the subjects of their calls', async () => {
  const about = await Promise.all(
    toolNames.map(async (name) => {
      const module: unknown = await import(`../../src/tool/toolbox/${name.replaceAll('_', '-')}.ts`).catch(
        () => undefined,
      )
      const kinds = Object.values((module ?? {}) as Record<string, unknown>)
      const kind = kinds.find((one) => typeof one === 'object' && one !== null && 'name' in one && one.name === name)
      return kind === undefined ? undefined : ([name, 'subject' in (kind as object)] as const)
    }),
  )
  const known = about.filter((one) => one !== undefined)
  expect(known.length).toBeGreaterThan(0)
  expect(known).toEqual(known.map(([name]) => [name, subjectKind(name) !== undefined]))
})

describe('questionable rules', () => {
  const problems = (...tables: readonly Table[]): readonly string[] =>
    ruleProblems(files(...tables), '/w').map(
      ({ message, hint, place }) => `${place?.file}:${place?.line} ${message} | ${hint}`,
    )

  it('are searched among the first 300, which is reported', () => {
    const bash = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`run${index} x`, 'deny']))
    expect(problems(['mine', { bash }])).toEqual([
      'mine:301 only the first 300 rules of [permission] are compared with each other | All of them apply. Write fewer, more general ones.',
    ])
  })

  it('do not occur in the default rules', () => {
    const table = {
      read: { 'docs/**': 'ask', 'keys/**': 'deny', 'src/*': 'ask', 'src/**/*.pem': 'deny' },
      bash: { '*': 'ask', 'npm test*': 'allow', 'npm *': 'ask', 'git log *': 'allow' },
      webfetch: { 'a.example': 'allow', 'b.example': 'allow' },
      'server__*': 'ask',
      server__tool: 'allow',
      mcp: { 'github__*': 'allow', 'github__delete_*': 'deny' },
    }
    expect(isJsonObject(table)).toBe(true)
    expect(problems(['mine', { ...table, bash: { '*': 'ask', 'npm *': 'ask', 'npm test*': 'allow' } }])).toEqual([])
    expect(problems(['mine', { todo: 'ask' }], ['baton.toml', { todo: 'deny', bash: { 'rm *': 'deny' } }])).toEqual([])
    expect(problems(['mine', { todo: 'ask' }], ['baton.toml', { todo: 'allow' }, 'trusted'])).toEqual([])
  })

  it('are names of unknown tools', () => {
    expect(problems(['mine', { webftch: 'deny', 'x*': 'ask' }])).toEqual([
      'mine:1 [permission] names a tool "webftch", which does not exist | Did you mean "webfetch"?',
      expect.stringContaining('mine:2 [permission] names a tool "x*", which does not exist | Tools are '),
    ])
  })

  it('are patterns for tools without a subject, and patterns that cannot be parsed', () => {
    expect(problems(['mine', { todo: { x: 'deny' }, read: { 'a[': 'deny' } }])).toEqual([
      'mine:1 permission.todo.x = "deny" matches nothing: todo has no argument that patterns apply to | Write todo = "deny" for all of its calls.',
      expect.stringContaining('mine:2 permission.read."a[": the glob'),
    ])
  })

  it('are rules that a later one in the same file makes redundant', () => {
    const shadowed = (table: JsonObject): readonly string[] =>
      problems(['mine', table]).map((text) => /^mine:\d+ permission\.(.*) never decides/.exec(text)?.[1] ?? text)
    expect(shadowed({ read: { 'src/**': 'ask', '**': 'deny' } })).toEqual(['read."src/**" = "ask"'])
    expect(shadowed({ bash: { 'npm test': 'allow', 'npm *': 'deny' } })).toEqual(['bash."npm test" = "allow"'])
    expect(shadowed({ webfetch: { 'x.a.example': 'allow', '*.a.example': 'deny' } })).toEqual([
      'webfetch."x.a.example" = "allow"',
    ])
    expect(shadowed({ todo: 'allow', '*': 'deny' })).toEqual(['todo = "allow"'])
    expect(shadowed({ read: { 'src/**': 'allow', 'src/*': 'deny', '*.ts': 'ask' } })).toEqual([])
    expect(problems(['mine', { todo: 'allow' }], ['baton.toml', { todo: 'deny' }])).toEqual([])
  })

  it('are rules that open what is closed by default', () => {
    expect(problems(['mine', { read: 'allow' }])).toEqual([
      expect.stringMatching(
        /^mine:1 permission\.read = "allow" also covers what is denied by default: \S+ and \d+ more /,
      ),
    ])
    expect(problems(['mine', { read: { '~/notes/**': 'allow' } }], ['baton.toml', { grep: 'deny' }])).toEqual([])
  })

  it('are rules of a folder that apply only if it is trusted', () => {
    expect(
      problems(['mine', { bash: 'ask' }], ['baton.toml', { bash: { 'npm *': 'allow' }, webfetch: 'allow' }]),
    ).toEqual([
      'baton.toml:1 permission.bash."npm *" = "allow" changes nothing: a file that is not trusted only tightens, and permission.bash = "ask" (mine:1) is already as strict | Look at the file and run baton trust baton.toml, or remove the rule.',
      expect.stringContaining('baton.toml:2 permission.webfetch = "allow" changes nothing'),
    ])
    // it allows again what it denied
    expect(problems(['baton.toml', { read: { '**': 'deny', 'docs/**': 'allow' } }])).toEqual([])
  })

  it('are rules for tools of servers that match none, or that a later one overrides', () => {
    expect(problems(['mine', { github__x: { 'a*': 'allow' } }])).toEqual([
      'mine:1 permission.github__x."a*" = "allow" matches nothing: github__x has no argument that patterns apply to | Write github__x = "allow" for all of its calls.',
    ])
    expect(problems(['mine', { mcp: { github: 'allow' } }])).toEqual([
      'mine:1 permission.mcp.github = "allow" matches nothing: tools of servers are named server__tool | Write mcp."github__*" = "allow" for all tools of a server.',
    ])
    const never = (key: string, later: string): string =>
      `mine:1 ${key} never decides: ${later} (mine:2) comes later and matches the same calls | The last matching rule applies: put the general one first, or remove this one.`
    expect(problems(['mine', { github__x: 'allow', mcp: 'ask' }])).toEqual([
      never('permission.github__x = "allow"', 'permission.mcp = "ask"'),
    ])
    expect(problems(['mine', { mcp: { 'git__*': 'allow' }, 'mcp__git__*': 'ask' }])).toEqual([
      never('permission.mcp."git__*" = "allow"', 'permission."mcp__git__*" = "ask"'),
    ])
    // glob and grep do not belong to a server
    expect(problems(['mine', { glob: 'deny', mcp: { 'g*': 'allow' } }])).toEqual([])
  })
})
