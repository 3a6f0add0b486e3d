import { setTimeout as sleep } from 'node:timers/promises'
import { constants } from 'node:os'
import { modelText } from '../../base/model-text.ts'
import { cutText } from '../../base/cut-text.ts'
import { defined } from '../../base/json.ts'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import { untilEnded } from '../../base/process.ts'
import { emit, type RunContext } from '../../event/context.ts'
import { type Message, type ToolCallPart, toolCallsOf } from '../../event/message.ts'
import type { EffectRequest, Granted } from '../../event/effects.ts'
import { callPlace, openerOf, placeText } from '../../event/place.ts'
import { commandSubject } from '../command-line.ts'
import { startLine } from '../shell/run-line.ts'
import { statusAt } from '../workspace-reads.ts'
import { defineTool, isCallOfModel, type Toolbox, type ToolCall, type ToolOutput } from './kind.ts'
import { oneLine } from './paths.ts'
import type { Job, EndedLine } from '../shell/session.ts'
import { lastLines, type OutputWindow, printedText } from '../shell/output-window.ts'
import { cutMiddle, forModel, forProgram, outputPrefix, readOutput } from './output.ts'
import { mayRead, type ReadContext } from '../guard.ts'

interface BashInput {
  readonly command: string
  /** Seconds. */
  readonly timeout?: number
  readonly background?: boolean
  /** Shown to the user. */
  readonly description?: string
}

const defaultSeconds = 120
const mostSeconds = 600

