import { coversHost } from '../base/host-entry.ts'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { parseSize } from '../base/size.ts'
import { globKeys, type ReservedKey } from './keys.ts'
import { isBuiltInName } from './builtin-names.ts'
import type { Origin } from './layers.ts'
import { parseDuration } from './duration.ts'

/**
 * How a value that comes with a folder may differ from what its user has: a folder only tightens.
 * `free`: says what the work is, which whoever runs the file agrees to. `user`: not at all. `down`: numbers, durations
 * and sizes may be smaller. `added`: a list that is only added to. `fewer`: a list of hosts, of which less is allowed. `names`: a table whose names that the user has keep their values.
 * `agents`: the same, and no command lines.
 * `rules`: rules of a folder count where they are stricter than the others, without trust; with it they count as all do.
 * A list: its values from the strictest to the loosest.
 */
export type Rule = 'free' | 'user' | 'down' | 'added' | 'fewer' | 'names' | 'agents' | 'rules' | readonly Json[]

export interface Order {
  readonly rule: Rule
  /**
   * The front matter of the file that is run is held to what its user has written, but not to defaults: to run it is to
   * agree to it. `free`: not even to that. `default`: to defaults as well. `defaultWith`: to defaults where the user has set
   * that key, which the looser value would get around. `unset`: where the user has set nothing, to that value.
   */
  readonly prompt?: 'free' | 'default' | { readonly defaultWith: string } | { readonly unset: Json }
  /** It holds only for a text that is no file of the workspace: for those that are, a folder may say anything. */
  readonly isForOthers?: true
  /** What counts for config files where nobody has set it; left out: then anything is tighter. */
  readonly unset?: Json
}

/** Of one key, or of each key of a table. */
export type Orders = Order | { readonly keys: { readonly [key: string]: Order } }

const free: Order = { rule: 'free' }
const user: Order = { rule: 'user' }
const down: Order = { rule: 'down' }
/** Programs that are started, and agents in place of others: the file that is run may name them, a config file may not. */
const byPrompt: Order = { rule: 'user', prompt: 'free' }
/** The order of every reserved key. There is none without: a key that is added gets one here first. */
export const orders: { readonly [key in ReservedKey]: Orders } = {
  model: free,
  model_aliases: { rule: 'names', prompt: 'free' },
  temperature: free,
  top_p: free,
  max_tokens: free,
  reasoning_effort: free,
  reasoning_summary: free,
  seed: free,
  fallback_models: free,
  input_concurrency: free,
  file_content_mode: free,
  max_files_size_kb: free,
  ...globKeys('context_globs', () => free),
  // a server is a program that is started
  context_resources: byPrompt,
  ...globKeys('knowledge_globs', () => free),
  ...globKeys('structure_globs', () => free),
  ...globKeys('working_globs', () => free),
  base_dir: free,

  name: free,
  fork_context: free,
  reminder: free,
  mcp: free,
  description: free,
  agent: free,
  params: free,
  template: free,
  input: free,
  output: free,
  sub_agents: free,
  test: free,

  providers: user,
  gateway: user,
  prices: user,
  mcp_servers: user,
  plugins: user,
  permission: { rule: 'rules' },
  sandbox: {
    keys: {
      mode: {
        rule: ['read-only', 'workspace-write', 'danger-full-access'],
        unset: 'read-only',
        prompt: { unset: 'workspace-write' },
      },
      network: { rule: 'fewer', prompt: 'default' },
      scripts: { rule: [true, false] },
      memory_mb: down,
      processes: down,
      file_mb: down,
      tmp_mb: down,
    },
  },

  write_mode: { rule: [false, 'ask', true], prompt: 'free', isForOthers: true },
  isolation: { rule: ['worktree', 'none'] },
  gate: byPrompt,
  partial: free,
  allow_run_on_task_fail: free,
  changes: { keys: { repair: down, max_size: down, partial_is_success: { rule: [false, true] }, allow: user } },
  retry: {
    keys: {
      max_attempts: down,
      initial_backoff_ms: free,
      max_backoff_ms: down,
      backoff_multiplier: free,
      jitter_factor: free,
      patience: { rule: 'down', unset: '10m' },
    },
  },
  timeouts: {
    keys: { connect: down, headers: down, stream_idle: down, request: down, agent: down, approval: down, gate: down },
  },
  timeout: down,
  budget: {
    keys: {
      usd: down,
      tokens: down,
      calls: down,
      unpriced: { rule: ['deny', 'allow'], prompt: { defaultWith: 'budget.usd' } },
    },
  },
  lua: {
    keys: {
      engine: free,
      isolated: { rule: [true, 'installed', false], prompt: 'default' },
      timeout: down,
      memory_mb: down,
      instructions: down,
    },
  },
  secrets: { rule: 'added' },
  runs: { keys: { dir: user, keep: user, max_size: down } },

  mode: free,
  instructions: free,
  auto_approve_plan_mode: { rule: [false, true], prompt: 'free' },
  max_rounds: down,
  max_turns: down,
  model_files: free,
  tools: free,
  disallowed_tools: { rule: 'added' },
  iterate: byPrompt,
  collab: byPrompt,
  ensemble: byPrompt,
  delegate: byPrompt,
  workflow: byPrompt,
  code: {
    keys: {
      timeout: down,
      memory_mb: down,
      eval_type: free,
      stream: free,
      auto_approve: { rule: [false, true] },
    },
  },
  agents: { rule: 'agents', prompt: 'free' },
}

