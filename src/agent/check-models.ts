import type { DataPath } from '../base/data-text.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import type { Finding } from '../config/issue.ts'
import type { AgentParts, ChosenModel } from './parts.ts'

/** The settings that name the models of one agent. */
export interface ModelNames {
  readonly model?: string
  readonly fallback_models: readonly string[]
  /** They are given tools: models that cannot call any are a problem. */
  readonly usesTools?: boolean
}

/** What is wrong with a name, and the key it is written at: `['model']`, `['fallback_models', 0]`. */
export interface NameProblem {
  readonly path: DataPath
  readonly error: BatonError
}

/** The models of the names that can be asked, in order, and what is wrong with the others. */
export interface CheckedNames {
  readonly usable: readonly ChosenModel[]
  readonly problems: readonly NameProblem[]
}

/**
 * Looks up all models that may be asked, without asking any. Names that are not given are not looked for. Only
 * `normal`, `high` and `fast` may look for a server on this machine, where no key says what they mean.
 */
export async function checkModelNames(
  { model, fallback_models: fallbacks, usesTools = false }: ModelNames,
  { chooseModel }: Pick<AgentParts, 'chooseModel'>,
): Promise<CheckedNames> {
  const named: readonly (readonly [string, DataPath])[] = [
    ...(model === undefined ? [] : [[model, ['model']] as const]),
    ...fallbacks.map((name, index) => [name, ['fallback_models', index]] as const),
  ]
  const usable: ChosenModel[] = []
  const problems: NameProblem[] = []
  for (const [name, path] of named) {
    try {
      const chosen = await chooseModel(name)
      if (usesTools) refuseWithoutTools(chosen)
      usable.push(chosen)
    } catch (error) {
      if (!isBatonError(error)) throw error
      problems.push({ path, error })
    }
  }
  return { usable, problems }
}

/**
 * Refuses a model that cannot call tools, for a request that offers some.
 * @throws BatonError CONFIG_INVALID
 */
export function refuseWithoutTools({ provider, label }: Pick<ChosenModel, 'provider' | 'label'>): void {
  if (provider.callsTools !== false) return
  const { code, message, hint } = withoutTools(label)
  throw new BatonError(code, message, { hint })
}

/** What is said of a model that cannot call tools. */
export function withoutTools(label: string): Pick<Finding, 'code' | 'message' | 'hint'> {
  const message = `${label} cannot call tools`
  return { code: 'CONFIG_INVALID', message, hint: 'Leave out tools, or name another model.' }
}

/**
 * What keeps a run from starting: a name that nobody knows; a key that is missing or cannot be sent, unless another model
 * of the list can be asked.
 */
export function fatalProblem({ usable, problems }: CheckedNames): NameProblem | undefined {
  const isKey = ({ error }: NameProblem): boolean => error.code === 'KEY_MISSING' || error.code === 'KEY_REFUSED'
  return problems.find((problem) => !isKey(problem)) ?? (usable.length === 0 ? problems[0] : undefined)
}

/**
 * Refuses models without a known price where a limit in dollars is to hold.
 * @throws BatonError BUDGET
 */
export async function refuseUnpriced(
  models: readonly ChosenModel[],
  { prices }: Pick<AgentParts, 'prices'>,
): Promise<void> {
  for (const { priced, label } of models) {
    if (priced.isFree || (await prices()).perToken(priced) !== undefined) continue
    throw new BatonError('BUDGET', `no price is known for ${label}, so a limit in dollars cannot hold`, {
      hint: 'Give its price in [prices] of your config file, name another model, limit [budget] tokens or calls, or set [budget] unpriced = "allow".',
    })
  }
}
