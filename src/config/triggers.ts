import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import type { DataPath } from '../base/data-text.ts'
import { isFile, isFolder } from '../base/entries.ts'
import { realPath } from '../base/files.ts'
import { defined, type Json, type JsonObject } from '../base/json.ts'
import { type Finding, type Issue, withPlace, wrongValue } from '../settings/issue.ts'
import type { TriggerEntry } from '../settings/triggers.ts'
import { isTimeZone, parseSchedule, type Schedule } from './cron.ts'
import { type Layer, originText } from './layers.ts'
import type { Environment } from './locate.ts'
import type { TargetConfig } from './target-config.ts'

/** What a trigger waits for. */
export type TriggerSource =
  | {
      readonly kind: 'cron'
      readonly cron: string
      /** Undefined: that of the machine. */
      readonly timeZone: string | undefined
      readonly missed: 'skip' | 'once'
      /** Undefined: the expression is wrong, which a problem says. */
      readonly schedule: Schedule | undefined
    }
  | { readonly kind: 'files'; readonly globs: readonly string[] }
  | { readonly kind: 'webhook'; readonly secretEnv: string }

/** A trigger of the workspace. */
export interface Trigger {
  readonly name: string
  /** As written: relative to the workspace, or a pack reference. */
  readonly file: string
  /** What is run: absolute, or a pack reference. */
  readonly target: string
  readonly enabled: boolean
  readonly source: TriggerSource
  readonly overlap: 'skip' | 'queue' | 'allow'
  readonly onAsk: 'suspend' | 'deny'
  readonly input: Json | undefined
  readonly vars: JsonObject | undefined
  readonly model: string | undefined
  /** US dollars. */
  readonly maxCost: number | undefined
  /** `config.toml:12`. */
  readonly origin: string
  /** Why it cannot start anything. Empty: it can. */
  readonly problems: readonly TriggerProblem[]
}

/** A mistake in a trigger. A `warning` may depend on where it is looked at: a workspace, an environment. */
interface TriggerProblem extends Issue {
  readonly severity: 'error' | 'warning'
}

export interface TriggersFound {
  readonly triggers: readonly Trigger[]
  /** All problems, also those of triggers of other workspaces that can never start. */
  readonly problems: readonly TriggerProblem[]
}

interface Around {
  readonly env: Environment
  readonly home: string
  /**
   * Names of the variables that were set aside for secrets when the server started; undefined: none has started. What its
   * runs may see of the environment is fixed by then.
   */
  readonly setAside?: ReadonlySet<string> | undefined
}

/** A secret with fewer characters could be guessed. */
const leastSecret = 16

/**
 * The triggers of a workspace: those of the user's config that name it or no workspace, and those of its own config.
 * Values of secrets are read, but never part of what is returned.
 */
export async function readTriggers(
  { layers, workspace }: Pick<TargetConfig, 'layers' | 'workspace'>,
  around: Around,
): Promise<TriggersFound> {
  const triggers: Trigger[] = []
  const elsewhere: TriggerProblem[] = []
  const seen: Seen = { names: new Map(), secrets: new Map() }
  for (const layer of layers) {
    const entries = (layer.values['trigger'] ?? []) as unknown as readonly TriggerEntry[]
    for (const [index, entry] of entries.entries()) {
      const path = ['trigger', index] as const
      const folder = workspaceOf(entry, layer, around)
      const found = [...folder.findings]
      if (folder.path !== undefined && folder.path !== workspace) {
        elsewhere.push(...(await placed(found, { layer, path })))
        continue
      }
      const source = sourceOf(entry)
      found.push(
        ...checkName(entry, seen),
        ...checkFileOf(entry, {
          workspace,
          isNamed: folder.path !== undefined || layer.origin.kind !== 'user',
          ...around,
        }),
        ...checkSource(entry, source, { seen, ...around }),
      )
      triggers.push({
        name: entry.name,
        file: entry.file,
        target: targetOf(entry.file, workspace, around),
        enabled: entry.enabled ?? true,
        source,
        // each webhook has something of its own to work on
        overlap: entry.overlap ?? (source.kind === 'webhook' ? 'queue' : 'skip'),
        onAsk: entry.on_ask ?? 'suspend',
        input: entry.input,
        vars: entry.vars,
        model: entry.model,
        maxCost: entry.max_cost,
        origin: await originOf(layer, path),
        problems: await placed(found, { layer, path }),
      })
    }
  }
  return { triggers, problems: [...elsewhere, ...triggers.flatMap(({ problems }) => problems)] }
}

