import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { findRun } from '../../journal/find-run.ts'
import { harmless } from '../../render/harmless.ts'
import { type Given, type RecordedRun, replayRun, type ReplayReport } from '../../wiring/replay.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { RunFlags } from '../options.ts'
import { openResult, presentRun } from '../present-run.ts'
import { promptSource } from '../prompt-source.ts'
import { runsFolderOf } from '../runs-folder.ts'

/** `baton run [FILE] --replay RUN|FILE` (DESIGN 11, 13): runs against a record; gives the exit code. */
export async function replayCommand(flags: RunFlags, replay: string, io: CommandIo): Promise<number> {
  refuseTogether(flags)
  const { cwd, env } = surroundings(flags, io)
  const record = await recordOf(replay, flags, io)
  const result = openResult(flags, { ...io, cwd })
  const isGiven = flags.file !== '' || flags.prompt !== undefined
  const source = isGiven ? await promptSource(flags, io) : undefined
  const given = givenOf(flags, source?.text)
  const options = { record, cwd, env, home: io.home, signal: io.signal, observations: 'recorded', given } as const
  let report: ReplayReport | undefined
  await presentRun({ flags, env, result }, io, async (listener) => {
    report = await replayRun(source?.text === undefined ? source?.file : undefined, options, listener)
    return report
  })
  if (report === undefined) return 1
  if (!flags.json && flags.level !== 'quiet') for (const line of summaryLines(report)) io.err(`${harmless(line)}\n`)
  return report.exitCode
}

function refuseTogether({ watch, record }: RunFlags): void {
  const other = watch ? '--watch' : record === undefined ? undefined : '--record'
  if (other === undefined) return
  throw new BatonError('USAGE', `--replay and ${other} do not go together`, { hint: 'Leave one of them out.' })
}

/** A file is a cassette; anything else names a run of this workspace. */
async function recordOf(replay: string, flags: RunFlags, io: CommandIo): Promise<RecordedRun> {
  const file = resolve(surroundings(flags, io).cwd, replay)
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return { kind: 'cassette', file }
  const folder = await runsFolderOf(flags, io)
  try {
    return { kind: 'run', folder: findRun(folder, replay) }
  } catch (error) {
    if (!/[./]/.test(replay)) throw error
    throw new BatonError('USAGE', `--replay ${replay}: there is no such file, and no such run`, {
      hint: 'Name a cassette, or a run that baton runs lists.',
      cause: error,
    })
  }
}

function givenOf(
  { inputs, onFiles, config, vars, model, dry, outputSchema }: RunFlags,
  text: string | undefined,
): Given {
  return {
    ...(inputs.length === 0 ? {} : { inputs }),
    ...(onFiles.length === 0 ? {} : { onFiles }),
    ...(config.length === 0 ? {} : { overrides: config }),
    ...(vars.length === 0 ? {} : { vars }),
    ...(model === undefined ? {} : { model }),
    ...(dry === undefined ? {} : { dry }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(text === undefined ? {} : { text }),
  }
}

const kindNames: Readonly<Record<string, readonly [one: string, several: string]>> = {
  model: ['model call', 'model calls'],
  http: ['HTTP request', 'HTTP requests'],
  command: ['command', 'commands'],
  file: ['file change', 'file changes'],
}

function summaryLines({ replayed, isSameResult, recordedExit, exitCode, scratch }: ReplayReport): readonly string[] {
  const counts = Object.entries(replayed).map(([kind, count]) => `${count} ${nameOf(kind, count)}`)
  const what = counts.length === 0 ? 'nothing had to be answered' : counts.join(', ')
  const lines = [`replayed: ${what}${exitCode === 5 ? '' : resultText({ isSameResult, recordedExit, exitCode })}`]
  if (scratch === undefined) return lines
  const { folder, files, unlike } = scratch
  const where = `files are in ${folder}${files.length === 0 ? '' : `: ${files.join(', ')}`}`
  if (unlike.length === 0) return [...lines, where]
  return [...lines, where, `not as the recorded run made them: ${unlike.join(', ')}`]
}

function nameOf(kind: string, count: number): string {
  return kindNames[kind]?.[count === 1 ? 0 : 1] ?? kind
}

function resultText({
  isSameResult,
  recordedExit,
  exitCode,
}: Pick<ReplayReport, 'isSameResult' | 'recordedExit' | 'exitCode'>): string {
  if (recordedExit !== undefined && recordedExit !== exitCode) {
    return `; the recorded run ended with exit code ${recordedExit}, and this one with ${exitCode}`
  }
  if (isSameResult === undefined) return ''
  return isSameResult ? '; the result is the recorded one' : '; the result is another one than the recorded'
}