function isOrder(given: Orders): given is Order {
  return 'rule' in given
}

/** The order of a key, or of a key inside its table; undefined for what is not known. */
export function orderOf(key: string, inner?: string): Order | undefined {
  if (!Object.hasOwn(orders, key)) return undefined
  const given = orders[key as ReservedKey]
  if (isOrder(given)) return given
  return inner !== undefined && Object.hasOwn(given.keys, inner) ? given.keys[inner] : undefined
}

/** Whether only the user's own config file, or a trusted file, may set the key at all. */
export function isGuarded(key: string): boolean {
  const order = orderOf(key)
  return order?.rule === 'user' && order.prompt === undefined
}

/** A value in force that a folder is held to. */
export interface OwnValue {
  readonly path: readonly (string | number)[]
  readonly value: Json
  readonly layer: { readonly origin: Origin }
}

/** A word that asks for an effort behind the name of a model: who takes `opus-high` for a name hides `opus`. */
export const effortWord = /-(?:none|zero|minimal|low|medium|high|xhigh|max)$/

/** Whose settings are compared, and with what. */
export interface HeldTo {
  /** `config`: a config file of the folder. `prompt`: the file that is run. */
  readonly by: 'config' | 'prompt'
  /** What the user has, with defaults. */
  readonly own: readonly OwnValue[]
  /** What is run is no file of the workspace. */
  readonly isForeign?: boolean
  /** What the user sets for this call, so that it does not matter what the folder says: `lua.timeout`. */
  readonly overridden?: readonly string[]
}

/** A value that is looser than that of the user. */
export interface Loosened {
  readonly path: readonly string[]
  readonly value: Json
  readonly own: Json | undefined
  /** Undefined: nobody has set it. */
  readonly origin: Origin | undefined
}

/** The values among checked settings that loosen what the user has; guarded keys are not among them. */
export function loosened(values: JsonObject, held: HeldTo): readonly Loosened[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const order = orderOf(key)
    if (order?.rule === 'agents' && isJsonObject(value))
      return [
        ...(held.by === 'prompt' ? loosenedPresets(value, held) : loosenedAgents(value, held)),
        ...loosenedBoxes(value, held),
      ]
    if (order === undefined && isJsonObject(value))
      return Object.entries(value).flatMap(([inner, part]) => compared(orderOf(key, inner), [key, inner], part, held))
    if (order?.rule !== 'names' || !isJsonObject(value))
      return isGuarded(key) ? [] : compared(order, [key], value, held)
    const byName: Order = { ...order, rule: 'user' }
    return Object.entries(value).flatMap(([name, part]) => {
      const hidden = [name, name.replace(effortWord, '')].find((one) => ownValue([key, one], held) !== undefined)
      if (hidden === undefined) return []
      return compared(byName, [key, hidden], part, held).map((found) => ({ ...found, path: [key, name] }))
    })
  })
}

