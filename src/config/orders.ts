import type { Json } from '../base/json.ts'
import { globKeys, type ReservedKey } from './keys.ts'

/**
 * How a value that comes with a folder may differ from the user's value: a folder only tightens.
 * - `free`: it describes the work, which the person who runs the file agrees to.
 * - `user`: not at all.
 * - `down`: numbers, durations and sizes may be smaller; for a table each of them, and none may be missing.
 * - `added`: a list that is only appended to.
 * - `fewer`: a list of hosts that may allow less.
 * - `names`: a table in which names that the user has keep their values.
 * - `agents`: the same, and no command lines.
 * - `rules`: untrusted rules of a folder count only if they are stricter than the others; trusted ones count fully.
 * - A list: its values from the strictest to the loosest.
 */
export type Rule = 'free' | 'user' | 'down' | 'added' | 'fewer' | 'names' | 'agents' | 'rules' | readonly Json[]

export interface Order {
  readonly rule: Rule
  /**
   * The front matter of the file that is run is limited by what the user has written, but not by defaults: running the
   * file means agreeing to it. `free`: no limit. `default`: limited by defaults as well. `defaultWith`: limited by
   * defaults if the user has set that key, which the looser value would bypass. `unset`: if the user has set nothing,
   * limited by that value.
   */
  readonly prompt?: 'free' | 'default' | { readonly defaultWith: string } | { readonly unset: Json }
  /**
   * The rule only applies to a target that is not a file of the workspace: for its own files, a folder may set
   * anything.
   */
  readonly isForOthers?: true
  /** The limit of config files if nobody has set the key; omitted: no limit. */
  readonly unset?: Json
}

/** For one key, or for each key of a table. */
export type Orders = Order | { readonly keys: { readonly [key: string]: Order } }

const free: Order = { rule: 'free' }
const user: Order = { rule: 'user' }
const down: Order = { rule: 'down' }
/**
 * Programs that are started, and agents that replace others: the file that is run may name them, config files may not.
 */
const byPrompt: Order = { rule: 'user', prompt: 'free' }
/** The order of every reserved key. Every key must have one: a new key gets its order here first. */
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
  // starts a server, which is a program
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
  chat: free,
  instructions: free,
  auto_approve_plan_mode: { rule: [false, true], prompt: 'free' },
  max_rounds: down,
  max_turns: down,
  model_files: free,
  tools: free,
  disallowed_tools: { rule: 'added' },
  iterate: byPrompt,
  collab: {
    keys: {
      enabled: byPrompt,
      max_agents: down,
      max_depth: down,
      default_wait: free,
      min_wait: free,
      max_wait: free,
      return_when: free,
      on_stall: { rule: ['fail', 'tell'] },
      stall_after: free,
      budget: down,
      roles: byPrompt,
    },
  },
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

/** The order of a key, or of a key inside its table; undefined for an unknown key. */
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
