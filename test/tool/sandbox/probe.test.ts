import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findBoxer, sandboxProblem } from '../../../src/tool/sandbox/probe.ts'
import { tempTree } from '../../helpers/temp.ts'

/**
 * A separate process writes it: a file just written by this one is busy (ETXTBSY) while a process that another test
 * thread forked in between holds it open.
 */
function fakeBwrap(script: string): string {
  const folder = tempTree({ written: `#!/bin/sh\n${script}\n` })
  chmodSync(join(folder, 'written'), 0o755)
  execFileSync('cp', [join(folder, 'written'), join(folder, 'bwrap')])
  return folder
}

const machine = (path: string, workspace = '/nowhere') =>
  ({ env: { PATH: path }, workspace, platform: 'linux' }) as const

describe('the sandbox program', () => {
  it('is suggested for installation if bwrap is missing', async () => {
    const problem = await sandboxProblem({ mode: 'read-only' }, machine(tempTree()))
    expect(problem).toMatchObject({
      code: 'SANDBOX',
      message: 'there is no sandbox for "read-only": bwrap not found',
    })
    expect(problem?.hint).toContain('apt install bubblewrap')
    expect(problem?.hint).toContain('danger-full-access')
  })

  it('is reported with the error message of a failing bwrap', async () => {
    const folder = fakeBwrap('echo "bwrap: setting up uid map: Permission denied" >&2; exit 1')
    const problem = await sandboxProblem({ mode: 'workspace-write' }, machine(folder))
    expect(problem?.message).toContain(`${folder}/bwrap cannot create a sandbox: setting up uid map: Permission denied`)
    expect(problem?.hint).toMatch(/namespaces/)
  })

  it('is reported as too old', async () => {
    const folder = fakeBwrap('echo "bwrap: Unknown option --disable-userns" >&2; exit 1')
    const problem = await sandboxProblem({ mode: 'read-only' }, machine(folder))
    expect(problem?.hint).toContain('It is too old. Install bubblewrap 0.8 or later')
  })

  it('is not searched in the workspace', async () => {
    const folder = fakeBwrap('exit 0')
    expect(await findBoxer(machine(folder, folder))).toMatchObject({ kind: 'none', problem: 'bwrap not found' })
    expect(await findBoxer(machine(folder))).toEqual({ kind: 'bwrap', program: join(folder, 'bwrap') })
  })

  it('does not exist on Windows', async () => {
    const problem = await sandboxProblem({ mode: 'read-only' }, { ...machine(''), platform: 'win32' })
    expect(problem?.message).toContain('there is no sandbox on win32')
  })

  it('is not needed for "danger-full-access"', async () => {
    expect(await sandboxProblem({ mode: 'danger-full-access' }, machine(''))).toBeUndefined()
  })
})
