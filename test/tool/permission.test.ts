import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { realPath } from '../../src/base/files.ts'
import type { RunFolders } from '../../src/event/context.ts'
import { allRights, type Permission, type ToolRule } from '../../src/event/permission.ts'
import { createPermission } from '../../src/tool/permission.ts'
import { tempTree } from '../helpers/temp.ts'

type PathKind = 'read' | 'write' | 'delete'

const workspace = tempTree({ 'src/a.ts': '', '.git/config': '', 'keep/ask.md': '' })
const elsewhere = tempTree({ 'x.txt': '' })

/** Why an action on a path is denied, or `allow`. */
function check(permission: Permission, kind: PathKind, path: string): string {
  const verdict = permission.check({ kind, path, named: path })
  return verdict.kind === 'deny' ? verdict.reason : verdict.kind
}

function protecting(folder: string, paths: readonly string[] = []): Permission {
  const protection = { paths, kind: 'answer', allow: [], whom: 'a model' } as const
  return createPermission({ ...allRights, protections: [protection] }, { workspace: folder })
}

describe('all rights,', () => {
  const permission = createPermission(allRights, { workspace })

  it.each([
    ['read', join(workspace, 'src/a.ts'), 'allow'],
    ['read', workspace, 'allow'],
    ['read', join(workspace, '.git/config'), 'allow'],
    ['read', join(elsewhere, 'x.txt'), 'allow'],
    ['read', '/', 'allow'],
    ['write', join(workspace, 'new/b.ts'), 'allow'],
    ['write', join(workspace, '.gitignore'), 'allow'],
    ['write', join(workspace, '..config'), 'allow'],
    ['write', join(workspace, '.git/config'), '.git/config belongs to git, and agents never change it'],
    ['write', join(workspace, 'sub/.GIT/hooks/x'), 'sub/.GIT/hooks/x belongs to git, and agents never change it'],
    ['write', join(elsewhere, 'x.txt'), `${elsewhere}/x.txt is outside the workspace ${workspace}`],
    ['write', `${workspace}-other/x`, `${workspace}-other/x is outside the workspace ${workspace}`],
    ['write', join(workspace, 'keep/ask.md'), 'allow'],
    ['delete', join(workspace, 'src'), 'allow'],
    ['delete', join(workspace, '.git'), '.git belongs to git, and agents never change it'],
    ['delete', workspace, `${workspace} is the workspace itself`],
    ['delete', join(elsewhere, 'x.txt'), `${elsewhere}/x.txt is outside the workspace ${workspace}`],
  ] as const)('as text: %s %s', (kind, path, expected) => {
    expect(check(permission, kind, path)).toBe(expected)
  })

  it('allow every program, host and model', () => {
    const kinds = [
      permission.check({ kind: 'command', program: 'sh', caller: 'f' }),
      permission.check({ kind: 'connect', url: 'http://x/', caller: 'f' }),
      permission.check({ kind: 'model', model: 'm', label: 'p::m' }),
    ].map(({ kind }) => kind)
    expect(kinds).toEqual(['allow', 'allow', 'allow'])
  })

  it('define the error of a refusal, and the remedy', () => {
    const refused = (path: string) => permission.check({ kind: 'write', path: realPath(path), named: path })
    expect(refused(join(workspace, '.git/config'))).toMatchObject({ code: 'FILE_FAILED', hint: 'Use another path.' })
    expect(refused(join(elsewhere, 'x.txt'))).toMatchObject({
      code: 'OUTSIDE_WORKSPACE',
      hint: `Agents can change files only in ${workspace}.`,
    })
  })
})

describe('a rule with a pattern for `read`', () => {
  const rule = (pattern: string, effect: ToolRule['effect']): ToolRule => ({
    tool: 'read',
    pattern,
    effect,
    origin: 'x',
  })
  const rules = [[rule('src/**', 'deny'), rule('src/b.ts', 'allow'), rule('keep/**', 'ask')]]

  it('applies to scripts, which cannot ask', () => {
    const permission = createPermission({ ...allRights, rules }, { workspace })
    const denied = 'src/a.ts may not be read: [permission] read."src/**" = "deny" (x)'
    expect(check(permission, 'read', join(workspace, 'src/a.ts'))).toBe(denied)
    expect(check(permission, 'read', join(workspace, 'src/b.ts'))).toBe('allow')
    expect(check(permission, 'read', join(workspace, 'keep/ask.md'))).toContain('and a script cannot ask')
    expect(check(permission, 'write', join(workspace, 'src/a.ts'))).toBe('allow')
  })

  it('lets tools of models ask', () => {
    const protection = { paths: [], kind: 'answer', allow: [], whom: 'a model' } as const
    const permission = createPermission({ ...allRights, rules, protections: [protection] }, { workspace })
    expect(check(permission, 'read', join(workspace, 'keep/ask.md'))).toBe('allow')
    expect(check(permission, 'read', join(workspace, 'src/a.ts'))).toContain('may not be read')
  })
})

