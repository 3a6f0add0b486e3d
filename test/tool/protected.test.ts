import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { decidingKeys } from '../../src/settings/keys.ts'
import { strategies } from '../../src/settings/strategies.ts'
import { allRights } from '../../src/event/permission.ts'
import { maxSourceBytes, readSourceFile } from '../../src/base/files.ts'
import { createPermission } from '../../src/tool/permission.ts'
import { createJudge } from '../../src/tool/protected/answers.ts'
import { foldedName, nameProblem } from '../../src/tool/protected/names.ts'
import { isAgentPlace, isPromptFile, isPromptText } from '../../src/tool/protected/prompt-file.ts'
import { parsePrompt } from '../../src/prompt/document.ts'
import { narrow } from '../../src/event/context.ts'
import { makeLink, moveEntry } from '../../src/tool/workspace-files.ts'
import { testContext } from '../helpers/context.ts'
import { placeAt } from '../helpers/effects.ts'
import { tempTree } from '../helpers/temp.ts'

describe('prompt files', () => {
  it('are recognized by keys that front matter supports', () => {
    const found = [...Object.keys(strategies), 'sub_agents', 'agent', 'tools', 'permission', 'sandbox', 'write_mode']
    expect(found.filter((key) => !decidingKeys.includes(key))).toEqual([])
  })

  it.each<readonly [string, boolean]>([
    ['+++\nsub_agents = []\n+++\n', true],
    ['\uFEFF+++\r\nmodel = "x"\r\n+++\r\n', true],
    ['+++\n[iterate]\ncondition = "3"\n+++\n', true],
    ['+++\n[[workflow.step]]\nid = "a"\n+++\n', true],
    ['---\nmodel: x\n---\n', true],
    ['+++\ngate = "npm test"\n+++\n', true],
    ['---\ncontext_globs_post:\n  - a\n---\n', true],
    ['```toml\n#!meta\nx = 1\n```\n', true],
    ['+++\nmodel = "x"\n', true],
    ['+++\ntitle = "The model"\n[params]\nx = 1\n+++\nmodel = "x"\n', false],
    ['---\nbase_model: x\nmodel-index: []\n---\n', false],
    ['# Title\n\n+++\nmodel = "x"\n+++\n', false],
    ['```toml\nmodel = "x"\n```\n', false],
    ['', false],
  ])('%j: %s', (text, expected) => {
    expect(isPromptText(text)).toBe(expected)
  })

  /** Longer than any real comment. */
  const pad = ' '.repeat(70_000)

  it.each([
    '+++\n[ sandbox ]\nmode = "read-only"\n+++\n',
    '+++\n[[ workflow . step ]]\nid = "x"\n+++\n',
    '+++\n"mod\\u0065l" = "x"\n+++\n',
    '+++\n[ "sand\\u0062ox" ]\nx = 1\n+++\n',
    '+++\na = """\n+++"""\nmodel = "x"\n+++\n',
    '---\n{model: x}\n---\n',
    '---\n"mod\\x65l": x\n---\n',
    '---\n? model\n: x\n---\n',
    '---\n!!str model: x\n---\n',
    '---\n&a model: x\n---\n',
    '---\n&a {model: x}\n---\n',
    '---\na: 1\n---x: 2\nmodel: x\n---\n',
    '\n\uFEFF+++ \nmodel = "x"\n+++\n',
    '````toml\n#!meta\nmodel = "x"\n````\n',
    '~~~ toml\n#!meta\nmodel = "x"\n~~~\n',
    '  ```TOML x\n//!meta\nmodel = "x"\n```\n',
    '```yml\r\n#!meta\r\nmodel: x\r\n```\n',
    '# Title\n\n```toml\n#!meta\nmodel = "x"\n```\n',
    `${pad}\n+++\nmodel = "x"\n+++\n`,
    `<!--${pad}-->\n+++\nmodel = "x"\n+++\n`,
    `+++\n#${pad}\nmodel = "x"\n+++\n`,
  ])('are recognized in every form in which they are read: %#', async (text) => {
    const { data } = (await parsePrompt('a.md', `${text}Go.\n`)).meta
    expect(Object.keys(data).filter((name) => decidingKeys.includes(name))).toHaveLength(1)
    expect(isPromptText(`${text}Go.\n`)).toBe(true)
    const path = join(tempTree({ 'a.md': text }), 'a.md')
    expect(isPromptFile(path)).toBe(true)
  })

  it.each([
    '---\ntitle: "C:\\\\model"\ntext: |\n  *bold* and {braces}\n  - item\n---\nText.\n',
    '<!-- a comment -->\n# Title\n\n```toml\nmodel = "x"\n```\n',
    `${pad}text`,
    '<!-- not closed',
  ])('are distinguished from other text with such words: %#', (text) => {
    expect(isPromptText(text)).toBe(false)
  })

  it('are recognized up to the size that is run, and larger files are not run', () => {
    const front = '\n+++\nmodel = "x"\n+++\n'
    const upTo = (size: number): string => `<!--${'-'.repeat(size - front.length - 7)}-->${front}`
    const root = tempTree({ 'a.md': upTo(maxSourceBytes), 'b.md': upTo(maxSourceBytes + 1) })
    expect(isPromptFile(join(root, 'a.md'))).toBe(true)
    expect(() => readSourceFile(join(root, 'b.md'))).toThrow('at most 10 MB can be read')
    expect(isPromptText(upTo(maxSourceBytes + 1))).toBe(false)
  })

  it.each([
    `+++\n${' '.repeat(400_000)}x\n+++\n`,
    `!meta\n${'`'.repeat(400_000)}\nx\n`,
    `!meta${'\r```'.repeat(200_000)}`,
    `---\n${'\r'.repeat(400_000)}x\n---\n`,
    '<!---->\n'.repeat(2_000_000),
  ])('are distinguished from any other text without a long search: %#', (text) => {
    expect(isPromptText(text)).toBe(false)
  })

  it('are recognized by a name or a description in folders of agents', () => {
    const text = '---\nname: x\ndescription: d\n---\nGo.\n'
    expect([isPromptText(text), isPromptText(text, true), isPromptText('Go.\n', true)]).toEqual([false, true, false])
    const places = ['agents/a.md', 'agents/team/a.md', 'Agents/a.md', 'docs/agents/a.md', 'agents']
    expect(places.map((path) => isAgentPlace(path.split('/')))).toEqual([true, true, true, false, false])
  })
})