/** The secret of a webhook. Undefined: it is not set, or too short. */
export function secretOf({ secretEnv }: { readonly secretEnv: string }, env: Environment): string | undefined {
  const secret = env[secretEnv] ?? ''
  return secret.length < leastSecret ? undefined : secret
}

interface Judged {
  readonly finding: Finding
  readonly severity: TriggerProblem['severity']
}

const wrong = (finding: Finding): Judged => ({ finding, severity: 'error' })

/** The workspace that a trigger belongs to; undefined: any. */
function workspaceOf(
  { workspace, name }: TriggerEntry,
  { origin }: Layer,
  { home }: Around,
): { readonly path: string | undefined; readonly findings: readonly Judged[] } {
  if (origin.kind !== 'user') {
    if (workspace === undefined) return { path: undefined, findings: [] }
    const message = `trigger "${name}" names a workspace, but its config file belongs to one`
    return { path: undefined, findings: [wrong(wrongValue(['workspace'], { message, hint: 'Remove workspace.' }))] }
  }
  if (workspace === undefined) return { path: undefined, findings: [] }
  const path = fromHome(workspace, home)
  if (isAbsolute(path)) return { path: realPath(path), findings: isFolder(path) ? [] : [noFolder(name, workspace)] }
  const message = `trigger "${name}" names the workspace "${workspace}", which is not an absolute path`
  const hint = 'Write the whole path, or one that starts with ~/.'
  return { path: undefined, findings: [wrong(wrongValue(['workspace'], { message, hint }))] }
}

function noFolder(name: string, workspace: string): Judged {
  const message = `trigger "${name}" names the workspace ${workspace}, which is not a folder`
  return wrong(wrongValue(['workspace'], { message, hint: 'Name the folder of a project.' }))
}

function fromHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home === '' ? homedir() : home, path.slice(1)) : path
}

function isPackRef(file: string): boolean {
  return file.includes('@') && !file.startsWith('.') && !isAbsolute(file)
}

function targetOf(file: string, workspace: string, { home }: Around): string {
  return isPackRef(file) ? file : resolve(workspace, fromHome(file, home))
}

function sourceOf({
  cron,
  files,
  secret_env: secretEnv,
  time_zone: timeZone,
  missed = 'skip',
}: TriggerEntry): TriggerSource {
  if (files !== undefined) return { kind: 'files', globs: files }
  if (cron === undefined) return { kind: 'webhook', secretEnv: secretEnv ?? '' }
  const isKnownZone = timeZone === undefined || isTimeZone(timeZone)
  const schedule = parseSchedule(cron, isKnownZone ? timeZone : undefined)
  return { kind: 'cron', cron, timeZone, missed, schedule: typeof schedule === 'string' ? undefined : schedule }
}

/** What the triggers before had. */
interface Seen {
  readonly names: Map<string, string>
  readonly secrets: Map<string, string>
}

function checkName({ name }: TriggerEntry, seen: Seen): readonly Judged[] {
  const other = seen.names.get(name.toLowerCase())
  seen.names.set(name.toLowerCase(), name)
  if (other === undefined) return []
  const message = `there are two triggers "${name}"`
  return [wrong(wrongValue(['name'], { message, hint: 'Give one of them another name.' }))]
}

