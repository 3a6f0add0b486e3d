import { describe, expect, it } from 'vitest'
import { coversHost, isHostEntry } from '../../src/base/host-entry.ts'
import { narrow } from '../../src/event/context.ts'
import { narrowSandbox, type SandboxRights, strictestSandbox } from '../../src/event/sandbox-rights.ts'
import { testContext } from '../helpers/context.ts'

const wide: SandboxRights = {
  ...strictestSandbox,
  mode: 'danger-full-access',
  network: ['*.example.com', 'a.org:8080'],
  memory_mb: 8000,
}

describe('rights of a sandbox', () => {
  it('can only become stricter', () => {
    expect(narrowSandbox(wide, { mode: 'workspace-write' }).mode).toBe('workspace-write')
    expect(narrowSandbox({ ...wide, mode: 'read-only' }, { mode: 'danger-full-access' }).mode).toBe('read-only')
    expect(narrowSandbox(wide, { memory_mb: 100 }).memory_mb).toBe(100)
    expect(narrowSandbox(wide, { memory_mb: 9000 }).memory_mb).toBe(8000)
    expect(narrowSandbox({ ...wide, scripts: true }, { scripts: false }).scripts).toBe(true)
  })

  it('do not change if nothing is specified', () => {
    expect(narrowSandbox(wide, {})).toEqual(wide)
  })

  it.each<readonly [readonly string[], readonly string[]]>([
    [['a.example.com'], ['a.example.com']],
    [['*.com'], ['*.example.com']],
    [['a.org'], []],
    [['a.org:8080', 'b.org'], ['a.org:8080']],
    [[], []],
  ])('have the intersection of both networks: %j results in %j', (network, left) => {
    expect(narrowSandbox(wide, { network }).network).toEqual(left)
  })

  it.each([
    ['example.com', 'example.com', true],
    ['Example.com', 'example.COM:443', true],
    ['example.com', 'example.com:22', false],
    ['example.com:22', 'example.com', false],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'badexample.com', false],
    ['*.example.com', '*.a.example.com', true],
    ['*.a.example.com', '*.example.com', false],
  ])('of %s include %s: %s', (given, asked, covers) => {
    expect(coversHost(given, asked)).toBe(covers)
  })

  it.each([
    ['example.com', true],
    ['*.example.com:443', true],
    ['[::1]:80', true],
    ['*', false],
    ['a b', false],
    ['http://example.com', false],
    ['example.com/x', false],
    ['', false],
  ])('of %j include hosts: %s', (text, names) => {
    expect(isHostEntry(text)).toBe(names)
  })

  it('are part of the scope of a run, as JSON', () => {
    const context = testContext()
    expect(context.scope.rights.sandbox).toBeUndefined()
    const { scope } = narrow(context, { sandbox: { mode: 'danger-full-access', network: ['a.org'] } })
    expect(scope.rights.sandbox).toEqual(strictestSandbox)
    expect(JSON.parse(JSON.stringify(scope.rights))).toEqual(scope.rights)
  })
})
