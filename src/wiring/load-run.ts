import { bothReads } from '../base/reads.ts'
import type { Bus } from '../event/bus.ts'
import { type GivenInputs, refuseBoth, workingGlobs } from '../run/inputs.ts'
import type { Invocation } from '../run/invocation.ts'
import { hashOf } from '../run/record.ts'
import { loadTarget, type Target, type TargetOptions, warningsOf } from '../run/target.ts'
import { version } from '../version.ts'
import type { RunPlan, Surroundings } from './conduct.ts'

/**
 * Reads and checks what is to be run.
 * @throws BatonError for everything that is wrong before a run can start
 */
export async function loadRun(plan: RunPlan, surroundings: Surroundings, builtInDir: string): Promise<Target> {
  const inputs = inputsOf(plan.invocation)
  refuseBoth(inputs)
  const loaded = await loadWithFiles(targetOptions(plan, surroundings, builtInDir), inputs)
  return plan.prepare?.(loaded) ?? loaded
}

function targetOptions(
  { invocation, sources, overrides = [] }: RunPlan,
  { env, home, log }: Surroundings,
  builtInDir: string,
): TargetOptions {
  const { file, cwd, text, vars, model, outputSchema } = invocation
  return {
    file,
    cwd,
    env,
    home,
    builtInDir,
    reads: bothReads(log, sources.reads),
    ...(text === undefined ? {} : { text }),
    flags: {
      overrides: [...invocation.overrides, ...overrides],
      vars,
      ...(model === undefined ? {} : { model }),
      ...(outputSchema === undefined ? {} : { outputSchema }),
    },
  }
}

/** `-f` is `working_globs` of a prompt file, and says where they start only once its `base_dir` is known. */
async function loadWithFiles(options: TargetOptions, inputs: GivenInputs): Promise<Target> {
  const target = await loadTarget(options)
  if (target.kind === 'agent' || inputs.globs.length === 0) return target
  const overrides = [...options.flags.overrides, workingGlobs(inputs, target.settings.base_dir)]
  return loadTarget({ ...options, flags: { ...options.flags, overrides } })
}

/** The first event; `target` is undefined when it could not be loaded. */
export function sendStart({ invocation, isResumed }: RunPlan, target: Target | undefined, bus: Bus): void {
  bus.send([], {
    type: 'run.started',
    schema: 1,
    file: invocation.file,
    target: target?.kind ?? 'prompt',
    file_hash: target === undefined ? null : hashOf(target),
    version,
    config_warnings: target === undefined ? [] : warningsOf(target),
    ...(isResumed ? { resumed: true } : {}),
  })
}

/** What `-i` and `-f` give. */
export function inputsOf({ inputs, onFiles, cwd }: Invocation): GivenInputs {
  return { texts: inputs, globs: onFiles, cwd }
}
