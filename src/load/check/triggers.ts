import { isBatonError } from '../../base/error.ts'
import { type ConfigOptions, loadTargetConfig } from '../../config/target-config.ts'
import { type Problem, problemOf } from './problem.ts'

/** The problems of the triggers of the workspace. Those of config files that cannot be read are found with each file. */
export async function checkTriggers(options: ConfigOptions): Promise<readonly Problem[]> {
  try {
    const config = await loadTargetConfig(options)
    if (config.layers.every(({ values }) => values['trigger'] === undefined)) return []
    const { readTriggers } = await import('../../config/triggers.ts')
    const { problems } = await readTriggers(config, options)
    return problems.map(({ severity, ...issue }) =>
      problemOf(issue, { severity, file: issue.place?.file ?? '', trail: [] }),
    )
  } catch (error) {
    if (isBatonError(error)) return []
    throw error
  }
}
