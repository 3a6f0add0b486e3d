import { modelText } from '../../base/model-text.ts'
import { cutText } from '../../base/cut-text.ts'
import { displayPath } from '../../base/files.ts'
import { untilEnded } from '../../base/process.ts'
import { emit } from '../../event/context.ts'
import type { EffectRequest, Granted } from '../../event/effects.ts'
import { callPlace } from '../../event/place.ts'
import { commandSubject } from '../command-line.ts'
import { mayEnter, settleDirectory } from '../shell/directory.ts'
import { statusText } from '../shell/end-text.ts'
import { startLine } from '../shell/run-line.ts'
import { statusAt } from '../workspace-reads.ts'
import { defineTool, type ToolCall, type ToolOutput } from './kind.ts'
import { oneLine } from './paths.ts'
import { printedOutput } from './printed.ts'

interface BashInput {
  readonly command: string
  /** Seconds. */
  readonly timeout?: number
  readonly background?: boolean
  /** Shown to the user. */
  readonly description?: string
}

const usualSeconds = 120
const mostSeconds = 600

/** Runs a command line in the sandbox, after it was permitted. */
export const bash = defineTool<BashInput>({
  name: 'bash',
  description: modelText`Run a command line in bash and get its output and exit code. Each call is a new shell that starts in the folder where the previous one ended: cd persists, variables and functions do not. There is no terminal and stdin is empty, so interactive programs fail. The command is stopped after ${usualSeconds} seconds, or after timeout. With background it keeps running while you do other things: bash_output shows its output, kill ends it. Prefer the other tools, if you have them, for reading and changing files.`,
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', minLength: 1, maxLength: 100_000, description: modelText`The command line.` },
      timeout: {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: mostSeconds,
        description: modelText`Seconds until it is stopped; default: ${usualSeconds}, or no limit in the background.`,
      },
      background: { type: 'boolean', description: modelText`Return immediately and keep it running.` },
      description: {
        type: 'string',
        description: modelText`What it does, in a few words, shown to the user who approves it.`,
      },
    },
    required: ['command'],
    additionalProperties: false,
  },
  subject: ({ command }) => commandSubject(command),
  shown(input, { baseDir, shell }) {
    const directory = displayPath(baseDir, shell.directory())
    return { ...input, ...(directory === '.' ? {} : { directory }) }
  },
  preview: async (input, { context }) => (context.scope.dry === 'changes' ? notInDryRun(input) : undefined),
  async run(input, call) {
    const { box, context, at, permit } = call
    const { scope, services } = context
    const { command, background = false } = input
    if (scope.dry === 'changes') return notInDryRun(input)
    if (command.includes('\0')) return { text: modelText`a command line cannot contain a NUL character`, isError: true }
    const cwd = displayPath(scope.folders.workspace, box.shell.directory())
    const request = { command, cwd, ...(background && { background }) }
    return services.effects.perform<ToolOutput>(
      callPlace(at, 0),
      { ...commandEffect, request },
      (stop, { process }) => {
        const line = { ...input, signal: AbortSignal.any([stop, services.signal]), process }
        return background ? startInBackground(line, call) : runLine(line, call)
      },
      permit,
    )
  },
  async close({ shell }, context) {
    const left = await shell.jobs.close()
    if (left.length === 0) return
    const shown = left.map(({ id, line }) => `${id} (${oneLine(cutText(line, 80))})`).join(', ')
    emit(context, { type: 'warning', message: `background commands stopped at the end of the conversation: ${shown}` })
  },
})

/**
 * The effect of a command line: a program that packs need a capability for, and that only the user may have run again.
 */
const commandEffect = {
  kind: 'command',
  action: { kind: 'command', program: 'bash', caller: 'bash' },
  repeat: 'unsafe',
  assumed: { text: modelText`[it counts as done; its output is unknown]` },
} as const satisfies Partial<EffectRequest<ToolOutput>>

function notInDryRun({ command }: BashInput): ToolOutput {
  return { text: modelText`not run, because this is a dry run: ${command}`, isError: true }
}

interface Line extends BashInput, Pick<Granted, 'process'> {
  readonly signal: AbortSignal
}

/**
 * The folder a line runs in: the session's folder, or the base folder if that is gone or its path now leads elsewhere.
 */
function directoryFor({ box: { shell, baseDir }, context }: ToolCall): {
  readonly path: string
  readonly lost?: string
} {
  const path = shell.directory()
  const isThere = statusAt(path)?.kind === 'folder' && mayEnter(path, context)
  return isThere ? { path } : { path: baseDir, lost: `[it ran in the base folder: ${path} is gone]` }
}

async function runLine(line: Line, call: ToolCall): Promise<ToolOutput> {
  const { context } = call
  const { command, timeout = usualSeconds, process, signal } = line
  const { path, lost } = directoryFor(call)
  const running = await startLine({ line: command, directory: path, timeLimitMs: timeout * 1000 }, context, process)
  const ended = await untilEnded(running, signal)
  const { directory = path, remark } = settleDirectory(ended.directory, path, context)
  const status = statusText(ended, timeout)
  const { text, kept } = printedOutput(running.output, { nothing: '[no output]', runs: false }, call)
  const remarks = [lost, ended.leftOthers ? '[the processes it had left running were ended]' : undefined, remark]
  return {
    text: [status, text, ...remarks].filter((one) => one !== undefined).join('\n'),
    directory,
    ...(status === undefined ? {} : { isError: true }),
    ...(kept === undefined ? {} : { kept }),
  }
}

async function startInBackground({ command, timeout, process }: Line, call: ToolCall): Promise<ToolOutput> {
  const { box, context } = call
  const { path, lost } = directoryFor(call)
  const limit = timeout === undefined ? {} : { timeLimitMs: timeout * 1000 }
  const line = { line: command, directory: path, ...limit }
  const { id } = await box.shell.jobs.start(command, () =>
    startLine(line, context, (pid) => process(pid, { stays: true })),
  )
  const told = `It runs in the background as ${id}: bash_output shows what it has printed, kill ends it.`
  return { text: lost === undefined ? told : `${told}\n${lost}`, job: id }
}
