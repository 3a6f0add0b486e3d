import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { figure, interleave, quotients } from './rounds.mjs'
import { createTools } from './tool-turns.mjs'

/**
 * A call of the tool `bash` as a model makes it, allowed, recorded on the disk and outside of a box, against a shell that is
 * only started and read.
 */
export async function bash({ library, folder: given, small }) {
  const folder = realpathSync(given)
  const { strictestSandbox } = await import(`${library}/event/sandbox-rights.js`)
  const sandbox = { ...strictestSandbox, mode: 'danger-full-access' }
  const call = await createTools(library, { folder, run: join(folder, 'run'), sandbox })
  const timed = (work) => async () => {
    const begun = performance.now()
    const text = await work()
    if (text.trim() !== 'one') throw new Error(`it printed ${text}`)
    return { ms: performance.now() - begun }
  }
  const cases = {
    tool: timed(async () => (await call('bash', { command: 'echo one' }, { PATH: process.env.PATH })).text),
    alone: timed(async () => (await execa('bash', ['-c', 'echo one'], { cwd: folder })).stdout),
  }
  const results = await interleave(cases, small ? 3 : 101)
  const numbers = (name) => results[name].map(({ ms }) => ms)
  return [figure('one call', { of: 'bash by execa', ratios: quotients(numbers('tool'), numbers('alone')) })]
}