/** Runs a command line in the sandbox, after it was permitted. */
export const bash = defineTool<BashInput>({
  name: 'bash',
  description: modelText`Run a command line in bash and get its output and exit code. Each call is a new shell that starts in the folder where the previous one ended: cd persists, variables and functions do not. There is no terminal and stdin is empty, so interactive programs fail. The command is stopped after ${defaultSeconds} seconds, or after timeout. With background it keeps running while you do other things: bash_output shows its output, kill ends it. Prefer the other tools, if you have them, for reading and changing files.`,
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'string', minLength: 1, maxLength: 100_000, description: modelText`The command line.` },
      timeout: {
        type: 'number',
        exclusiveMinimum: 0,
        maximum: mostSeconds,
        description: modelText`Seconds until it is stopped; default: ${defaultSeconds}, or no limit in the background.`,
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
    const left = await shell.close()
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
  const { command, timeout = defaultSeconds, process, signal } = line
  const { path, lost } = directoryFor(call)
  const running = await startLine({ line: command, directory: path, timeLimitMs: timeout * 1000 }, context, process)
  const endTail = showTail(running.output, context)
  const ended = await untilEnded(running, signal).finally(endTail)
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

/** Between two events about the output, in milliseconds. */
const tailMs = 500
const tailLines = 5

/**
 * Reports the last lines of an output while they change. Returns the function that ends this, with a last report if
 * there was one before.
 */
function showTail(output: OutputWindow, { scope, services }: RunContext): () => void {
  let told = 0
  const tell = (): void => {
    const size = output.size()
    if (size === told) return
    told = size
    const at = openerOf(scope.at)
    services.events(at, {
      type: 'tool.output',
      id: services.callId ?? placeText(scope.at),
      name: 'bash',
      text: lastLines(output, tailLines),
    })
  }
  const timer = setInterval(tell, tailMs)
  timer.unref()
  return () => {
    clearInterval(timer)
    if (told > 0) tell()
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

/** Where the next line runs, and what to tell the model about it. */
interface Settled {
  /** Absolute, links resolved. If omitted, the directory does not change. */
  readonly directory?: string
  readonly remark?: string
}

/**
 * The folder for the next line, from the final working directory that a shell reports. It is checked like any path a
 * model names: it is not used if the tool `read` would be refused there, or if it is not a folder.
 */
function settleDirectory(said: string, before: string, context: ReadContext): Settled {
  if (said === before || said === '' || said.includes('\0') || !said.startsWith('/')) return {}
  const { workspace } = context.scope.folders
  const shown = (path: string): string => JSON.stringify(displayPath(workspace, path))
  const stays = `the next command runs in ${shown(before)} again`
  const directory = realOf(said)
  if (directory === undefined)
    return { remark: `[${stays}: the folder it ended in does not exist outside its sandbox]` }
  if (directory === before) return {}
  if (!mayEnter(directory, context)) return { remark: `[${stays}: ${shown(directory)} may not be read]` }
  return { directory, remark: `[the next command runs in ${shown(directory)}]` }
}

function realOf(path: string): string | undefined {
  try {
    const real = realPath(path)
    return statusAt(real)?.kind === 'folder' ? real : undefined
  } catch {
    return undefined
  }
}

/** Whether commands may run in a folder (absolute, links resolved). */
function mayEnter(directory: string, context: ReadContext): boolean {
  const { scope, services } = context
  if (!mayRead(directory, context)) return false
  if (isInside(scope.folders.workspace, directory)) return true
  const subject = { kind: 'path', path: directory } as const
  return services.permission.check({ kind: 'tool', tool: 'read', input: null, subject }).kind === 'allow'
}

interface OutputInput {
  readonly id: string
  /** Of an output that was cut: the first line. */
  readonly offset?: number
  /** Seconds. */
  readonly wait?: number
}

const mostWaitSeconds = 600

/**
 * Shows what a background command has printed since the last call, and whether it is still running. Where there is no
 * `read`, it shows the rest of outputs that were cut.
 */
export const bashOutput = defineTool<OutputInput>({
  name: 'bash_output',
  description: modelText`Show the new output of a background command since the last call, and whether it is still running or how it ended; or more of an output that was cut.`,
  parameters: {
    type: 'object',
    properties: {
      id: {
        type: 'string',
        minLength: 1,
        description: modelText`The id that bash returned, such as bash_1, or the name of an output that was cut (output:…).`,
      },
      offset: {
        type: 'integer',
        minimum: 1,
        description: modelText`The first line of an output that was cut, counted from 1.`,
      },
      wait: {
        type: 'number',
        minimum: 0,
        maximum: mostWaitSeconds,
        description: modelText`Seconds to wait for its end; default: 0.`,
      },
    },
    required: ['id'],
    additionalProperties: false,
  },
  isIdle: (box, said) => hasNoJobs(box, said) && (box.hasRead || box.outputs.isEmpty()),
  run({ id, offset, wait = 0 }, call) {
    const { context, box, at } = call
    const { effects, signal, texts } = context.services
    const args = offset === undefined ? [id] : [id, offset]
    return effects.observeAsync(callPlace(at, 0), { name: 'bash_output', args }, async () => {
      if (id.startsWith(outputPrefix)) return readOutput({ path: id, ...defined({ offset }) }, { box, texts })
      const job = findJob(id, box)
      if ('text' in job) return job
      await atMost(wait * 1000, job.running.ended, signal)
      return stateOf(job, call)
    })
  },
})

/** Whether nothing has run in the background of the conversation, also in earlier runs of it. */
function hasNoJobs({ shell: { jobs } }: Toolbox, said: readonly Message[]): boolean {
  const isStart = ({ name, input }: ToolCallPart): boolean => name === 'bash' && /"background"\s*:\s*true/.test(input)
  return jobs.ids().length === 0 && !said.flatMap(toolCallsOf).some(isStart)
}

/** The job with that name, or an output that says why there is none. */
function findJob(id: string, { shell: { jobs } }: Toolbox): Job | ToolOutput {
  const job = jobs.find(id)
  if (job === 'gone') {
    return {
      text: modelText`${id} was ended with the process of the run that had started it: start it again`,
      isError: true,
    }
  }
  if (job !== undefined) return job
  const known = jobs.ids()
  const others = known.length === 0 ? ': none was started' : `; known commands: ${known.join(', ')}`
  return { text: modelText`there is no command ${id} in the background${others}`, isError: true }
}

function stateOf(job: Job, call: ToolCall): ToolOutput {
  const ended = job.end()
  const { text, kept } = printedOutput(
    job.running.output,
    { nothing: '[nothing new]', runs: ended === undefined },
    call,
  )
  const state = ended === undefined ? 'is running' : `has ended: ${statusText(ended, undefined) ?? 'exit code 0'}`
  return { text: `${job.id} ${state}\n${text}`, ...(kept === undefined ? {} : { kept }) }
}

async function atMost(ms: number, ended: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (ms === 0) return
  const done = new AbortController()
  const time = sleep(ms, undefined, { signal: AbortSignal.any([signal, done.signal]) }).catch(() => undefined)
  await Promise.race([time, ended])
  done.abort()
  signal.throwIfAborted()
}

interface KillInput {
  readonly id: string
}

/** Ends a background command and everything it has started. */
export const kill = defineTool<KillInput>({
  name: 'kill',
  description: modelText`End a background command and all processes it has started.`,
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 1, description: modelText`The id that bash returned, such as bash_1.` },
    },
    required: ['id'],
    additionalProperties: false,
  },
  isIdle: hasNoJobs,
  run({ id }, { context, box, at, permit }) {
    const input = { id }
    const action = { kind: 'tool', tool: 'kill', input } as const
    return context.services.effects.perform<ToolOutput>(
      callPlace(at, 0),
      { kind: 'tool', request: { tool: 'kill', input }, action, repeat: 'safe' },
      async () => {
        const job = findJob(id, box)
        if ('text' in job) return job
        if (job.end() !== undefined) return { text: modelText`${id} had already ended; bash_output shows how` }
        await job.running.stop()
        await job.running.ended
        return { text: modelText`${id} was ended; bash_output shows what it had printed` }
      },
      permit,
    )
  },
})

/** What a command has printed since the last call, truncated to what a model gets at once. */
function printedOutput(
  output: OutputWindow,
  /** `nothing`: the text to use if there is no output. `runs`: it may print more. */
  { nothing, runs }: { readonly nothing: string; readonly runs: boolean },
  { box, context, at }: Pick<ToolCall, 'box' | 'context' | 'at'>,
): Pick<ToolOutput, 'text' | 'kept'> {
  const text = printedText(output.take({ isWhole: !runs })).replace(/\n+$/, '')
  const part = isCallOfModel(at) ? forModel : forProgram
  return cutMiddle(text === '' ? nothing : text, part, { box, texts: context.services.texts })
}

/**
 * How a command ended, as the first line of its result for a model; undefined if it succeeded. `timeout` is in seconds.
 */
function statusText({ end, stopped }: EndedLine, timeout: number | undefined): string | undefined {
  if (stopped !== undefined) return modelText`ended by its sandbox: ${stopped}`
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? undefined : `exit code ${end.code}${signalOf(end.code)}`
    case 'killed':
      return modelText`ended by ${end.signal}`
    case 'timed_out':
      return modelText`stopped at its time limit${timeout === undefined ? '' : ` of ${timeout} s`}; this is what it had printed`
  }
}

/** Shells report the signal that ended a program as an exit code above 128. */
function signalOf(code: number): string {
  const found = Object.entries(constants.signals).find(([, number]) => number === code - 128)
  return found === undefined ? '' : ` (${found[0]})`
}
