import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import { type StartOptions, startRun } from '../../runner.ts'
import { surroundings } from '../environment.ts'
import { openInEditor } from '../open-editor.ts'
import type { CommandIo } from '../io.ts'
import type { RunFlags } from '../options.ts'
import { costLimit, openResult, presentRun } from '../present-run.ts'
import { type PromptSource, promptSource } from '../prompt-source.ts'
import type { ResultSink } from '../result-file.ts'

/** How long a person's run waits for an overloaded host (DESIGN 8). */
const defaultPatienceMs = 10 * 60_000

/** The exit code of a run that was refused for want of trust (DESIGN 12). */
const untrusted = 6

/** `baton run FILE`: the result on stdout, everything else on stderr; gives the exit code. */
export async function runCommand(flags: RunFlags, io: CommandIo): Promise<number> {
  refuseBadNames(flags)
  const { cwd, env } = surroundings(flags, io)
  const result = openResult(flags, { ...io, cwd })
  const source = await promptSource(flags, io)
  if (flags.open && !openInEditor(resolve(cwd, source.file), { env, cwd })) {
    io.err('no editor is known: set VISUAL or EDITOR\n')
  }
  const prepared = { flags, source, cwd, env }
  if (flags.record !== undefined) return runAndRecord({ ...prepared, result }, flags.record, io)
  if (!flags.watch) return (await runTrusted({ ...prepared, result }, io)).exitCode
  const { watchCommand } = await import('./watch.ts')
  return watchCommand(prepared, io, (each, ownIo) =>
    runOnce({ ...prepared, ...each, result: openResult(flags, { ...io, cwd }) }, ownIo),
  )
}

interface PreparedRun extends Pick<StartOptions, 'log' | 'openBudget' | 'reuse' | 'onRecord'> {
  readonly flags: RunFlags
  readonly source: PromptSource
  readonly cwd: string
  readonly env: CommandIo['env']
  readonly result: ResultSink
}

/** Runs again when files were not trusted and a person at the terminal says that they are. */
async function runTrusted(run: PreparedRun, io: CommandIo): Promise<RunReport> {
  const { flags, cwd, env } = run
  for (let { result } = run; ; result = openResult(flags, { ...io, cwd })) {
    const report = await runOnce({ ...run, result }, io)
    if (report.exitCode !== untrusted || report.canResume) return report
    const [{ askForTrust }, { trustPlaces }] = await Promise.all([import('../trust-question.ts'), import('./trust.ts')])
    const places = trustPlaces({ cwd, env, home: io.home })
    if (!(await askForTrust(report.error, { flags, places }, io))) return report
  }
}

async function runOnce(
  { flags, source, cwd, env, result, ...watched }: PreparedRun,
  io: CommandIo,
): Promise<RunReport> {
  return presentRun({ flags, env, result }, io, (listener) =>
    startRun(
      source.file,
      {
        cwd,
        env,
        home: io.home,
        inputs: flags.inputs,
        onFiles: flags.onFiles,
        overrides: [...flags.config, ...costLimit(flags.maxCost)],
        signal: io.signal,
        patienceMs: defaultPatienceMs,
        vars: flags.vars,
        ...given({ ...flags, ...source }),
        ...watched,
      },
      listener,
    ),
  )
}

/** `--record FILE`: also of a run that failed, but not of one that was stopped. */
async function runAndRecord(run: PreparedRun, record: string, io: CommandIo): Promise<number> {
  if (run.flags.watch) {
    throw new BatonError('USAGE', '--record and --watch do not go together', { hint: 'Leave one of them out.' })
  }
  const { checkCassettePlace, writeCassetteFile } = await import('./record.ts')
  const file = resolve(run.cwd, record)
  checkCassettePlace(file)
  let folder: string | undefined
  const { exitCode, stopReason } = await runTrusted({ ...run, onRecord: (kept) => void (folder = kept) }, io)
  if (stopReason === 'cancelled' || folder === undefined) return exitCode
  await writeCassetteFile(file, folder)
  return exitCode
}

function refuseBadNames({ model, outputSchema }: RunFlags): void {
  if (model?.trim() === '') {
    throw new BatonError('USAGE', '-m is empty', { hint: 'Name a model, or leave -m out for the default.' })
  }
  if (outputSchema?.trim() === '') {
    throw new BatonError('USAGE', '--output-schema is empty', { hint: 'Name a file with a JSON Schema.' })
  }
}

type Given = Pick<StartOptions, 'model' | 'dry' | 'text' | 'outputSchema'>

function given({
  model,
  dry,
  text,
  outputSchema,
}: Pick<RunFlags, 'model' | 'dry' | 'outputSchema'> & PromptSource): Given {
  return {
    ...(model === undefined ? {} : { model }),
    ...(dry === undefined ? {} : { dry }),
    ...(text === undefined ? {} : { text }),
    ...(outputSchema === undefined ? {} : { outputSchema }),
  }
}
