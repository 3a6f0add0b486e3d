import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Action } from '../../src/event/policy.ts'
import { createPathPolicy, withProtected } from '../../src/tool/policy.ts'
import { tempTree } from '../helpers/temp.ts'

const workspace = tempTree({ 'src/a.ts': '', '.git/config': '', 'keep/ask.md': '' })
const agents = tempTree({ 'lint.lua': '' })
const elsewhere = tempTree({ 'x.txt': '' })
const agentsLink = join(workspace, 'agents-link')
symlinkSync(agents, agentsLink)
const policy = createPathPolicy({ workspace, readable: [agentsLink] })

function check(kind: Action['kind'], path: string): string {
  const verdict = policy.check({ kind, path })
  return verdict.kind === 'deny' ? verdict.reason : verdict.kind
}

describe('createPathPolicy', () => {
  it.each([
    ['read', join(workspace, 'src/a.ts'), 'allow'],
    ['read', workspace, 'allow'],
    ['read', join(workspace, '.git/config'), 'allow'],
    ['read', join(agents, 'lint.lua'), 'allow'],
    ['read', join(elsewhere, 'x.txt'), `${elsewhere}/x.txt is outside the workspace ${workspace}`],
    ['read', `${workspace}-other/x`, `${workspace}-other/x is outside the workspace ${workspace}`],
    ['write', join(workspace, 'new/b.ts'), 'allow'],
    ['write', join(workspace, '.gitignore'), 'allow'],
    ['write', join(workspace, '..config'), 'allow'],
    ['write', join(workspace, '.git/config'), '.git/config belongs to git, and agents never change it'],
    ['write', join(workspace, 'sub/.GIT/hooks/x'), 'sub/.GIT/hooks/x belongs to git, and agents never change it'],
    ['write', join(agents, 'lint.lua'), `${agents}/lint.lua is outside the workspace ${workspace}`],
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
  const kept = withProtected(createPathPolicy({ workspace: root, readable: [] }), root, [])
  const verdicts = (['write', 'delete'] as const).map((kind) => kept.check({ kind, path: join(root, 'conf') }).kind)
  expect(verdicts).toEqual(['allow', 'deny'])
  expect(kept.check({ kind: 'write', path: join(root, 'conf/settings.toml') }).kind).toBe('deny')
})

describe('packs and ~/.aipack-base', () => {
  const home = tempTree({ '.aipack-base/pack/installed/ns/p/main.aip': '', '.aipack-base/config-user.toml': '' })
  const base = join(home, '.aipack-base')
  const asked: string[] = []
  const options = {
    readable: [],
    aipackBase: base,
    packFolders: () => {
      asked.push('packs')
      return [join(base, 'pack/installed/ns/p')]
    },
  }
  const outside = createPathPolicy({ workspace, ...options })
  const atHome = createPathPolicy({ workspace: home, ...options })

  function verdicts(kind: Action['kind'], path: string): readonly string[] {
    return [outside, atHome].map((each) => each.check({ kind, path: join(base, path) }).kind)
  }

  it.each([
    ['read', 'support/pack/ns/p/x', ['allow', 'allow']],
    ['read', 'pack/installed/ns/p/main.aip', ['allow', 'allow']],
    ['read', 'pack/installed/other/p/main.aip', ['deny', 'allow']],
    ['read', 'config-user.toml', ['deny', 'allow']],
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

  it('packs are looked for only when something outside is read, and once', () => {
    const policyOfOne = createPathPolicy({ workspace, ...options })
    asked.length = 0
    policyOfOne.check({ kind: 'read', path: join(workspace, 'src/a.ts') })
    expect(asked).toEqual([])
    for (let time = 0; time < 3; time += 1) policyOfOne.check({ kind: 'read', path: '/etc/passwd' })
    expect(asked).toEqual(['packs'])
  })
})
