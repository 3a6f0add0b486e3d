import { runProcess } from '../base/process.ts'
import { type Check, type Patient } from './check.ts'
import { programPath } from './machine.ts'

const limitMs = 5_000

export async function checkGit({ env, home, cwd, signal }: Patient): Promise<Check> {
  const name = 'git'
  const command = programPath('git', env)
  const hint = 'Agents that look at changes need it: install git.'
  if (command === undefined) return { name, status: 'warn', message: 'is not found', hint }
  const environment = { PATH: env['PATH'] ?? '', HOME: home, LC_ALL: 'C' }
  const { end, stdout } = await runProcess(
    { command, args: ['--version'], cwd, environment, timeLimitMs: limitMs, maxOutputBytes: 1000 },
    signal,
  )
  if (end.kind !== 'exited' || end.code !== 0) {
    return { name, status: 'warn', message: `${command} does not say its version`, hint }
  }
  return { name, status: 'ok', message: stdout.text.trim().replace(/^git version /, '') }
}