function checkFileOf(
  { name, file }: TriggerEntry,
  { workspace, isNamed, ...around }: Around & { readonly workspace: string; readonly isNamed: boolean },
): readonly Judged[] {
  const target = targetOf(file, workspace, around)
  if (isPackRef(file) || isFile(target)) return []
  const message = `trigger "${name}" starts ${file}, which does not exist${isNamed ? '' : ` in ${workspace}`}`
  const hint = isNamed
    ? 'Name an existing prompt file, relative to the workspace.'
    : 'Name an existing prompt file. If the trigger is for another workspace, name that: workspace = "~/folder".'
  return [{ finding: wrongValue(['file'], { message, hint }), severity: isNamed ? 'error' : 'warning' }]
}

function checkSource(
  { name, time_zone: timeZone }: TriggerEntry,
  source: TriggerSource,
  { seen, env, setAside }: Around & { readonly seen: Seen },
): readonly Judged[] {
  if (source.kind === 'cron') return checkTimes(name, source, timeZone)
  if (source.kind === 'files') return []
  const { secretEnv } = source
  const secret = secretOf(source, env)
  const other = [secretEnv, secret].flatMap((key) => (key === undefined ? [] : (seen.secrets.get(key) ?? [])))[0]
  for (const key of [secretEnv, secret]) if (key !== undefined) seen.secrets.set(key, name)
  if (other !== undefined) {
    const message = `the triggers "${other}" and "${name}" have the same secret`
    const hint = 'Give each its own variable and secret: what is signed for one must not start the other.'
    return [wrong(wrongValue(['secret_env'], { message, hint }))]
  }
  if (secret !== undefined && setAside?.has(secretEnv) === false) {
    const message = `trigger "${name}" gets its secret ${secretEnv} when baton serve is started again`
    const hint = 'Restart it: the runs of this server may see that variable.'
    return [{ finding: { ...wrongValue(['secret_env'], { message, hint }), code: 'KEY_MISSING' }, severity: 'warning' }]
  }
  if (secret !== undefined) return []
  const isSet = (env[secretEnv] ?? '') !== ''
  const message = isSet
    ? `the secret of trigger "${name}" in ${secretEnv} has fewer than ${leastSecret} characters`
    : `${secretEnv}, the secret of trigger "${name}", is not set`
  const hint = `Set it where baton serve is started, for example with: export ${secretEnv}="$(openssl rand -hex 32)"`
  return [{ finding: { ...wrongValue(['secret_env'], { message, hint }), code: 'KEY_MISSING' }, severity: 'warning' }]
}

function checkTimes(
  name: string,
  { cron, schedule }: Extract<TriggerSource, { kind: 'cron' }>,
  timeZone: string | undefined,
): readonly Judged[] {
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const message = `trigger "${name}" has the unknown time zone "${timeZone}"`
    return [wrong(wrongValue(['time_zone'], { message, hint: 'Write a name such as "Europe/Berlin" or "UTC".' }))]
  }
  const hint =
    'Write minute, hour, day of the month, month and day of the week, for example "0 7 * * 1-5" for 7:00 from Monday to Friday.'
  if (schedule === undefined) {
    const message = `the cron expression "${cron}" of trigger "${name}" is invalid: ${parseSchedule(cron, undefined) as string}`
    return [wrong(wrongValue(['cron'], { message, hint }))]
  }
  if (schedule.after(Date.now()) !== undefined) return []
  return [wrong(wrongValue(['cron'], { message: `the times "${cron}" of trigger "${name}" never come`, hint }))]
}

async function placed(
  found: readonly Judged[],
  { layer, path }: { readonly layer: Layer; readonly path: DataPath },
): Promise<readonly TriggerProblem[]> {
  return Promise.all(
    found.map(async ({ finding, severity }) => {
      const position = await layer.locate?.([...path, ...finding.path], finding.part)
      const place = { file: originText(layer.origin), ...defined({ text: layer.text }), ...position }
      return { ...withPlace(finding, place), severity }
    }),
  )
}

async function originOf(layer: Layer, path: DataPath): Promise<string> {
  const position = await layer.locate?.([...path, 'name'])
  const file = originText(layer.origin)
  return position === undefined ? file : `${file}:${position.line}`
}
