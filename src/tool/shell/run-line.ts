import { modelText } from '../../base/model-text.ts'
import { commandEnvironment } from '../../base/command.ts'
import { BatonError } from '../../base/error.ts'
import { findProgram } from '../../base/program.ts'
import { passesVariable } from '../../event/permission.ts'
import { startBoxed } from '../sandbox/run-boxed.ts'
import { createOutputWindow } from './output-window.ts'
import type { BoxContext, StartedBox } from '../sandbox/boxed-command.ts'
import type { EndedLine, RunningLine } from './session.ts'

export interface ShellLine {
  readonly line: string
  /** Absolute; a folder. */
  readonly directory: string
  /** No limit if omitted. */
  readonly timeLimitMs?: number
}

/**
 * Starts a line in a new shell that reads no configuration, in the sandbox that the rights of the call require. It has
 * no terminal and an empty stdin. `onStart` is called with its process before any of the line runs.
 * @throws BatonError SCRIPT_FAILED if no shell can be started, and what `startBoxed` throws
 */
export async function startLine(
  { line, directory, timeLimitMs }: ShellLine,
  context: BoxContext,
  onStart: (pid: number) => void = () => {},
): Promise<RunningLine> {
  const { services, scope } = context
  const { workspace } = scope.folders
  const bash = findProgram('bash', services.env, workspace)
  const shell = bash ?? findProgram('sh', services.env, workspace) ?? '/bin/sh'
  const flags = bash === undefined ? [] : ['--noprofile', '--norc']
  const args = [...flags, '-c', wrapper(bash === undefined ? 8 : 250), 'bash', line]
  const environment = { ...environmentOf(context), PWD: directory }
  const output = createOutputWindow()
  const said = createOutputWindow(mostInPath)
  const options = {
    command: shell,
    args,
    cwd: directory,
    environment,
    ...(timeLimitMs === undefined ? {} : { timeLimitMs }),
    onStart,
    onOutput: { stdout: output.add, stderr: output.add },
    onMessage: said.add,
  }
  const process = await startBoxed(options, context, [directory])
  if (process.kind === 'not_started') {
    throw new BatonError('SCRIPT_FAILED', modelText`the shell ${shell} cannot be started: ${process.reason}`, {
      hint: 'Use a shorter command line, or install bash.',
    })
  }

  async function untilEnded({ ended }: StartedBox): Promise<EndedLine> {
    const end = await ended
    const { head, tail } = said.take()
    return { ...end, directory: Buffer.concat([head, tail]).toString('utf8').replace(/\n$/, '') }
  }

  return { pid: process.pid, stop: process.stop, output, ended: untilEnded(process) }
}

/** Longer than any path the system accepts. */
const mostInPath = 4096

/**
 * Shell code around a line: it merges both streams into one, and reports the final working directory. The descriptor
 * for that report is moved out of the range that lines use.
 */
function wrapper(descriptor: number): string {
  return [
    `exec ${descriptor}>&3 3>&- 2>&1`,
    `trap 'command pwd -P >&${descriptor}' EXIT`,
    'REPLY=$1; shift; eval "$REPLY"',
  ].join('; ')
}

/** Programs would use these to prompt a user who is not there. */
const forPeople: ReadonlySet<string> = new Set(['DISPLAY', 'WAYLAND_DISPLAY', 'GPG_TTY', 'BROWSER'])
/** A URL with a user name or password. */
const withPassword = /:\/\/[^/\s]*@/

/**
 * The environment of a line: that of script commands, without URLs that contain a password. Editors, pagers and prompts
 * fail instead of waiting for a user.
 */
function environmentOf({ services, scope }: BoxContext): Readonly<Record<string, string>> {
  const passes = (name: string): boolean => !forPeople.has(name) && passesVariable(scope.rights, name)
  const given = Object.entries(commandEnvironment(services.env, passes))
  return {
    ...Object.fromEntries(given.filter(([, value]) => !withPassword.test(value))),
    TERM: 'dumb',
    PAGER: 'cat',
    EDITOR: 'false',
    VISUAL: 'false',
    GIT_TERMINAL_PROMPT: '0',
  }
}
