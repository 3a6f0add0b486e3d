import { displayPath, realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { ReadLog } from '../base/reads.ts'
import { readSource, sourceExists } from '../base/source-reader.ts'
import { parseToml } from '../base/toml.ts'
import { readAipackConfig } from './aipack-config.ts'
import { placeFindings, type Issue } from './issue.ts'
import type { Layer } from './layers.ts'
import { trustState } from './trust-store.ts'
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
export async function readConfigFiles(surroundings: Surroundings & Pick<ReadOptions, 'reads'>): Promise<ConfigFiles> {
  const { cwd, reads } = surroundings
  const workspace = findWorkspace(surroundings, reads)
  const userFile = userConfigFile(surroundings)
  const workspaceFile = workspaceConfigFile(workspace, reads)
  const around = { ...surroundings, cwd, userFile, reads }
  const user = sourceExists(userFile, reads) ? await readConfigFile(userFile, { kind: 'user', ...around }) : undefined
  const own =
    workspaceFile === undefined ? undefined : await readConfigFile(workspaceFile, { kind: 'workspace', ...around })
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

interface ReadOptions extends Surroundings {
  readonly kind: 'user' | 'workspace'
  readonly userFile: string
  readonly reads?: ReadLog | undefined
}

async function readConfigFile(
  path: string,
  { kind, cwd, userFile, reads, env, home }: ReadOptions,
): Promise<{ readonly layer: Layer; readonly issues: readonly Issue[] }> {
  const raw = readSource(path, reads)
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
  const [{ checkSettings }, { checkTrust, guardedKeys, withoutKeys }] = await Promise.all([
    import('./check-settings.ts'),
    import('./trust.ts'),
  ])
  const asks = kind === 'workspace' && guardedKeys(data).length > 0
  const state = asks ? trustState({ path, hash: sha256(text) }, { env, home, reads }) : 'trusted'
  const findings = [
    ...(asks ? checkTrust(data, { file, userFile, state }) : []),
    ...checkSettings(data, { scope: asks && state === 'trusted' ? 'trusted' : kind, userFile }),
  ]
  return {
    layer: { origin: { kind, file }, values: asks ? withoutKeys(data) : data, locate, text },
    issues: await placeFindings(findings, { file, text, locate }),
  }
}
