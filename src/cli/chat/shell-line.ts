import { runProcess } from '../../base/process.ts'
import { harmless } from '../../base/terminal-text.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { judgeCall } from '../../load/rules-in-force.ts'
import { usageError } from '../command.ts'
import type { Session } from './session.ts'

const timeLimitMs = 10 * 60_000
const maxOutputBytes = 1024 * 1024
/** Characters of its output that the model gets. */
const mostTold = 20_000

/**
 * Runs a command line that the user typed, with the rights of the user. Shows its output, which the model gets with the
 * next message.
 * @throws BatonError USAGE for one that `[permission]` denies
 */
export async function runShellLine(command: string, { chat, around, io }: Session): Promise<void> {
  const { overrides } = chat.settings()
  const config = await loadTargetConfig({ ...around, flags: { overrides } })
  const { verdict } = await judgeCall(`bash ${command}`, config)
  if (verdict === 'deny') {
    throw usageError(`[permission] denies this command: ${command}`, 'See baton config --permission "bash …".')
  }
  const { end, stdout, stderr } = await runProcess(
    {
      command: 'sh',
      args: ['-c', command],
      cwd: around.cwd,
      environment: variablesOf(around.env),
      timeLimitMs,
      maxOutputBytes,
    },
    io.signal,
  )
  const output = [stdout.text, stderr.text]
    .filter((text) => text !== '')
    .join('\n')
    .trimEnd()
  if (output !== '') io.out(`${io.outIsTerminal ? harmless(output) : output}\n`)
  const how = end.kind === 'exited' ? `exit code ${end.code}` : end.kind
  if (end.kind !== 'exited' || end.code !== 0) io.err(`${how}\n`)
  chat.note(`I ran the command ${command} (${how}), which printed:\n${output.slice(0, mostTold)}`)
}

function variablesOf(env: Session['around']['env']): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
