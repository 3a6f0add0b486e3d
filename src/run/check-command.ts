import { BatonError } from '../base/error.ts'
import { commandEnvironment } from '../base/command.ts'
import type { ProcessResult } from '../base/process.ts'
import { below, type Gate, type Surroundings } from '../event/context.ts'
import type { BoxContext } from '../tool/sandbox/boxed-command.ts'
import { passesVariable } from '../event/permission.ts'
import { part, type PartName } from '../event/place.ts'

export interface ShellCommand {
  /** A command line for `sh`, as written. */
  readonly line: string
  readonly timeLimitMs: number
  /** For messages: `until`. */
  readonly key: string
  /** Throws if the end fails the run; a resumed run then runs the command again. */
  readonly refuse?: (end: CommandEnd) => void
  /** Its standard input; default: empty. */
  readonly input?: string
}

/** How a command ended. Plain JSON, because it is recorded. */
export interface CommandEnd {
  /** Undefined: it was ended by a signal or by its time limit. */
  readonly code?: number
  /** The end of its output, of both streams. */
  readonly output: string
  readonly stdout: string
}

const keptOutput = 1024 * 1024
/** Characters of the output that are kept in the record and shown to the next iteration. */
const shownOutput = 4_000

/** What running a command takes of a run. */
export type CheckContext = BoxContext & { readonly services: Gate & Surroundings }

/**
 * Runs a command of the prompt file in the workspace, as the user, and without keys in its environment. A resumed run
 * may run it again, because only its exit matters, not its effects.
 * @throws BatonError SCRIPT_FAILED if no shell can be started
 */
export async function runCheck(
  name: Extract<PartName, 'until' | 'score' | 'gate' | 'check'>,
  command: ShellCommand,
  context: CheckContext,
): Promise<CommandEnd> {
  const { scope, services } = below(context, part(name))
  const { line, timeLimitMs, input } = command
  return services.effects.perform(
    scope.at,
    {
      kind: 'command',
      request: { command: 'sh', args: ['-c', line], ...(input === undefined ? {} : { input }) },
      action: { kind: 'command', program: 'sh', caller: command.key },
      repeat: 'safe',
    },
    async (stop, { process }) => {
      const { runProcess } = await import('../base/process.ts')
      const environment = commandEnvironment(services.env, (variable) => passesVariable(scope.rights, variable))
      const signal = AbortSignal.any([stop, services.signal])
      const cwd = scope.folders.workspace
      const options = {
        command: 'sh',
        args: ['-c', line],
        cwd,
        environment,
        timeLimitMs,
        maxOutputBytes: keptOutput,
        onStart: process,
        ...(input === undefined ? {} : { input }),
      }
      const end = endOf(
        scope.rights.sandbox?.scripts === true
          ? await (await import('../tool/sandbox/run-boxed.ts')).runBoxed(options, context, signal)
          : await runProcess(options, signal),
        command,
      )
      command.refuse?.(end)
      return end
    },
  )
}

function endOf({ end, stdout, stderr }: ProcessResult, { key, timeLimitMs }: ShellCommand): CommandEnd {
  const printed = [stdout.text, stderr.text].map((text) => text.trimEnd()).filter((text) => text !== '')
  const given = { output: tail(printed.join('\n')), stdout: tail(stdout.text) }
  switch (end.kind) {
    case 'exited':
      return { code: end.code, ...given }
    case 'killed':
      return { ...given, output: `${given.output}\n(ended by ${end.signal})`.trimStart() }
    case 'timed_out':
      return { ...given, output: `${given.output}\n(stopped after ${timeLimitMs / 1000} s)`.trimStart() }
    case 'not_started':
      throw new BatonError('SCRIPT_FAILED', `the command of "${key}" cannot be run: ${end.reason}`, {
        hint: 'It is run by sh, which must be installed and found in PATH.',
      })
  }
}

/** The end of the output; if truncated, it starts at the beginning of a line. */
function tail(text: string): string {
  const characters = Array.from(text)
  if (characters.length <= shownOutput) return text
  const end = characters.slice(-shownOutput).join('')
  return `…${end.slice(end.indexOf('\n'))}`
}
