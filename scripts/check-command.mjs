import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Fails if the built command does not work: runs its entry file alone, a command that loads a chunk, and a script, which
 * loads those of a run and the Lua engine.
 */
export function checkCommand(command) {
  const folder = mkdtempSync(join(tmpdir(), 'baton-build-'))
  try {
    const script = join(folder, 'check.lua')
    writeFileSync(script, 'print(6 * 7)\n')
    const { PATH = '' } = process.env
    const env = { PATH, HOME: folder, BATON_HOME: join(folder, 'home') }
    for (const [args, output] of [
      [['--version'], /^\d+\.\d+\.\d+/],
      [['--help'], /\bbaton run\b/],
      [['run', script], /^42\n/],
    ]) {
      const { status, stdout, stderr, error } = spawnSync(process.execPath, [command, ...args], {
        cwd: folder,
        env,
        encoding: 'utf8',
        timeout: 60_000,
      })
      if (status === 0 && output.test(stdout)) continue
      const lines = `${stderr}${error ?? ''}`.split('\n').filter((line) => line.length < 500)
      throw new Error(`the built command does not work: baton ${args[0]} ended with ${status}\n${lines.join('\n')}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
