import { type BatonError, isBatonError } from '../base/error.ts'
import { type Issue, issuesToError } from '../config/issue.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { checkMode } from './check-mode.ts'
import type { StrategyLoader, StrategySurroundings } from './strategy.ts'

/**
 * A rule for prompt files that their schema cannot express. A run refuses the first problem; `baton check` collects
 * them all. Code is loaded only for the files to which a rule applies.
 */
interface FileRule<Around> {
  readonly applies: (spec: RunSpec) => boolean
  readonly problems: (spec: RunSpec, around: Around) => Promise<readonly BatonError[]>
}

/** Names in the settings must be known. */
export const nameRules: readonly FileRule<void>[] = [
  {
    applies: ({ settings, agents }) =>
      settings.tools !== undefined ||
      settings.disallowed_tools !== undefined ||
      [...agents, ...(settings.workflow?.steps ?? [])].some(({ options }) => options['tools'] !== undefined),
    problems: async (spec) => asErrors(await (await import('./named.ts')).toolIssues(spec)),
  },
  {
    applies: ({ settings }) => settings.context_resources !== undefined,
    problems: async (spec) => asErrors(await (await import('./named.ts')).resourceIssues(spec)),
  },
  { applies: () => true, problems: modeProblems },
]

export interface PartSurroundings extends StrategySurroundings {
  readonly strategies: readonly StrategyLoader[]
}

/** Parts of a file must fit together; they are looked at after its agents were found. */
export const partRules: readonly FileRule<PartSurroundings>[] = [
  {
    applies: ({ settings: { isolation, gate } }) => isolation !== undefined || gate !== undefined,
    problems: async (spec) => (await import('./isolation.ts')).isolationProblems(spec),
  },
  {
    applies: ({ settings }) => settings.template,
    problems: async ({ document }) => (await import('./instruction.ts')).instructionProblems(document),
  },
  {
    applies: () => true,
    async problems(spec, { strategies, ...around }) {
      const found: BatonError[] = []
      for (const { key, problems } of strategies) {
        if (spec.settings[key] !== undefined) found.push(...((await problems?.(spec, around)) ?? []))
      }
      return found
    },
  },
]

/** @throws BatonError the first problem */
export async function refuseProblems<Around>(
  rules: readonly FileRule<Around>[],
  spec: RunSpec,
  around: Around,
): Promise<void> {
  for (const { applies, problems } of rules) {
    const [first] = applies(spec) ? await problems(spec, around) : []
    if (first !== undefined) throw first
  }
}

/** All problems. */
export async function problemsByRules<Around>(
  rules: readonly FileRule<Around>[],
  spec: RunSpec,
  around: Around,
): Promise<readonly BatonError[]> {
  const found: BatonError[] = []
  for (const { applies, problems } of rules) if (applies(spec)) found.push(...(await problems(spec, around)))
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
