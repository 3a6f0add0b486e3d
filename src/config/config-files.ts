import { existsSync } from 'node:fs'
import { displayPath, readSourceFile, realPath } from '../base/files.ts'
import { parseToml } from '../base/toml.ts'
import { readAipackConfig } from './aipack-config.ts'
import { placeFindings, type Issue } from './issue.ts'
import type { Layer } from './layers.ts'
import { findWorkspace, userConfigFile, workspaceConfigFile, type Surroundings } from './locate.ts'

export interface ConfigFiles {
  /** Absolute, links resolved. */
  readonly workspace: string
  /** Absolute path of the user's own config file, whether it exists or not. */
  readonly userFile: string
  /** AIPack's, the user's, then the workspace's, as far as they exist. */
  readonly layers: readonly Layer[]
  readonly issues: readonly Issue[]
  /** What `baton check` says and a run does not. */
  readonly notes: readonly Issue[]
}

/**
 * Finds the workspace and reads the config files (DESIGN 3).
 * @throws BatonError CONFIG_INVALID for TOML that cannot be read, FILE_UNREADABLE
 */
export async function readConfigFiles(surroundings: Surroundings): Promise<ConfigFiles> {
  const workspace = findWorkspace(surroundings)
  const userFile = userConfigFile(surroundings)
  const workspaceFile = workspaceConfigFile(workspace)
  const { cwd } = surroundings
  const user = existsSync(userFile) ? await readConfigFile(userFile, { kind: 'user', cwd, userFile }) : undefined
  const own =
    workspaceFile === undefined ? undefined : await readConfigFile(workspaceFile, { kind: 'workspace', cwd, userFile })
  const found = [user, own].filter((file) => file !== undefined)
  const aipack = await readAipackConfig(workspace, surroundings)
  return {
    workspace,
    userFile,
    layers: [...aipack.layers, ...found.map(({ layer }) => layer)],
    issues: [...aipack.issues, ...found.flatMap(({ issues }) => issues)],
    notes: aipack.notes,
  }
}

interface ReadOptions {
  readonly kind: 'user' | 'workspace'
  readonly cwd: string
  readonly userFile: string
}

async function readConfigFile(
  path: string,
  { kind, cwd, userFile }: ReadOptions,
): Promise<{ readonly layer: Layer; readonly issues: readonly Issue[] }> {
  const raw = readSourceFile(path)
  const text = raw.startsWith('\uFEFF') ? raw.slice(1) : raw
  const file = displayPath(realPath(cwd), path)
  const { data, locate } = await parseToml({
    file,
    text,
    block: text,
    firstLine: 1,
    what: file,
    code: 'CONFIG_INVALID',
  })
  const [{ checkSettings }, { checkTrust }] = await Promise.all([import('./check-settings.ts'), import('./trust.ts')])
  const findings = [
    ...(kind === 'workspace' ? checkTrust(data, { file, userFile }) : []),
    ...checkSettings(data, { scope: kind, userFile }),
  ]
  return {
    layer: { origin: { kind, file }, values: data, locate, text },
    issues: await placeFindings(findings, { file, text, locate }),
  }
}
