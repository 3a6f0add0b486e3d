import type { DataPath } from '../base/data-text.ts'
import { BatonError, isBatonError } from '../base/error.ts'
import type { Finding } from '../settings/issue.ts'
import type { AgentParts, ChosenModel } from './parts.ts'

export interface ModelNames {
  readonly model?: string
  readonly fallback_models: readonly string[]
  /** They get tools: models that cannot call tools are a problem. */
  readonly usesTools?: boolean
}

/** A problem with a model name, and the key of the name: `['model']`, `['fallback_models', 0]`. */
export interface NameProblem {
  readonly path: DataPath
  readonly error: BatonError
}

/** The models that can be asked, in order, and the problems of the others. */
export interface CheckedNames {
  readonly usable: readonly ChosenModel[]
  readonly problems: readonly NameProblem[]
}

/**
 * Looks up all models that may be asked, without asking any. If no model is set, no default is looked up. Only
 * `normal`, `high` and `fast` may resolve to a server on this machine, if no key decides what they mean.
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
 * Rejects a model that cannot call tools, for a request that offers tools.
 * @throws BatonError CONFIG_INVALID
 */
export function refuseWithoutTools({ provider, label }: Pick<ChosenModel, 'provider' | 'label'>): void {
  if (provider.callsTools !== false) return
  const { code, message, hint } = withoutTools(label)
  throw new BatonError(code, message, { hint })
}

/** The error for a model that cannot call tools. */
export function withoutTools(label: string): Pick<Finding, 'code' | 'message' | 'hint'> {
  const message = `${label} cannot call tools`
  return { code: 'CONFIG_INVALID', message, hint: 'Leave out tools, or name another model.' }
}

/**
 * The problem that prevents a run from starting: an unknown name, or a missing or unusable key unless another model of
 * the list can be asked.
 */
export function fatalProblem({ usable, problems }: CheckedNames): NameProblem | undefined {
  const isKey = ({ error }: NameProblem): boolean => error.code === 'KEY_MISSING' || error.code === 'KEY_REFUSED'
  return problems.find((problem) => !isKey(problem)) ?? (usable.length === 0 ? problems[0] : undefined)
}

/**
 * Rejects models without a known price if there is a limit in dollars.
 * @throws BatonError BUDGET
 */
export async function refuseUnpriced(
  models: readonly ChosenModel[],
  { prices }: Pick<AgentParts, 'prices'>,
): Promise<void> {
  for (const { priced, label } of models) {
    if (priced.isFree || (await prices()).perToken(priced) !== undefined) continue
    throw new BatonError('BUDGET', `no price is known for ${label}, so a limit in dollars cannot be enforced`, {
      hint: 'Give its price in [prices] of your config file, name another model, limit [budget] tokens or calls, or set [budget] unpriced = "allow".',
    })
  }
}
