import { checkModelNames, fatalProblem } from '../../agent/check-models.ts'
import type { ChosenModel } from '../../agent/parts.ts'
import type { DataPath } from '../../base/data-text.ts'
import { type BatonError, rewordError } from '../../base/error.ts'
import type { ModelSurroundings } from '../../load/strategy.ts'

/**
 * Checks the models of the members of an ensemble, and that of its synthesis. A member whose key is missing counts as
 * one without an answer, as long as there are enough others.
 * @throws BatonError for an unknown model, and for missing keys if too few members are left
 */
export async function modelsOfEnsemble({
  settings,
  placeOf,
  givesTools,
  chooseModel,
}: ModelSurroundings): Promise<readonly ChosenModel[]> {
  if (settings.ensemble === undefined) return []
  const { members, quorum, model: own } = settings.ensemble
  const usesTools = await givesTools(settings)
  const models: ChosenModel[] = []
  async function look(model: string, path: DataPath): Promise<BatonError | undefined> {
    const checked = await checkModelNames({ ...settings, model, usesTools }, { chooseModel })
    models.push(...checked.usable)
    const problem = fatalProblem(checked)
    return problem && rewordError(problem.error, { from: await placeOf(path, 'value') })
  }

  const withoutKey: BatonError[] = []
  for (const { index, model, agent, line } of members) {
    if (model === undefined || agent !== undefined || line !== undefined) continue
    const problem = await look(model, ['ensemble', 'agents', index, 'model'])
    if (problem !== undefined && problem.code !== 'KEY_MISSING') throw problem
    if (problem !== undefined) withoutKey.push(problem)
  }
  const [first] = withoutKey
  if (first !== undefined && members.length - withoutKey.length < quorum) throw first
  const problem = own === undefined ? undefined : await look(own, ['ensemble', 'model'])
  if (problem !== undefined) throw problem
  return models
}
