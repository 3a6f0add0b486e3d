import { resolve } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { closedPipe, StopSignal } from '../../base/stop.ts'
import { createAnswerRenderer } from '../../render/answers.ts'
import { createJsonRenderer } from '../../render/json.ts'
import { createLiveRenderer } from '../../render/live.ts'
import { createPinRenderer } from '../../render/pins.ts'
import type { Renderer } from '../../render/renderer.ts'
import { createStepRenderer } from '../../render/steps.ts'
import { createPaint } from '../../render/style.ts'
import { startRun } from '../../runner.ts'
import { surroundings } from '../environment.ts'
import { openInEditor } from '../open-editor.ts'
import type { CommandIo } from '../io.ts'
import type { RunFlags } from '../options.ts'
import { describeError } from '../report.ts'

/** How long a person's run waits for an overloaded host (DESIGN 8). */
const defaultPatienceMs = 10 * 60_000

/** `baton run FILE`: the result on stdout, everything else on stderr; gives the exit code. */
export async function runCommand(flags: RunFlags, io: CommandIo): Promise<number> {
  refuseBadNames(flags)
  const { cwd, env } = surroundings(flags, io)
  if (flags.open && !openInEditor(resolve(cwd, flags.file), { env, cwd })) {
    io.err('no editor is known: set VISUAL or EDITOR\n')
  }
  const renderers = createRenderers(flags, { ...io, env })
  try {
    const report = await startRun(
      flags.file,
      {
        cwd,
        env,
        home: io.home,
        inputs: flags.inputs,
        onFiles: flags.onFiles,
        overrides: [...flags.config, ...costLimit(flags)],
        signal: io.signal,
        patienceMs: defaultPatienceMs,
        ...given(flags),
      },
      (event) => {
        for (const renderer of renderers) renderer.event(event)
      },
    )
    for (const renderer of renderers) renderer.close()
    const paint = createPaint({ env, isTerminal: io.errIsTerminal })
    if (report.error instanceof StopSignal) {
      if (report.exitCode !== closedPipe) io.err(`${report.error.message}\n`)
      return report.exitCode
    }
    if (report.error !== undefined) io.err(report.mask(describeError(report.error, { cwd: io.cwd, paint })))
    if (report.skipped !== undefined && flags.level !== 'quiet') {
      io.err(
        `${paint('yellow', 'skipped')}: ${report.skipped.reason}\n${paint('cyan', 'hint')}: ${report.skipped.hint}\n`,
      )
    }
    return report.exitCode
  } finally {
    for (const renderer of renderers) renderer.close()
  }
}

function refuseBadNames({ model, file }: RunFlags): void {
  if (model?.trim() === '') {
    throw new BatonError('USAGE', '-m is empty', { hint: 'Name a model, or leave -m out for the default.' })
  }
  if (file === '-') {
    throw new BatonError('NOT_AVAILABLE', 'reading the prompt from standard input is not available in this version', {
      hint: 'Write it to a file.',
    })
  }
}

function costLimit({ maxCost }: RunFlags): readonly string[] {
  if (maxCost === undefined) return []
  if (/^\d+(?:\.\d+)?$/.test(maxCost) && Number(maxCost) > 0) return [`budget.usd=${Number(maxCost)}`]
  throw new BatonError('USAGE', `--max-cost ${maxCost} is not an amount in US dollars`, {
    hint: 'Write for example --max-cost 0.50.',
  })
}

function given({ model, dry }: RunFlags): { readonly model?: string; readonly dry?: 'req' | 'res' } {
  return { ...(model === undefined ? {} : { model }), ...(dry === undefined ? {} : { dry }) }
}

function createRenderers({ json, level }: RunFlags, io: CommandIo): readonly Renderer[] {
  const paint = createPaint({ env: io.env, isTerminal: io.errIsTerminal })
  if (json) return [createJsonRenderer(io.out)]

  const lines = createStepRenderer(io.err, { paint, level })
  const live = io.errIsTerminal && !io.env['CI'] && io.env['TERM'] !== 'dumb' && level !== 'quiet'
  const pins = level === 'quiet' ? [] : [createPinRenderer(io.err, { paint })]
  if (!live) return [lines, createAnswerRenderer(io.out), ...pins]
  const status = createLiveRenderer(io.err, { paint, width: io.columns, now: () => performance.now(), lines })
  return [status, createAnswerRenderer(io.out), ...pins]
}
