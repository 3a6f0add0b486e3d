import { checkConfig } from './config.ts'
import { checkGit } from './git.ts'
import { checkKeys } from './keys.ts'
import { checkLua } from './lua.ts'
import { checkBaton, checkNode, checkSandbox, checkTerminal } from './machine.ts'
import { checkModels } from './model.ts'
import { checkPacks } from './packs.ts'
import { checkState } from './state.ts'
import type { Check, Patient } from './check.ts'

/**
 * Looks at everything a run needs. Changes nothing, sends no key, and asks nobody but servers of this machine.
 * @throws the signal's reason when it is aborted
 */
export async function examine(patient: Patient): Promise<readonly Check[]> {
  const config = await checkConfig(patient)
  const { settings, workspace } = config
  const [models, lua, git, packs] = await Promise.all([
    checkModels(patient, config),
    checkLua(settings, patient),
    checkGit(patient),
    checkPacks(patient, workspace),
  ])
  return [
    checkBaton(patient),
    checkNode(patient),
    checkTerminal(patient),
    ...config.checks,
    ...checkKeys(patient, settings),
    ...models,
    ...lua,
    ...packs,
    checkState(patient, { settings, workspace }),
    git,
    checkSandbox(patient),
  ]
}