describe('names', () => {
  it.each([
    '.git',
    '.GIT',
    '.git.',
    '.git ',
    '.git. .',
    '.git::$INDEX_ALLOCATION',
    '.g\u200cit',
    '\uFF0Egit',
    '.git\u{e0041}',
    '.g\ufe0fit',
    '.gi\u034ft',
    '.g\u3164it',
    '\uff0e\uff47\uff49\uff54',
  ])('%j is read as .git on some system', (name) => {
    expect(foldedName(name)).toBe('.git')
  })

  it.each(['.gitignore', '.github', 'git', 'agit', '..git'])('%j is a protected one', (name) => {
    expect(foldedName(name)).not.toBe('.git')
  })

  it.each([
    'a.ts',
    'a~.ts',
    'src',
    '日本語.md',
    'a:b.md',
    'console.ts',
    'command.ts',
    'con-fig',
    'nullable.ts',
    '~',
    'a~b1',
  ])('%j is an ordinary one', (name) => {
    expect(nameProblem(name)).toBeUndefined()
  })
})

describe('packs with capabilities', () => {
  const workspace = tempTree({ '.git/config': '[core]\n\thooksPath = hooks\n', 'src/a.ts': '' })
  const granted = { read: ['**'], write: ['**'], hosts: [], commands: [], env: [], models: [], mcp: [] }
  const aipackBase = tempTree()
  const kept = [join(workspace, '.aipack/support/pack/a/b'), join(aipackBase, 'support/pack/a/b')]
  const pack = { identity: 'a@b', granted, ownFolders: [], keptFolders: kept, executed: [], allow: [] }
  const permission = createPermission(
    { ...allRights, packs: [pack] },
    { workspace, aipackBase, ownFolders: [join(workspace, 'own')] },
  )

  it.each<readonly [string, boolean]>([
    ['src/b.ts', true],
    ['.envrc', false],
    ['.aipack/.prompt/a@b/ask.md', true],
    ['.aipack/support/pack/a/b/cache.lua', true],
    ['.aipack/pack/custom/x/y/main.aip', false],
    ['.aipack/config.toml', false],
    ['.baton/packs/x/y/main.aip', false],
    ['src/x.lua', false],
    ['hooks/pre-commit', false],
    ['own/data/trust.json', false],
    ['.GIT/config', false],
    ['base/support/pack/a/b/cache.lua', true],
    ['base/support/pack/a/b/notes.md', true],
    ['base/config.toml', false],
  ])('may write %s: %s', (path, expected) => {
    const at = path.startsWith('base/') ? join(aipackBase, path.slice(5)) : join(workspace, path)
    expect(permission.check({ kind: 'write', path: at, named: at }).kind === 'allow').toBe(expected)
  })
})

