import { listPacks, packRoots } from '../pack/find-pack.ts'
import { mayHaveServers } from '../pack/server-file.ts'
import { type Check, ok, type Patient } from './check.ts'
import { checkAgents, checkConfig, checkPacks, type ConfigFound } from './config.ts'
import { checkLeft } from './left.ts'
import { checkGit, checkLua, checkNetwork, checkNode, checkRuns, checkSandbox, checkTerminal } from './machine.ts'
import { checkKeys, checkModels } from './models.ts'

/**
 * Checks everything a run needs. Changes nothing, sends no key, and contacts only servers of this machine.
 * @throws the signal's reason when it is aborted
 */
export async function examine(patient: Patient): Promise<readonly Check[]> {
  const config = await checkConfig(patient)
  const { settings, workspace } = config
  const [models, lua, git, packs, sandbox] = await Promise.all([
    checkModels(patient, config),
    checkLua(settings, patient),
    checkGit(patient),
    checkPacks(patient, workspace),
    checkSandbox(patient),
  ])
  return [
    ok('baton', `${patient.version} in ${patient.root}`),
    checkNode(patient),
    checkTerminal(patient),
    ...checkNetwork(patient),
    ...config.checks,
    ...checkKeys(patient, settings),
    ...models,
    ...lua,
    ...packs,
    ...(config.isValid ? await checkAgents(patient, workspace) : []),
    ...(await mcpChecks(patient, config)),
    checkRuns(patient, { settings, workspace }),
    ...(await checkLeft(patient, { settings, workspace })),
    git,
    sandbox,
  ]
}

/** Most people have no server. */
async function mcpChecks(patient: Patient, config: ConfigFound): Promise<readonly Check[]> {
  const packs = listPacks({ packRoots: packRoots(config.workspace, patient) })
  const isNeeded = config.settings.mcp_servers !== undefined || config.leftOut.length > 0
  if (!isNeeded && !packs.some((pack) => mayHaveServers(pack))) return []
  return (await import('./servers.ts')).checkServers(patient, config)
}
