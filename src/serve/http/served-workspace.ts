import { isAbsolute } from 'node:path'
import { type ChatReader, createChatReader } from '../../chat/chat-list.ts'
import type { Settings } from '../../config/settings.ts'
import type { TriggersFound } from '../../config/triggers.ts'
import { loadTargetConfig, type TargetConfig } from '../../config/target-config.ts'
import { createRunTotals, type RunTotals } from '../../history/run-totals.ts'
import { runWithId } from '../../journal/find-run.ts'
import { createIndexReader, type RunIndexFile } from '../../journal/index-file.ts'
import { runsFolder } from '../../journal/run-id.ts'
import type { RunOptions } from '../../library/options.ts'
import { Refusal } from '../refusal.ts'
import { type ConfigLog, createConfigLog } from '../triggers/config-changes.ts'

/** The environment of a server, and the options shared by all runs it starts. */
export interface ServingPlace {
  readonly cwd: string
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly shared: Required<Pick<RunOptions, 'overrides'>> & Pick<RunOptions, 'model'>
}

/** The workspace that is served. */
export interface ServedWorkspace extends ServingPlace {
  /** Absolute, with symbolic links resolved. */
  readonly workspace: string
  /** The folder with its runs. */
  readonly runs: string
  readonly settings: Settings
  readonly readIndex: () => RunIndexFile
  readonly chats: ChatReader
  /** Of its runs without a summary. */
  readonly totals: RunTotals
  /** As they are when it is opened, with what was read for that. */
  readonly found: TriggersFound
  readonly configLog: ConfigLog
  /**
   * Reads the triggers again. A webhook that is new has no secret: what runs may see of the environment is fixed.
   * @throws BatonError for invalid config files
   */
  readonly readTriggers: (log: ConfigLog) => Promise<TriggersFound>
  /** The variables with the secrets of webhooks, which no run gets. */
  readonly triggerSecrets: ServingPlace['env']
}

/** @throws BatonError for invalid config files */
export async function openServedWorkspace(place: ServingPlace): Promise<ServedWorkspace> {
  const { env, home } = place
  const configLog = createConfigLog()
  const { config, found } = await readConfig(place, configLog)
  const { workspace, settings } = config
  const runs = runsFolder({ env, home, workspace, runsDir: settings.runs.dir })
  const secretNames = new Set(
    found.triggers.flatMap(({ source }) => (source.kind === 'webhook' ? [source.secretEnv] : [])),
  )
  const [secrets, others] = parted(env, secretNames)
  return {
    ...place,
    // what notices are signed with is needed by runs, whatever else it signs
    env: settings.notify?.secret_env === undefined ? others : { ...others, ...only(env, settings.notify.secret_env) },
    workspace,
    settings,
    runs,
    readIndex: createIndexReader(runs),
    chats: createChatReader(runs),
    totals: createRunTotals(),
    found,
    configLog,
    readTriggers: async (log) => (await readConfig(place, log, secretNames)).found,
    triggerSecrets: secrets,
  }
}

/** @param setAside names of the variables that runs do not get; undefined: that is not decided yet */
async function readConfig(
  place: ServingPlace,
  log: ConfigLog,
  setAside?: ReadonlySet<string>,
): Promise<{ readonly config: TargetConfig; readonly found: TriggersFound }> {
  const { reads } = log
  const config = await loadTargetConfig({ ...place, flags: { overrides: place.shared.overrides }, reads })
  const hasTriggers = config.layers.some(({ values }) => values['trigger'] !== undefined)
  if (!hasTriggers) return { config, found: { triggers: [], problems: [] } }
  const { readTriggers } = await import('../../config/triggers.ts')
  const found = await readTriggers(config, { ...place, setAside })
  for (const { target } of found.triggers) if (isAbsolute(target)) log.names(target)
  return { config, found }
}

function parted<Value>(
  table: Readonly<Record<string, Value>>,
  names: ReadonlySet<string>,
): readonly [named: Readonly<Record<string, Value>>, others: Readonly<Record<string, Value>>] {
  const entries = Object.entries(table)
  return [
    Object.fromEntries(entries.filter(([name]) => names.has(name))),
    Object.fromEntries(entries.filter(([name]) => !names.has(name))),
  ]
}

function only<Value>(table: Readonly<Record<string, Value>>, name: string): Readonly<Record<string, Value>> {
  const value = table[name]
  return value === undefined ? {} : { [name]: value }
}

/**
 * The folder of a run. Only ids of existing runs become part of a path.
 * @throws Refusal 404
 */
export function folderOf({ runs }: Pick<ServedWorkspace, 'runs'>, id: string): string {
  const folder = runWithId(runs, id)
  if (folder !== undefined) return folder
  throw new Refusal(404, 'this workspace has no such run')
}
