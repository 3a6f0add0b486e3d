import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { findEditor, startDetached } from '../../base/editor.ts'
import { type StartOptions, startRun } from '../../runner.ts'
import type { RunReport } from '../../wiring/conduct.ts'
import { createPerson } from '../approver.ts'
import { isAttended, type QuestionIo } from '../confirm.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { defined } from '../../base/json.ts'
import { type CommandIo, type Surroundings, surroundings } from '../io.ts'
import { withSuggestion } from '../command-suggestion.ts'
import { overridesOf } from '../../config/request-overrides.ts'
import { presentRun, type Screen } from '../present-run.ts'
import { type PromptSource, promptSource, refuseEmptyNames } from '../prompt-source.ts'
import { openResult } from '../result-file.ts'

const defaultPatienceMs = 10 * 60_000

/** The exit code of a run that was refused because a file is not trusted. */
const untrusted = 6

/** `baton run FILE`: the result on stdout, everything else on stderr; returns the exit code. */
export async function runCommand(flags: Flags<'run'>, io: CommandIo): Promise<number> {
  refuseEmptyNames(flags)
  const around = surroundings(flags, io)
  const { cwd } = around
  // refuses an invalid --output before standard input is read
  openResult(flags, { ...io, cwd })
  if (flags.report !== undefined) (await import('../report-file.ts')).checkReport(flags.report, flags, around)
  if (flags.file?.startsWith('mcp:') === true)
    return runCommand(await (await import('../server-prompt.ts')).asText(flags.file, flags, io), io)
  const source = await promptSource(flags, io)
  if (flags.open && !openInEditor(resolve(cwd, source.file), around)) {
    io.err('no editor is configured: set VISUAL or EDITOR\n')
  }
  const run = { flags, source, around }
  if (flags.record !== undefined) return runAndRecord(run, resolve(cwd, flags.record), io)
  if (!flags.watch) return (await runTrusted(run, io)).exitCode
  const { watchCommand } = await import('./watch.ts')
  const said = new Set<string>()
  return watchCommand(flags, io, (watched, runIo) => runOnce({ ...run, said, ...watched }, runIo))
}

interface PreparedRun extends Pick<StartOptions, 'log' | 'openBudget' | 'reuse' | 'onRecord'> {
  readonly flags: Flags<'run'>
  readonly source: PromptSource
  readonly around: Surroundings
  /** See `StepOptions`. */
  readonly said?: Set<string>
  /** Called once the run is on the screen, with what hides its live view until the returned function is called. */
  readonly onScreen?: (hold: Screen['hold']) => void
}

/** Runs again if files were not trusted and the user at the terminal now trusts them. */
async function runTrusted(run: PreparedRun, io: CommandIo): Promise<RunReport> {
  for (;;) {
    const report = await runOnce(run, io)
    if (report.exitCode !== untrusted || report.hasActed) return report
    const { askForTrust } = await import('./trust.ts')
    if (await isUnattended(run.around)) return report
    if (!(await askForTrust(report.error, { flags: run.flags, around: run.around }, io))) return report
  }
}

/** Whether the user's config says that nobody watches runs. The run was refused, so it has no settings. */
async function isUnattended(around: Surroundings): Promise<boolean> {
  const { own } = await (await import('../../config/config-files.ts')).readConfigFiles(around)
  return own.some(({ path, value }) => path.join('.') === 'run.unattended' && value === true)
}

async function runOnce(
  { flags, source, around, said, onScreen, ...hooks }: PreparedRun,
  io: QuestionIo,
): Promise<RunReport> {
  const { input: inputs, onFiles, var: vars, model, dry, outputSchema } = flags
  const { file, text, stdin } = source
  const given = {
    inputs,
    onFiles,
    overrides: overridesOf(flags),
    vars,
    ...defined({ text, stdin, model, dry, outputSchema }),
  }
  const at = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : resolve(around.cwd, path)
  const files = defined({ output: at(flags.output), record: at(flags.record), report: at(flags.report) })
  const asking = flags.onAsk === 'suspend' ? { onAsk: flags.onAsk } : {}
  const process = { signal: io.signal, isAttended: isAttended(flags, io), patienceMs: defaultPatienceMs }
  const options = { ...around, ...given, ...files, ...asking, ...process, ...hooks }
  const streams = flags.watch && io.outIsTerminal && dry !== 'changes'
  const answers = streams ? (await import('../../render/streamed-answer.ts')).createStreamedAnswer : undefined
  return presentRun({ flags, around, ...defined({ said, answers }) }, io, async (listener, hold) => {
    onScreen?.(hold)
    // a watch session reads keys, and lends the terminal to questions
    const mayAsk = { ...flags, noInput: flags.noInput || (flags.watch && io.lend === undefined) }
    const person = createPerson(mayAsk, { ...io, cwd: around.cwd, hold })
    const report = await startRun(file, { ...options, ...person }, listener)
    return { ...report, error: withSuggestion(report.error, file) }
  })
}

/** `--record FILE`: also writes a failed run, but not a cancelled one. */
async function runAndRecord(run: PreparedRun, file: string, io: CommandIo): Promise<number> {
  if (run.flags.watch) throw usageError('--record and --watch cannot be combined', 'Leave one of them out.')
  const { checkCassettePlace, writeCassetteFile } = await import('../cassette-file.ts')
  checkCassettePlace(file, run.around)
  let folder: string | undefined
  const { exitCode, stopReason } = await runTrusted({ ...run, onRecord: (kept) => void (folder = kept) }, io)
  if (stopReason !== 'cancelled' && folder !== undefined) await writeCassetteFile(file, folder, { env: run.around.env })
  else if (exitCode === 0) {
    throw new BatonError('FILE_FAILED', `${file} was not written, because the run was not recorded`, {
      hint: 'Set [runs] dir in your config file to a local folder that you can write to.',
    })
  }
  return exitCode
}

/** Opens a file without waiting. False if no editor is configured; an editor that fails to start is ignored. */
export function openInEditor(file: string, { env, cwd }: Pick<Surroundings, 'env' | 'cwd'>): boolean {
  const editor = findEditor(env)
  if (editor === undefined) return false
  void startDetached({ command: editor.command, args: [...editor.args, file], cwd, env })
  return true
}
