import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { displayPath, realPath } from '../base/files.ts'
import { aipackConfigFiles, findWorkspace, userConfigFile, workspaceConfigFile } from '../config/locate.ts'
import type { SourcedValue } from '../config/layers.ts'
import { defaultLayer, type Settings, settingsOf } from '../config/settings.ts'
import { loadTargetConfig } from '../config/target-config.ts'
import { type Check, checksOf, type Patient } from './check.ts'

export interface ConfigFound {
  readonly checks: readonly Check[]
  /** Absolute, links resolved. */
  readonly workspace: string
  readonly settings: Settings
  readonly origins: readonly SourcedValue[]
  /** When it is not right, `settings` are the defaults. */
  readonly isRight: boolean
}

/** Looks at the workspace and its config files. */
export async function checkConfig(patient: Patient): Promise<ConfigFound> {
  const workspace = findWorkspace(patient)
  const checks = [checkWorkspace(workspace, patient)]
  try {
    const { overrides, ...around } = patient
    const { settings, origins } = await loadTargetConfig({ ...around, flags: { overrides } })
    return { checks: [...checks, ...filesFound(workspace, patient)], workspace, settings, origins, isRight: true }
  } catch (error) {
    const settings = settingsOf(defaultLayer.values, { workspace })
    return { checks: [...checks, ...checksOf('config', error)], workspace, settings, origins: [], isRight: false }
  }
}

function checkWorkspace(workspace: string, { cwd }: Patient): Check {
  const marks = ['baton.toml', join('.baton', 'config.toml'), '.aipack', '.git']
  const mark = marks.find((path) => existsSync(join(workspace, path)))
  const name = 'workspace'
  if (mark !== undefined) return { name, status: 'ok', message: `${workspace}, because of ${mark}` }
  const hint = 'baton init makes baton.toml, which makes a folder a workspace.'
  const message = `${workspace === realPath(cwd) ? 'none: the current folder stands for it' : workspace}`
  return { name, status: 'note', message, hint }
}

function filesFound(workspace: string, patient: Patient): readonly Check[] {
  const aipack = aipackConfigFiles(workspace, patient)
  const own = workspaceConfigFile(workspace)
  const files = [...aipack.user, userConfigFile(patient), ...aipack.workspace, ...(own === undefined ? [] : [own])]
  const found = files.filter((file) => existsSync(file)).map((file) => displayPath(workspace, file))
  const message = found.length > 0 ? found.join(', ') : `no file; yours would be ${userConfigFile(patient)}`
  return [{ name: 'config', status: found.length > 0 ? 'ok' : 'note', message }]
}
