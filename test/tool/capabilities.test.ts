import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { narrow } from '../../src/event/context.ts'
import { type Action, type Capabilities, passesVariable } from '../../src/event/permission.ts'
import { allowedPath, allowOf } from '../../src/tool/guard.ts'
import { testContext } from '../helpers/context.ts'
import { tempTree } from '../helpers/temp.ts'

const nothing: Capabilities = { read: [], write: [], hosts: [], commands: [], env: [], models: [], mcp: [] }

function world(granted: Partial<Capabilities>) {
  const workspace = tempTree({
    'src/a.ts': '',
    'src/deep/b.ts': '',
    'secret.md': '',
    'baton.toml': '',
    'pack/main.aip': '',
    'kept/x.txt': '',
  })
  const pack = {
    identity: 'demo@notes',
    granted: { ...nothing, ...granted },
    ownFolders: [join(workspace, 'pack')],
    keptFolders: [join(workspace, 'kept')],
    executed: [],
    allow: [],
  }
  const held = narrow(testContext({ workspace }), { pack })
  const reason = (action: Action): string | undefined => {
    const verdict = held.services.permission.check(action)
    return verdict.kind === 'deny' ? verdict.reason : undefined
  }
  const may = (kind: 'read' | 'write' | 'delete', path: string): boolean => {
    try {
      allowedPath(kind, join(workspace, path), { context: held, allow: allowOf(held) })
      return true
    } catch {
      return false
    }
  }
  return { workspace, pack, held, may, reason }
}

function running(program: string): Action {
  return { kind: 'command', program, caller: 'aip.cmd.exec' }
}

describe('the capabilities of a pack', () => {
  it.each([
    ['read', 'src/a.ts', true],
    ['read', 'src/deep/b.ts', true],
    ['read', 'src', true],
    ['read', '.', true],
    ['read', 'secret.md', false],
    ['read', 'src/../secret.md', false],
    ['read', '../outside', false],
    ['read', 'pack/main.aip', true],
    ['read', 'kept/x.txt', true],
    ['read', 'out/new.txt', true],
    ['write', 'out/new.txt', true],
    ['write', 'out/deep/new.txt', false],
    ['write', 'src/a.ts', false],
    ['write', 'kept/x.txt', true],
    ['write', 'pack/main.aip', false],
    ['delete', 'out/new.txt', true],
    ['delete', 'src/a.ts', false],
  ] as const)('for %s %s: %s', (kind, path, allowed) => {
    expect(world({ read: ['src/**'], write: ['out/*.txt'] }).may(kind, path)).toBe(allowed)
  })

  it('are checked for the target of a link', () => {
    const { workspace, may } = world({ read: ['src/**'], write: ['src/**'] })
    symlinkSync('../secret.md', join(workspace, 'src/link.md'))
    symlinkSync('..', join(workspace, 'src/up'))
    expect([may('read', 'src/link.md'), may('write', 'src/link.md'), may('read', 'src/up/secret.md')]).toEqual([
      false,
      false,
      false,
    ])
  })

  it.each([
    'baton.toml',
    '.baton/packs/demo/notes/pack.toml',
    '.baton/packs.lock',
    'a/.BATON/x',
    '.mcp.json',
    '.aipack/config.toml',
    '.aipack/pack/custom/a/b/main.aip',
    '.git/hooks/x',
  ])('never allow writing %s, whatever was granted', (path) => {
    const { workspace, may } = world({ write: ['**'], read: ['**'] })
    mkdirSync(join(workspace, '.baton'))
    expect([may('write', path), may('write', 'src/a.ts'), may('write', '.aipack/.prompt/x.md')]).toEqual([
      false,
      true,
      true,
    ])
  })

  it('never allow more than agents have anyway', () => {
    const { workspace, may } = world({ read: ['**'], write: ['**'] })
    expect([may('read', '../x'), may('write', '../x'), may('write', '.git/config')]).toEqual([false, false, false])
    expect(workspace).not.toBe('')
  })

  it.each([
    [['api.example'], 'https://api.example/x', true],
    [['api.example'], 'https://API.example./x', true],
    [['api.example'], 'https://api.example.evil/x', false],
    [['api.example'], 'https://evil/api.example', false],
    [['api.example'], 'https://api.example@evil/', false],
    [['*.example'], 'https://a.b.example/', true],
    [['*.example'], 'https://example/', false],
    [['*.example'], 'https://badexample/', false],
    [['localhost:8080'], 'http://localhost:8080/', true],
    [['localhost:8080'], 'http://localhost/', false],
    [['h.example:443'], 'https://h.example/', true],
    [['h.example:443'], 'http://h.example/', false],
    [['[::1]'], 'http://[::1]:99/', true],
    [['*'], 'http://anything/', true],
    [['*:443'], 'http://anything/', false],
    [[], 'http://anything/', false],
  ])('with hosts %j: %s is %s', (hosts, url, allowed) => {
    const { reason } = world({ hosts })
    expect(reason({ kind: 'connect', url, caller: 'aip.web.get' }) === undefined).toBe(allowed)
  })

  it.each([
    [['gpt-5-mini'], true],
    [['openai::gpt-5-mini'], true],
    [['openai::*'], true],
    [['*-mini'], true],
    [['gpt*mini'], true],
    [['*'], true],
    [['gpt-5'], false],
    [['anthropic::*'], false],
    [['gpt-5-mini*mini'], false],
    [[], false],
  ])('with models %j, openai::gpt-5-mini is %s', (models, allowed) => {
    const { reason } = world({ models })
    const action = { kind: 'model', model: 'gpt-5-mini', label: 'openai::gpt-5-mini' } as const
    expect(reason(action) === undefined).toBe(allowed)
  })

  it('allow only the named programs, exactly as named', () => {
    const { reason } = world({ commands: ['git'] })
    expect(reason(running('git'))).toBeUndefined()
    expect(reason(running('/tmp/git'))).toBe(
      'aip.cmd.exec: demo@notes may not run /tmp/git: its capabilities do not include it',
    )
    expect(world({ commands: ['*'] }).reason(running('sh'))).toBeUndefined()
  })

  it('apply together with those of the pack that runs it', () => {
    const { workspace, held, pack } = world({
      read: ['src/**', 'secret.md'],
      commands: ['git', 'npm'],
      env: ['CI'],
      hosts: ['*'],
    })
    const granted = { ...nothing, read: ['**'], commands: ['npm', 'sh'], env: ['CI', 'CC'] }
    const inner = narrow(held, {
      pack: { ...pack, identity: 'b@b', ownFolders: [], keptFolders: [], executed: [], allow: [], granted },
    })
    const { permission } = inner.services
    const check = (name: string) => {
      const path = join(workspace, name)
      return permission.check({ kind: 'read', path, named: path }).kind
    }
    expect([check('src/a.ts'), check('baton.toml')]).toEqual(['allow', 'deny'])
    const verdicts = ['git', 'npm', 'sh'].map((name) => permission.check(running(name)).kind)
    expect(verdicts).toEqual(['deny', 'allow', 'deny'])
    expect(['CI', 'CC'].map((name) => passesVariable(inner.scope.rights, name))).toEqual([true, false])
    expect(permission.check({ kind: 'connect', url: 'http://x/', caller: 'aip.web.get' })).toMatchObject({
      reason: expect.stringContaining('b@b may not'),
    })
  })
})
