import { BatonError, isBatonError } from '../base/error.ts'
import { type Issue, issuesToError } from '../settings/issue.ts'
import { placeInPrompt, type RunSpec } from '../config/run-spec.ts'
import { checkMode } from './check-mode.ts'
import type { StrategyLoader, StrategySurroundings } from './strategy.ts'

/**
 * A rule for prompt files that their schema cannot express: the problems of a file. A run refuses the first one;
 * `baton check` collects them all. Code is loaded only for the files that need it.
 */
type FileRule<Around> = (spec: RunSpec, around: Around) => Promise<readonly BatonError[]>

/** Names in the settings must be known. */
export const nameRules: readonly FileRule<Pick<PartSurroundings, 'strategies'>>[] = [
  toolProblems,
  resourceProblems,
  modeProblems,
]

export interface PartSurroundings extends StrategySurroundings {
  readonly strategies: readonly StrategyLoader[]
}

/** Parts of a file must fit together; they are looked at after its agents were found. */
export const partRules: readonly FileRule<PartSurroundings>[] = [gateProblems, templateProblems, strategyProblems]

/** @throws BatonError the first problem */
export async function refuseProblems<Around>(
  rules: readonly FileRule<Around>[],
  spec: RunSpec,
  around: Around,
): Promise<void> {
  for (const rule of rules) {
    const [first] = await rule(spec, around)
    if (first !== undefined) throw first
  }
}

export async function problemsByRules<Around>(
  rules: readonly FileRule<Around>[],
  spec: RunSpec,
  around: Around,
): Promise<readonly BatonError[]> {
  const found: BatonError[] = []
  for (const rule of rules) found.push(...(await rule(spec, around)))
  return found
}

async function toolProblems(
  spec: RunSpec,
  { strategies }: Pick<PartSurroundings, 'strategies'>,
): Promise<readonly BatonError[]> {
  const { settings, agents } = spec
  const inTables = strategies.flatMap(({ givenOptions }) => givenOptions?.(settings) ?? [])
  const given = [...agents, ...inTables].some(({ options }) => options['tools'] !== undefined)
  if (!given && settings.tools === undefined && settings.disallowed_tools === undefined) return []
  return asErrors(await (await import('./named-tools.ts')).toolIssues(spec, strategies))
}

async function resourceProblems(spec: RunSpec): Promise<readonly BatonError[]> {
  if (spec.settings.context_resources === undefined) return []
  return asErrors(await (await import('./named-tools.ts')).resourceIssues(spec))
}

async function templateProblems({ settings, document, variables }: RunSpec): Promise<readonly BatonError[]> {
  if (!settings.template) return []
  const names = variables?.map(({ name }) => name)
  return (await import('./instruction.ts')).instructionProblems(document, names)
}

async function strategyProblems(
  spec: RunSpec,
  { strategies, ...around }: PartSurroundings,
): Promise<readonly BatonError[]> {
  const found: BatonError[] = []
  for (const { key, problems } of strategies) {
    if (spec.settings[key] !== undefined) found.push(...((await problems?.(spec, around)) ?? []))
  }
  return found
}

/** Issues are one error, which has them all. */
function asErrors([first, ...rest]: readonly Issue[]): readonly BatonError[] {
  return first === undefined ? [] : [issuesToError([first, ...rest])]
}

async function modeProblems(spec: RunSpec): Promise<readonly BatonError[]> {
  try {
    await checkMode(spec)
    return []
  } catch (error) {
    if (!isBatonError(error)) throw error
    return [error]
  }
}

async function gateProblems(spec: RunSpec): Promise<readonly BatonError[]> {
  const { isolation, gate } = spec.settings
  if (gate === undefined || isolation === 'worktree') return []
  return [
    new BatonError('CONFIG_INVALID', '"gate" needs isolation = "worktree"', {
      place: await placeInPrompt(spec, ['gate'], 'key'),
      hint: 'Add isolation = "worktree", or remove gate.',
    }),
  ]
}
