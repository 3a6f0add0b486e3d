import { join } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { createMask } from '../../journal/secrets.ts'
import { packageRoot } from '../../package-root.ts'
import { planRun } from '../../plan/plan-run.ts'
import { createPaint } from '../../render/style.ts'
import { surroundings } from '../environment.ts'
import type { CommandIo } from '../io.ts'
import type { RunFlags } from '../options.ts'
import { planText } from '../plan-text.ts'
import { costLimit } from '../present-run.ts'
import { promptSource } from '../prompt-source.ts'

export type PlanFlags = Omit<RunFlags, 'output' | 'open' | 'watch' | 'dry' | 'noInput'>

/** `baton plan FILE`: what a run will do and cost at most, as text or as one JSON line; 0, or throws what a run would. */
export async function planCommand(flags: PlanFlags, io: CommandIo): Promise<number> {
  const { model, outputSchema } = flags
  if (model?.trim() === '') {
    throw new BatonError('USAGE', '-m is empty', { hint: 'Name a model, or leave -m out for the default.' })
  }
  const around = surroundings(flags, io)
  const { cwd } = around
  // each look at the environment of the process is a call into the system
  const env = { ...around.env }
  const { file, text } = await promptSource({ ...flags, open: false }, io)
  const { plan, secrets } = await planRun({
    cwd,
    env,
    home: io.home,
    file,
    ...(text === undefined ? {} : { text }),
    builtInDir: join(packageRoot(), 'agents'),
    flags: {
      overrides: [...flags.config, ...costLimit(flags.maxCost)],
      vars: flags.vars,
      ...(model === undefined ? {} : { model }),
      ...(outputSchema === undefined ? {} : { outputSchema }),
    },
    inputs: { texts: flags.inputs, globs: flags.onFiles, cwd },
    signal: io.signal,
  })
  const { hide } = createMask(env, secrets)
  if (flags.json) io.out(`${hide(JSON.stringify(plan))}\n`)
  else io.out(hide(planText(plan, createPaint({ env, isTerminal: io.outIsTerminal }))))
  return 0
}