/** Agents that have the name of another one, and programs. */
function loosenedAgents(agents: JsonObject, held: HeldTo): readonly Loosened[] {
  return Object.entries(agents).flatMap(([name, values]): readonly Loosened[] => {
    const found = ownValue(['agents', name], held)
    const origin = found?.layer.origin
    const path = ['agents', name]
    if (found !== undefined) {
      const isSame = canonicalJson(found.value) === canonicalJson(values)
      return isSame ? [] : [{ path, value: values, own: found.value, origin }]
    }
    if (isBuiltInName(name)) return [{ path, value: values, own: 'built-in', origin: { kind: 'default' } }]
    const key = ['command', 'preset'].find((each) => isJsonObject(values) && values[each] !== undefined)
    if (key === undefined || !isJsonObject(values)) return []
    return [{ path: [...path, key], value: values[key] ?? null, own: undefined, origin: undefined }]
  })
}

/** What an agent with a name may touch is held to what the key outside of its table may say. */
function loosenedBoxes(agents: JsonObject, held: HeldTo): readonly Loosened[] {
  return Object.entries(agents).flatMap(([name, values]) => {
    const sandbox = isJsonObject(values) ? values['sandbox'] : undefined
    if (!isJsonObject(sandbox)) return []
    return Object.entries(sandbox).flatMap(([key, value]) =>
      compared(orderOf('sandbox', key), ['sandbox', key], value, held).map((found) => ({
        ...found,
        path: ['agents', name, 'sandbox', key],
      })),
    )
  })
}

/**
 * A known program is held to the sandbox mode by its flags: another program with its name, and arguments and variables that
 * get around them, need what a program without such flags needs.
 */
function loosenedPresets(agents: JsonObject, held: HeldTo): readonly Loosened[] {
  const full = 'danger-full-access'
  if (compared(orderOf('sandbox', 'mode'), ['sandbox', 'mode'], full, held).length === 0) return []
  return Object.entries(agents).flatMap(([name, values]) => {
    if (!isJsonObject(values) || values['preset'] === undefined) return []
    return ['command', 'args', 'env'].flatMap((key): readonly Loosened[] => {
      const value = values[key]
      if (value === undefined || (key === 'command' && value === values['preset'])) return []
      return [{ path: ['agents', name, key], value, own: undefined, origin: undefined }]
    })
  })
}

function compared(order: Order | undefined, path: readonly string[], value: Json, held: HeldTo): readonly Loosened[] {
  if (
    order === undefined ||
    order.rule === 'free' ||
    order.rule === 'added' ||
    order.rule === 'rules' ||
    order.rule === 'agents'
  )
    return []
  if (held.by === 'prompt' && order.prompt === 'free') return []
  if (held.overridden?.includes(path.join('.')) === true) return []
  if (order.isForOthers === true && held.isForeign !== true) return []
  const found = ownValue(path, held)
  const counts = found !== undefined && (isHeldToDefaults(order, held) || isWritten(found))
  const own = counts ? found.value : unsetValue(order, held)
  if (!isLooser(order.rule, value, own)) return []
  return [{ path, value, own, origin: counts ? found.layer.origin : undefined }]
}

function unsetValue({ unset, prompt }: Order, held: HeldTo): Json | undefined {
  if (held.by === 'config') return unset
  return typeof prompt === 'object' && 'unset' in prompt ? prompt.unset : undefined
}

function isHeldToDefaults({ prompt }: Order, held: HeldTo): boolean {
  if (held.by === 'config' || prompt === 'default') return true
  if (typeof prompt !== 'object' || !('defaultWith' in prompt)) return false
  const setter = ownValue(prompt.defaultWith.split('.'), held)
  return held.overridden?.includes(prompt.defaultWith) === true || (setter !== undefined && isWritten(setter))
}

function ownValue(path: readonly string[], { own }: HeldTo): OwnValue | undefined {
  return own.find((each) => each.path.length === path.length && path.every((step, index) => step === each.path[index]))
}

function isWritten({ layer }: OwnValue): boolean {
  return layer.origin.kind !== 'default'
}

function isLooser(rule: Rule, value: Json, own: Json | undefined): boolean {
  if (rule === 'user') return own === undefined || canonicalJson(value) !== canonicalJson(own)
  if (own === undefined) return false
  if (rule === 'down') {
    const [size, limit] = [sizeOf(value), sizeOf(own)]
    return size !== undefined && limit !== undefined && size > limit
  }
  if (rule === 'fewer') return listOf(value).some((host) => !listOf(own).some((other) => coversHost(other, host)))
  if (typeof rule === 'string') return false
  return rule.indexOf(value) > rule.indexOf(own)
}

function listOf(value: Json): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function sizeOf(value: Json): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? (parseDuration(value) ?? parseSize(value)) : undefined
}
