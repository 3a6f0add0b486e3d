import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Action } from '../../src/event/policy.ts'
import { createPathPolicy, withProtected } from '../../src/tool/policy.ts'
import { tempTree } from '../helpers/temp.ts'

const workspace = tempTree({ 'src/a.ts': '', '.git/config': '', 'keep/ask.md': '' })
const elsewhere = tempTree({ 'x.txt': '' })
const policy = createPathPolicy({ workspace })

function check(kind: Action['kind'], path: string): string {
  const verdict = policy.check({ kind, path })
  return verdict.kind === 'deny' ? verdict.reason : verdict.kind
}

describe('createPathPolicy', () => {
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
  ] as const)('%s %s', (kind, path, expected) => {
    expect(check(kind, path)).toBe(expected)
  })
})

describe('withProtected', () => {
  const kept = withProtected(policy, workspace, [join(workspace, 'keep/ask.md'), join(workspace, 'agents')])
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
    const verdict = kept.check({ kind, path: join(workspace, path) })
    expect(verdict.kind === 'deny' ? verdict.reason : verdict.kind).toBe(expected)
  })
})

it('withProtected keeps what a protected name of the workspace links to', () => {
  const root = tempTree({ 'conf/settings.toml': '' })
  symlinkSync('conf/settings.toml', join(root, 'baton.toml'))
  const kept = withProtected(createPathPolicy({ workspace: root }), root, [])
  const verdicts = (['write', 'delete'] as const).map((kind) => kept.check({ kind, path: join(root, 'conf') }).kind)
  expect(verdicts).toEqual(['allow', 'deny'])
  expect(kept.check({ kind: 'write', path: join(root, 'conf/settings.toml') }).kind).toBe('deny')
})

describe('withProtected at any depth', () => {
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
  const kept = withProtected(createPathPolicy({ workspace: root }), root, [])

  it.each([
    ['repository', 'repository/deep/.git'],
    ['repository/deep', 'repository/deep/.git'],
    ['submodule', 'submodule/.GIT'],
    ['agents', 'agents/x/.aipack'],
    ['service', 'service/Baton.toml'],
    ['tools', 'tools/.mcp.json'],
    ['home', 'home/.baton'],
  ])('refuses to delete %s because of %s', (folder, because) => {
    const reason = `${because} is protected: a model never changes it`
    expect(kept.check({ kind: 'delete', path: join(root, folder) })).toEqual({ kind: 'deny', reason })
    expect(kept.check({ kind: 'write', path: join(root, folder, 'new.txt') })).toEqual({ kind: 'allow' })
  })

  it.each(['plain', 'plain/deep/a.txt', 'none'])('lets %s be deleted', (path) => {
    expect(kept.check({ kind: 'delete', path: join(root, path) })).toEqual({ kind: 'allow' })
  })
})

describe('packs and ~/.aipack-base', () => {
  const home = tempTree({ '.aipack-base/pack/installed/ns/p/main.aip': '', '.aipack-base/config-user.toml': '' })
  const base = join(home, '.aipack-base')
  const outside = createPathPolicy({ workspace, aipackBase: base })
  const atHome = createPathPolicy({ workspace: home, aipackBase: base })

  function verdicts(kind: Action['kind'], path: string): readonly string[] {
    return [outside, atHome].map((each) => each.check({ kind, path: join(base, path) }).kind)
  }

  it.each([
    ['read', 'support/pack/ns/p/x', ['allow', 'allow']],
    ['read', 'pack/installed/ns/p/main.aip', ['allow', 'allow']],
    ['read', 'config-user.toml', ['allow', 'allow']],
    ['write', 'support/pack/ns/p/x', ['allow', 'allow']],
    ['write', 'notes.txt', ['allow', 'allow']],
    ['write', 'pack/installed/ns/p/main.aip', ['deny', 'deny']],
    ['write', 'config-user.toml', ['deny', 'deny']],
    ['write', 'version.txt', ['deny', 'deny']],
    ['delete', 'support/pack/ns/p/x', ['deny', 'deny']],
    ['delete', '', ['deny', 'deny']],
  ] as const)('%s %s', (kind, path, expected) => {
    expect(verdicts(kind, path)).toEqual(expected)
  })
})