describe('a file that turns a folder into a repository', () => {
  const half = { 'v/config': '', 'v/refs/x': '', 'v/objects/x': '', config: '', 'refs/x': '', 'objects/x': '' }
  const answer = { paths: [], kind: 'answer', allow: ['**'], whom: 'a model' } as const
  const granted = { read: ['**'], write: ['v/**'], hosts: [], commands: [], env: [], models: [], mcp: [] }
  const pack = { identity: 'a@b', granted, ownFolders: [], keptFolders: [], executed: [], allow: [] }

  it.each<readonly [string, boolean]>([
    ['v/HEAD', false],
    ['v/head', false],
    ['v/other', true],
    ['v/deep/HEAD', true],
    ['HEAD', false],
  ])('%s may be written to an incomplete repository: %s', (path, expected) => {
    const workspace = tempTree(half)
    const at = join(workspace, path)
    const rights = [{ protections: [answer] }, ...(path.startsWith('v/') ? [{ packs: [pack] }] : [])]
    for (const right of rights) {
      const permission = createPermission({ ...allRights, ...right }, { workspace })
      expect(permission.check({ kind: 'write', path: at, named: at }, () => 'x').kind === 'allow').toBe(expected)
    }
  })

  it.each(['refs/x', 'objects/pack/x', 'commondir'])('is refused in any order: %s', (last) => {
    const parts = ['HEAD', 'refs/x', 'objects/pack/x'].filter((one) => one !== last)
    const workspace = tempTree(
      Object.fromEntries((last === 'commondir' ? ['HEAD'] : parts).map((one) => [`v/${one}`, ''])),
    )
    const permission = createPermission({ ...allRights, protections: [answer] }, { workspace })
    const at = join(workspace, 'v', last)
    expect(permission.check({ kind: 'write', path: at, named: at }, () => 'x')).toMatchObject({
      reason: expect.stringContaining('v is protected: with this file, git would take it for a repository'),
    })
  })

  it('is refused for an empty folder that comes last, and if the head is a link', () => {
    const workspace = tempTree({ 'v/objects/x': '', 'w/refs/x': '' })
    symlinkSync('elsewhere', join(workspace, 'v/HEAD'))
    symlinkSync('../v/HEAD', join(workspace, 'w/HEAD'))
    const permission = createPermission({ ...allRights, protections: [answer] }, { workspace })
    for (const path of ['v/refs', 'v/REFS', 'w/objects']) {
      const at = join(workspace, path)
      expect(permission.check({ kind: 'write', path: at, named: at }).kind).toBe('deny')
    }
  })

  it('does not include the config of a workspace that is a repository itself', () => {
    const workspace = tempTree({ HEAD: '', 'refs/x': '', 'objects/x': '', 'a.ts': '' })
    const permission = createPermission({ ...allRights, protections: [answer] }, { workspace })
    const mayWrite = (path: string): boolean =>
      permission.check({ kind: 'write', path: join(workspace, path), named: path }, () => 'x').kind === 'allow'
    expect(['config', 'hooks/post-checkout', 'a.ts', 'src/config'].map(mayWrite)).toEqual([false, false, true, true])
  })
})

