import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { findAnyRun } from '../../journal/find-run.ts'
import { harmless } from '../../base/terminal-text.ts'
import { countOf } from '../../render/format.ts'
import { type RecordedRun, replayRun, type ReplayReport } from '../../wiring/replay.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { defined } from '../../base/json.ts'
import { type CommandIo, openWorkplace, type Surroundings } from '../io.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import { presentRun } from '../present-run.ts'
import { type PromptSource, promptSource } from '../prompt-source.ts'
import { workspaceRuns } from '../runs-folder.ts'

/** `baton run [FILE] --replay RUN|FILE`: runs against a record; returns the exit code. */
export async function replayCommand(flags: Flags<'run'>, replay: string, io: CommandIo): Promise<number> {
  refuseCombination(flags)
  const { note, ...workplace } = openWorkplace(flags, io)
  const { cwd, env, home } = workplace
  const record = await recordOf(replay, flags, workplace)
  const isGiven = flags.file !== undefined || flags.prompt !== undefined
  const { file, text, stdin }: Partial<PromptSource> = isGiven ? await promptSource(flags, io) : {}
  const { input, onFiles, config, iter, until, collab, var: vars, model, dry, outputSchema } = flags
  const overrides = overridesOf({ config, iter, until, collab, maxCost: undefined })
  const some = (list: readonly string[]) => (list.length === 0 ? undefined : list)
  const lists = { inputs: some(input), onFiles: some(onFiles), overrides: some(overrides), vars: some(vars) }
  const given = defined({ ...lists, text, stdin, model, dry, outputSchema })
  const options = { record, cwd, env, home, signal: io.signal, observations: 'recorded', given } as const
  const report = await presentRun({ flags, around: workplace }, io, (listener) =>
    replayRun(text === undefined ? file : undefined, options, listener),
  )
  for (const line of summaryLines(report)) note(`${harmless(line)}\n`)
  return report.exitCode
}

function refuseCombination({ watch, record, report }: Flags<'run'>): void {
  const given = { watch: watch || undefined, record, report }
  const other = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`]))[0]
  if (other === undefined) return
  throw usageError(`--replay and ${other} cannot be combined`, 'Leave one of them out.')
}

async function recordOf(replay: string, flags: Flags<'run'>, around: Surroundings): Promise<RecordedRun> {
  const file = resolve(around.cwd, replay)
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return { kind: 'cassette', file }
  const { folder } = await workspaceRuns(flags, around)
  try {
    return { kind: 'run', folder: findAnyRun(folder, replay) }
  } catch (error) {
    if (!/[./]/.test(replay)) throw error
    throw new BatonError('USAGE', `--replay ${replay}: no such file or run`, {
      hint: 'Name a cassette, or a run listed by baton runs.',
      cause: error,
    })
  }
}

const kindNames: Readonly<Record<string, string>> = {
  model: 'model call',
  http: 'HTTP request',
  command: 'command',
  file: 'file change',
}

function summaryLines({ replayed, scratch, ...report }: ReplayReport): readonly string[] {
  const counts = Object.entries(replayed).map(([kind, count]) => {
    const name = kindNames[kind]
    if (kind === 'mcp') return `${countOf(count, 'call')} to ${count === 1 ? 'an MCP server' : 'MCP servers'}`
    return name === undefined ? `${count} ${kind}` : countOf(count, name)
  })
  const what = counts.length === 0 ? 'no effects' : counts.join(', ')
  const lines = [`replayed: ${what}${report.exitCode === 5 ? '' : resultText(report)}`]
  if (scratch === undefined) return lines
  const { folder, files, unlike } = scratch
  return [
    ...lines,
    `files written to ${folder}${files.length === 0 ? '' : `: ${files.join(', ')}`}`,
    ...(unlike.length === 0 ? [] : [`different from the recorded run: ${unlike.join(', ')}`]),
  ]
}

function resultText({ isSameResult, recordedExit, exitCode }: Omit<ReplayReport, 'replayed' | 'scratch'>): string {
  if (recordedExit !== undefined && recordedExit !== exitCode) {
    return `; the recorded run ended with exit code ${recordedExit}, this one with ${exitCode}`
  }
  if (isSameResult === undefined) return ''
  return isSameResult ? '; the result is the same as recorded' : '; the result differs from the recorded one'
}
