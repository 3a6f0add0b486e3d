import { checkModelNames, fatalProblem } from '../../agent/check-models.ts'
import type { ChosenModel } from '../../agent/parts.ts'
import { rewordError } from '../../base/error.ts'
import type { ModelSurroundings } from '../../load/strategy.ts'

/** Checks the models that steps name for the model of the file. @throws BatonError at the step for an unusable one */
export async function modelsOfSteps(around: ModelSurroundings): Promise<readonly ChosenModel[]> {
  const { settings: own, settingsFor, spec, placeOf, givesTools, chooseModel } = around
  const models: ChosenModel[] = []
  for (const { index, agent, options } of own.workflow?.steps ?? []) {
    if (agent !== undefined || options['model'] === undefined) continue
    const settings = settingsFor({ ...spec.params, ...options })
    const checked = await checkModelNames({ ...settings, usesTools: await givesTools(settings) }, { chooseModel })
    const problem = fatalProblem(checked)
    if (problem !== undefined) {
      const from = await placeOf(['workflow', 'step', index, 'options', 'model'], 'value')
      throw rewordError(problem.error, { from })
    }
    models.push(...checked.usable)
  }
  return models
}
