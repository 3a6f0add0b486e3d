import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { figure, interleave, quotients } from './rounds.mjs'
import { createTools } from './tool-turns.mjs'

/**
 * A call of the tool `bash` as a model makes it, allowed, recorded on disk and without a sandbox, against a shell that
 * is only started and read; and the same call in a sandbox, against the one without.
 */
export async function bash({ library, folder: given, small }) {
  const folder = realpathSync(given)
  const { strictestSandbox } = await import(`${library}/event/sandbox-rights.js`)
  const { findBoxer } = await import(`${library}/tool/sandbox/probe.js`)
  const env = { PATH: process.env.PATH }
  const timed = (work) => async () => {
    const begun = performance.now()
    const text = await work()
    if (text.trim() !== 'one') throw new Error(`it printed ${text}`)
    return { ms: performance.now() - begun }
  }
  const through = async (mode) => {
    const sandbox = { ...strictestSandbox, mode }
    const call = await createTools(library, { folder, run: join(folder, `.baton/run-${mode}`), sandbox })
    return timed(async () => (await call('bash', { command: 'echo one' }, env)).text)
  }
  const { kind } = await findBoxer({ env, workspace: folder })
  const cases = {
    tool: await through('danger-full-access'),
    // with a socket as stdin, bash thinks it is a remote shell and reads .bashrc
    alone: timed(async () => (await execa('bash', ['-c', 'echo one'], { cwd: folder, stdin: 'ignore' })).stdout),
    ...(kind === 'none' ? {} : { reading: await through('read-only'), writing: await through('workspace-write') }),
  }
  const results = await interleave(cases, small ? 3 : 101)
  const numbers = (name) => results[name].map(({ ms }) => ms)
  const boxed = (name, mode) =>
    figure(`one call in a sandbox, ${mode}`, {
      of: 'one call without a sandbox',
      ratios: quotients(numbers(name), numbers('tool')),
    })
  return [
    figure('one call', { of: 'bash by execa', ratios: quotients(numbers('tool'), numbers('alone')) }),
    ...(kind === 'none' ? [] : [boxed('reading', 'read-only'), boxed('writing', 'workspace-write')]),
  ]
}