describe('changes of an answer', () => {
  const files = { kindAt: () => undefined, textAt: () => '', bytesAt: () => 0 }
  const write = (path: string, content: string) => ({ op: 'write', path, content }) as const

  it('do not create a repository piece by piece', () => {
    const workspace = tempTree({})
    const judge = createJudge({ workspace, allow: [], isKnown: () => true, isMade: () => false })
    const parts = ['config', 'refs/x', 'objects/x', 'HEAD'].map((one) => join(workspace, 'v', one))
    const problems = parts.map((path) => judge(write(path, 'x'), files))
    expect(problems).toEqual([undefined, undefined, undefined, expect.stringContaining('git would take it')])
  })

  it('do not add an install script to an existing package.json, but may add it to one that the run created', () => {
    const workspace = tempTree({ 'new/package.json': '{}', 'old/package.json': '{}' })
    const isMade = (path: string): boolean => path.includes('/new/')
    const judge = createJudge({ workspace, allow: [], isKnown: () => true, isMade })
    const present = { ...files, kindAt: () => 'file' as const }
    const change = (path: string, content: string) => judge(write(join(workspace, path), content), present)
    const script = '{"scripts": {"postinstall": "x"}}'
    expect(change('new/package.json', '{"scripts": {"test": "x"}}')).toBeUndefined()
    expect(change('new/package.json', script)).toContain('with "postinstall"')
    expect(change('unwritten/package.json', script)).toContain('with "postinstall"')
    expect(change('old/package.json', script)).toBeUndefined()
  })
})

describe('a link that gives a file another extension', () => {
  const protect = { paths: [], kind: 'answer', allow: [], whom: 'a model' } as const
  const prompt = '+++\nmodel = "x"\n+++\n'

  it.each<readonly [string, string, boolean]>([
    ['x.md', 'Plain text.\n', true],
    ['x.md', prompt, false],
    ['x.lua', 'Plain text.\n', false],
    ['x.bin', prompt, true],
  ])('is considered when %s is written, with %j', (name, content, expected) => {
    const workspace = tempTree({ 'data.bin': 'x' })
    const named = join(workspace, name)
    symlinkSync('data.bin', named)
    const permission = createPermission({ ...allRights, protections: [protect] }, { workspace })
    const action = { kind: 'write', path: join(workspace, 'data.bin'), named } as const
    expect(permission.check(action, () => content).kind === 'allow').toBe(expected)
    const judge = createJudge({ workspace, allow: [], isKnown: () => true, isMade: () => false })
    const files = { kindAt: () => 'file' as const, textAt: () => '', bytesAt: () => 0 }
    const problem = judge({ op: 'write', path: named, content }, files)
    expect(problem === undefined).toBe(expected || name === 'x.lua')
  })

  it.each<readonly [string, string, boolean]>([
    ['x.md', 'plain.md', true],
    ['x.md', 'missing.md', true],
    ['x.md', 'prompt.bin', false],
    ['x.md', 'plain.bin', false],
    ['x.md', 'missing.bin', false],
    ['x.aip', 'plain.md', false],
    ['x.bin', 'prompt.bin', true],
    ['package.json', 'plain.bin', false],
  ])('%s may be created or moved there as a link to %s: %s', (path, to, expected) => {
    const workspace = tempTree({ 'plain.md': '', 'plain.bin': '{}', 'prompt.bin': prompt, 'a/x.txt': '' })
    symlinkSync(`../${to}`, join(workspace, 'a/link'))
    const granted = { read: ['**'], write: ['**'], hosts: [], commands: [], env: [], models: [], mcp: [] }
    const pack = { identity: 'a@b', granted, ownFolders: [], keptFolders: [], executed: [], allow: [] }
    const context = narrow(testContext({ workspace }), { protect, pack })
    const called = (index: number) => ({ context, at: placeAt(`run/call#${index}`) })
    const done = (work: () => void): boolean => {
      try {
        work()
        return true
      } catch (error) {
        expect(String(error)).toMatch(/is protected|never change/)
        return false
      }
    }
    expect(done(() => makeLink(join(workspace, path), to, called(0)))).toBe(expected)
    const moved = { source: join(workspace, 'a/link'), destination: join(workspace, 'b', path), overwrite: true }
    expect(done(() => moveEntry(moved, called(1)))).toBe(expected)
  })
})

it('a path below a file is not protected, because nothing can exist there', () => {
  const workspace = tempTree({ 'a.js': 'a' })
  const protect = { paths: [], kind: 'answer', allow: [], whom: 'a model' } as const
  const permission = createPermission({ ...allRights, protections: [protect] }, { workspace })
  const path = join(workspace, 'a.js/b/c.js')
  expect(permission.check({ kind: 'write', path, named: path }, () => 'x')).toEqual({ kind: 'allow' })
})
