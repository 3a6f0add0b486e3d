import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { newRunId, runsFolder, workspaceId } from '../../src/journal/run-id.ts'
import { newRunFolder } from './fixtures/run-folder.ts'

describe('newRunId', () => {
  it('is the time in UTC to the millisecond, and six random hex digits', () => {
    expect(newRunId(new Date('2025-11-21T23:19:05.999Z'))).toMatch(/^20251121-231905-3e7[0-9a-f]{6}$/)
  })

  it('differs for runs started at the same time', () => {
    const ids = new Set(Array.from({ length: 20 }, () => newRunId(new Date(0))))
    expect(ids.size).toBe(20)
  })
})

describe('runsFolder', () => {
  const base = { home: '/home/ada', workspace: '/no/such/My Project' }
  const workspace = workspaceId(base.workspace)

  it.each([
    [{}, undefined, `/home/ada/.local/state/baton/runs/${workspace}`],
    [{ XDG_STATE_HOME: '/state' }, undefined, `/state/baton/runs/${workspace}`],
    [{ XDG_STATE_HOME: 'relative' }, undefined, `/home/ada/.local/state/baton/runs/${workspace}`],
    [{ XDG_STATE_HOME: '/state', BATON_HOME: '/baton' }, undefined, `/baton/state/runs/${workspace}`],
    [{ BATON_HOME: '/baton' }, '/elsewhere', `/elsewhere/${workspace}`],
    [{}, 'kept/runs', `/no/such/My Project/kept/runs/${workspace}`],
    [{}, '~/runs', `/home/ada/runs/${workspace}`],
  ])('with %j and dir %s is %s', (env, runsDir, expected) => {
    expect(runsFolder({ ...base, env, runsDir })).toBe(expected)
  })
})

describe('workspaceId', () => {
  it('is readable, and different for folders of the same name', () => {
    expect(workspaceId('/no/such/My Project')).toMatch(/^My-Project-[0-9a-f]{12}$/)
    expect(workspaceId('/other/My Project')).not.toBe(workspaceId('/no/such/My Project'))
    expect(workspaceId('/')).toMatch(/^root-[0-9a-f]{12}$/)
    expect(workspaceId('/no/such/..hidden')).toMatch(/^hidden-/)
  })

  it('is the same through a link', () => {
    const folder = newRunFolder()
    mkdirSync(folder, { recursive: true })
    const link = join(dirname(folder), 'link')
    symlinkSync(folder, link)
    expect(workspaceId(link)).toBe(workspaceId(folder))
  })
})