describe('protections', () => {
  const permission = protecting(workspace, [join(workspace, 'keep/ask.md'), join(workspace, 'agents')])
  const refused = (name: string): string => `${name} is protected: a model never changes it`

  it.each([
    ['read', 'keep/ask.md', 'allow'],
    ['write', 'keep/ask.md', refused('keep/ask.md')],
    ['delete', 'keep', refused('keep/ask.md')],
    ['write', 'agents/lua/helper.lua', refused('agents')],
    ['write', '.baton/packs/x/y/main.aip', refused('.baton')],
    ['write', 'sub/deep/.aipack/config.toml', refused('sub/deep/.aipack')],
    ['write', 'sub/baton.toml', refused('sub/baton.toml')],
    ['delete', '.mcp.json', refused('.mcp.json')],
    ['write', 'Baton.TOML', refused('Baton.TOML')],
    ['write', 'sub/.BATON/x', refused('sub/.BATON')],
    ['read', 'baton.toml', 'allow'],
    ['write', 'sub/baton.toml.md', 'allow'],
    ['write', '.baton-notes', 'allow'],
    ['write', 'keep/other.md', 'allow'],
    ['write', '.git/config', '.git/config belongs to git, and agents never change it'],
  ] as const)('%s %s', (kind, path, expected) => {
    expect(check(permission, kind, join(workspace, path))).toBe(expected)
  })

  it('include the target of a protected link in the workspace', () => {
    const root = tempTree({ 'conf/settings.toml': '' })
    symlinkSync('conf/settings.toml', join(root, 'baton.toml'))
    const kept = protecting(root)
    expect(check(kept, 'write', join(root, 'conf'))).toBe('allow')
    expect(check(kept, 'delete', join(root, 'conf'))).not.toBe('allow')
    expect(check(kept, 'write', join(root, 'conf/settings.toml'))).not.toBe('allow')
  })
})

describe('protected names at any depth', () => {
  const root = tempTree({
    'repository/deep/.git/HEAD': '',
    'submodule/.GIT': 'gitdir: elsewhere',
    'agents/x/.aipack/config.toml': '',
    'service/Baton.toml': '',
    'tools/.mcp.json': '',
    'home/.baton/lock': '',
    'plain/deep/a.txt': '',
    'plain/.gitignore': '',
  })
  symlinkSync('../repository', join(root, 'plain/link'))
  const permission = protecting(root)

  it.each([
    ['repository', 'repository/deep/.git'],
    ['repository/deep', 'repository/deep/.git'],
    ['submodule', 'submodule/.GIT'],
    ['agents', 'agents/x/.aipack'],
    ['service', 'service/Baton.toml'],
    ['tools', 'tools/.mcp.json'],
    ['home', 'home/.baton'],
  ])('prevent deleting %s because of %s', (folder, because) => {
    expect(check(permission, 'delete', join(root, folder))).toBe(`${because} is protected: a model never changes it`)
    expect(check(permission, 'write', join(root, folder, 'new.txt'))).toBe('allow')
  })

  it.each(['plain', 'plain/deep/a.txt', 'none'])('allow deleting %s', (path) => {
    expect(check(permission, 'delete', join(root, path))).toBe('allow')
  })
})

describe('packs and ~/.aipack-base', () => {
  const home = tempTree({ '.aipack-base/pack/installed/ns/p/main.aip': '', '.aipack-base/config-user.toml': '' })
  const aipackBase = join(home, '.aipack-base')
  const [outside, atHome] = [workspace, home].map((folder) => createPermission(allRights, permitted(folder)))

  function permitted(folder: string): Pick<RunFolders, 'workspace' | 'aipackBase'> {
    return { workspace: folder, aipackBase }
  }

  it.each([
    ['read', 'support/pack/ns/p/x', true],
    ['read', 'pack/installed/ns/p/main.aip', true],
    ['read', 'config-user.toml', true],
    ['write', 'support/pack/ns/p/x', true],
    ['write', 'notes.txt', true],
    ['write', 'pack/installed/ns/p/main.aip', false],
    ['write', 'config-user.toml', false],
    ['write', 'version.txt', false],
    ['delete', 'support/pack/ns/p/x', false],
    ['delete', '', false],
  ] as const)('%s %s', (kind, path, isAllowed) => {
    const verdicts = [outside, atHome].map((each) => each && check(each, kind, join(aipackBase, path)) === 'allow')
    expect(verdicts).toEqual([isAllowed, isAllowed])
  })
})
