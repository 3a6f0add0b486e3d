import { commandEnvironment } from '../../base/command.ts'
import { BatonError } from '../../base/error.ts'
import { findProgram } from '../../base/program.ts'
import type { StartedProcess } from '../../base/process.ts'
import type { RunContext } from '../../event/context.ts'
import { passesVariable } from '../../event/permission.ts'
import { type EndedBox, startBoxed, type StartedBox } from '../sandbox/run-boxed.ts'
import { createOutputWindow, type OutputWindow } from './output-window.ts'

export interface ShellLine {
  readonly line: string
  /** Absolute; a folder. */
  readonly directory: string
  /** Left out: it may run for ever. */
  readonly timeLimitMs?: number
}

/** A line that runs. */
export interface RunningLine extends Pick<StartedProcess, 'pid' | 'stop'> {
  /** Both streams, in the order in which they were written. */
  readonly output: OutputWindow
  /** Never rejects. */
  readonly ended: Promise<EndedLine>
}

export interface EndedLine extends EndedBox {
  /** The folder that the shell was in at its end, as it says: a line may say what it likes. */
  readonly directory: string
}

/**
 * Starts a line in a shell of its own, which reads no configuration, in the box that the rights of the call ask for. It finds
 * no terminal and nothing to read. `onStart` is called with its process before anything of the line is done.
 * @throws BatonError SCRIPT_FAILED when no shell can be started, and what `startBoxed` throws
 */
export async function startLine(
  { line, directory, timeLimitMs }: ShellLine,
  context: RunContext,
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
    throw new BatonError('SCRIPT_FAILED', `the shell ${shell} cannot be run: ${process.reason}`, {
      hint: 'A shorter command line may help, or bash may have to be installed.',
    })
  }

  async function untilEnded({ ended }: StartedBox): Promise<EndedLine> {
    const end = await ended
    const { head, tail } = said.take()
    return { ...end, directory: Buffer.concat([head, tail]).toString('utf8').replace(/\n$/, '') }
  }

  return { pid: process.pid, stop: process.stop, output, ended: untilEnded(process) }
}

/** Longer than any path that the system takes. */
const mostInPath = 4096

/**
 * What the shell does around a line: it writes both streams to one, and says in the end where it is. The pipe for that is put out
 * of the way of descriptors that lines use.
 */
function wrapper(descriptor: number): string {
  return [
    `exec ${descriptor}>&3 3>&- 2>&1`,
    `trap 'command pwd -P >&${descriptor}' EXIT`,
    'REPLY=$1; shift; eval "$REPLY"',
  ].join('; ')
}

/** Where a question would be put to a person who is not there. */
const forPeople: ReadonlySet<string> = new Set(['DISPLAY', 'WAYLAND_DISPLAY', 'GPG_TTY', 'BROWSER'])
/** An address with a user name, or a password, in it. */
const withPassword = /:\/\/[^/\s]*@/

/**
 * The environment of a line: what commands of scripts get, without addresses that hold a password; editors, pagers and questions
 * end in an error instead of waiting for a person.
 */
function environmentOf({ services, scope }: RunContext): Readonly<Record<string, string>> {
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
