import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { closedPipe, StopSignal } from '../../base/stop.ts'
import { harmless } from '../../render/harmless.ts'
import { createPaint } from '../../render/style.ts'
import { type RunReport, type StartOptions, startRun } from '../../runner.ts'
import { surroundings } from '../environment.ts'
import { openInEditor } from '../open-editor.ts'
import type { CommandIo } from '../io.ts'
import type { RunFlags } from '../options.ts'
import { type PromptSource, promptSource } from '../prompt-source.ts'
import { describeError } from '../report.ts'
import { openResultFile, type ResultSink } from '../result-file.ts'
import { createScreen } from '../screen.ts'

/** How long a person's run waits for an overloaded host (DESIGN 8). */
const defaultPatienceMs = 10 * 60_000

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
  if (!flags.watch) return (await runOnce({ ...prepared, result }, io)).exitCode
  const { watchCommand } = await import('./watch.ts')
  return watchCommand(prepared, io, (each, ownIo) =>
    runOnce({ ...prepared, ...each, result: openResult(flags, { ...io, cwd }) }, ownIo),
  )
}

interface PreparedRun extends Pick<StartOptions, 'log' | 'openBudget'> {
  readonly flags: RunFlags
  readonly source: PromptSource
  readonly cwd: string
  readonly env: CommandIo['env']
  readonly result: ResultSink
}

async function runOnce(
  { flags, source, cwd, env, result, ...watched }: PreparedRun,
  io: CommandIo,
): Promise<RunReport> {
  const screen = createScreen(flags, { ...io, env, result: result.write })
  try {
    const report = await startRun(
      source.file,
      {
        cwd,
        env,
        home: io.home,
        inputs: flags.inputs,
        onFiles: flags.onFiles,
        overrides: [...flags.config, ...costLimit(flags)],
        signal: io.signal,
        patienceMs: defaultPatienceMs,
        vars: flags.vars,
        ...given({ ...flags, ...source }),
        ...watched,
      },
      (event) => screen.event(event),
    )
    screen.close()
    result.finish(report.exitCode)
    const paint = createPaint({ env, isTerminal: io.errIsTerminal })
    if (report.error instanceof StopSignal) {
      if (report.exitCode !== closedPipe) io.err(`${report.error.message}\n`)
      return report
    }
    if (report.error !== undefined) io.err(report.mask(describeError(report.error, { cwd: io.cwd, paint })))
    if (report.skipped !== undefined && flags.level !== 'quiet') {
      io.err(
        `${paint('yellow', 'skipped')}: ${harmless(report.skipped.reason)}\n${paint('cyan', 'hint')}: ${harmless(report.skipped.hint)}\n`,
      )
    }
    return report
  } finally {
    screen.close()
  }
}

function refuseBadNames({ model, outputSchema }: RunFlags): void {
  if (model?.trim() === '') {
    throw new BatonError('USAGE', '-m is empty', { hint: 'Name a model, or leave -m out for the default.' })
  }
  if (outputSchema?.trim() === '') {
    throw new BatonError('USAGE', '--output-schema is empty', { hint: 'Name a file with a JSON Schema.' })
  }
}

function costLimit({ maxCost }: RunFlags): readonly string[] {
  if (maxCost === undefined) return []
  if (/^(?:\d+(?:\.\d*)?|\.\d+)$/.test(maxCost) && Number(maxCost) > 0) return [`budget.usd=${Number(maxCost)}`]
  throw new BatonError('USAGE', `--max-cost ${maxCost} is not an amount in US dollars`, {
    hint: 'Write for example --max-cost 0.50.',
  })
}

/** `--output`: stdout stays empty, but for events. Events are whole whatever becomes of the file. */
function openResult({ output, file, json, level }: RunFlags, { cwd, out, outIsTerminal, err }: CommandIo): ResultSink {
  if (output === undefined) return { write: json ? () => undefined : out, finish: () => undefined }
  const note = level === 'quiet' ? () => undefined : err
  const rescue = outIsTerminal ? (text: string) => out(harmless(text)) : out
  return openResultFile(output, { cwd, source: file, note, rescue: json ? () => undefined : rescue })
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
