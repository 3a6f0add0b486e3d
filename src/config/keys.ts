import type { DataPath } from '../base/data-text.ts'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import type { FrontMatterKey } from '../prompt/keys.ts'

/** A value that is designed but not available in this version. */
export interface Unavailable {
  readonly path: DataPath
  /** How messages name it: `"iterate"`, `mode = "code"`. */
  readonly shown: string
}

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

/** The row of a key: all that is known of it but its schema. */
export interface ReservedEntry {
  /** `request` keys may be changed by a chain, `frame` keys are fixed at the start. */
  readonly kind: 'request' | 'frame'
  /** Only prompt files may set it: it describes a single prompt file. */
  readonly isPromptOnly: boolean
  /** A one-element list holds the only value that this version supports. */
  readonly available: true | readonly [Json]
  /** It concerns models: `-c` sets it for the agents of the run as well. */
  readonly isForModels: boolean
  /** A table whose keys are merged across layers; other values replace those of lower layers. */
  readonly isMerged: boolean
  /** How a folder may set it. */
  readonly order: Orders
  /** It makes the file run other agents, scripts and command lines. */
  readonly starts?: true
  /** It holds a list; keys of globs do as well. */
  readonly isList?: true
  /** It is in `Settings` as it is written, if it is. */
  readonly isPlain?: true
  /** The default; for a merged table the defaults of its keys. */
  readonly initial?: Json
  /** The meaning in one or two sentences, for `baton schema`. The long form is docs/prompt-file.md. */
  readonly text: string
}

type Kind = Omit<ReservedEntry, 'text' | 'initial' | 'order' | 'starts' | 'isList' | 'isPlain'>

const frame: Kind = {
  kind: 'frame',
  isPromptOnly: false,
  available: true,
  isForModels: false,
  isMerged: false,
}
const frameTable: Kind = { ...frame, isMerged: true }
const frameForModels: Kind = { ...frame, isForModels: true }
const request: Kind = { ...frame, kind: 'request' }
const requestForModels: Kind = { ...request, isForModels: true }
const promptOnly: Kind = { ...frame, isPromptOnly: true }

const entries = {
  model: {
    ...requestForModels,
    order: free,
    isPlain: true,
    text: 'The model: an alias, a name, or provider::name. A suffix -low, -medium or -high sets the effort.',
  },
  model_aliases: {
    ...requestForModels,
    order: { rule: 'names', prompt: 'free' },
    isMerged: true,
    text: 'Your own names for models.',
  },
  temperature: { ...requestForModels, order: free, isPlain: true, text: 'Sent to the model if set.' },
  top_p: { ...requestForModels, order: free, isPlain: true, text: 'Sent to the model if set.' },
  max_tokens: { ...requestForModels, order: free, isPlain: true, text: 'Limit of one answer, in tokens.' },
  reasoning_effort: {
    ...requestForModels,
    order: free,
    isPlain: true,
    text: 'How much the model thinks, if that can be chosen.',
  },
  seed: { ...requestForModels, order: free, isPlain: true, text: 'Sent to the model if set.' },
  input_concurrency: {
    ...requestForModels,
    order: free,
    initial: 2,
    text: 'Maximum number of tasks at the same time. Answers keep the order of the inputs.',
  },
  file_content_mode: {
    ...request,
    order: free,
    initial: 'udiffx',
    text: 'The format of file changes: patches, whole files, or search and replace.',
  },
  max_files_size_kb: {
    ...request,
    order: free,
    initial: 1500,
    text: 'If the files are larger in total, the task fails before it costs anything.',
  },
  ...globs('context_globs', 'Files whose content goes into the prompt. Globs start in base_dir; "!…" excludes.'),
  context_resources: {
    ...request,
    isList: true,
    order: byPrompt,
    isPlain: true,
    text: 'Resources of MCP servers whose content goes into the prompt: "SERVER:URI"; * stands for any characters.',
  },
  ...globs('knowledge_globs', 'Like context_globs, but as knowledge to follow.'),
  ...globs('structure_globs', 'Files of which only the path goes into the prompt.'),
  ...globs('working_globs', 'One task for each matching file; an inner list is one task with all its files.'),

  name: { ...promptOnly, order: free, text: 'A display name.' },
  description: {
    ...promptOnly,
    order: free,
    text: 'What the file is for; shown by baton list and to a model that may start it.',
  },
  fork_context: {
    ...promptOnly,
    order: free,
    text: 'If a model starts it, it starts with the messages of its caller.',
  },
  reminder: { ...promptOnly, order: free, text: 'If a model starts it, this is repeated after its prompt.' },
  mcp: {
    ...promptOnly,
    order: free,
    text: 'If a model starts it, "all" gives it the tools of MCP servers, whatever its lists say.',
  },
  agent: {
    ...promptOnly,
    starts: true,
    order: free,
    isPlain: true,
    text: 'An agent that answers instead of the built-in one.',
  },
  params: { ...promptOnly, order: free, text: 'Values for sub-agents, passed verbatim.' },
  template: { ...promptOnly, order: free, text: 'The instruction is a Handlebars template.' },
  input: { ...promptOnly, order: free, text: 'Variables of the prompt, filled by --var NAME=VALUE.' },
  output: { ...promptOnly, order: free, text: 'Requirements for the answer.' },
  sub_agents: {
    ...promptOnly,
    starts: true,
    order: free,
    text: 'The chain: agents that work on the request before or after the model. baton list names them.',
  },
  ensemble: {
    ...promptOnly,
    starts: true,
    order: byPrompt,
    text: 'Several agents answer each task, and their answers are combined.',
  },
  workflow: {
    ...promptOnly,
    starts: true,
    order: byPrompt,
    text: 'Steps that depend on each other, each done by an agent or by the main agent.',
  },
  test: { ...promptOnly, order: free, text: 'Tests of the prompt file: baton test runs them.' },

  providers: { ...frameTable, order: user, text: 'Your own endpoints, by name. Only in your own config file.' },
  gateway: {
    ...frame,
    order: user,
    isPlain: true,
    text: 'An endpoint that gets every model name verbatim. Only in your own config file.',
  },
  prices: {
    ...frameTable,
    order: user,
    text: 'Prices of models, by name or glob, for hosts whose prices are not known. Only in your own config file.',
  },
  mcp_servers: {
    ...frameTable,
    order: user,
    isPlain: true,
    text: 'MCP servers whose tools, resources and prompts may be used, by name. Only in your own config file.',
  },
  plugins: {
    ...frame,
    starts: true,
    isList: true,
    order: user,
    isPlain: true,
    text: 'Modules that provide modes and tools. Only in your own config file.',
  },
  permission: {
    ...frameTable,
    order: { rule: 'rules' },
    isPlain: true,
    text: 'What a tool may do: allow, ask or deny, for all of its calls or by patterns.',
  },
  sandbox: {
    ...frameTable,
    order: {
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
    initial: { network: [], scripts: false, memory_mb: 4096, processes: 512, file_mb: 2048, tmp_mb: 1024 },
    text: 'What programs chosen by a model may access: the disk, the network, memory.',
  },

  base_dir: { ...frame, order: free, initial: '', text: 'Folder the globs start from, relative to the workspace.' },
  write_mode: {
    ...frame,
    order: { rule: [false, 'ask', true], prompt: 'free', isForOthers: true },
    initial: false,
    text: 'Apply the file changes of the answer; "ask" shows each first.',
  },
  isolation: {
    ...frame,
    order: { rule: ['worktree', 'none'] },
    isPlain: true,
    text: 'Where the work is done: "worktree" is a git worktree, whose changes reach the workspace when all is done.',
  },
  gate: {
    ...frame,
    starts: true,
    order: byPrompt,
    isPlain: true,
    text: 'A command that decides, in the worktree, whether its changes reach the workspace.',
  },
  partial: { ...frame, order: free, initial: false, text: 'Apply the changes that fit even if others do not.' },
  changes: {
    ...frameTable,
    order: { keys: { repair: down, max_size: down, partial_is_success: { rule: [false, true] }, allow: user } },
    initial: { repair: 1, max_size: '256mb', partial_is_success: false },
    text: 'What happens to file changes that do not fit, and how much they may write.',
  },
  fallback_models: {
    ...frameForModels,
    isList: true,
    order: free,
    initial: [],
    text: 'Tried in this order when the model fails permanently.',
  },
  reasoning_summary: {
    ...frameForModels,
    order: free,
    isPlain: true,
    text: 'What the model reports about its reasoning, if that can be chosen.',
  },
  retry: {
    ...frameTable,
    order: {
      keys: {
        max_attempts: down,
        initial_backoff_ms: free,
        max_backoff_ms: down,
        backoff_multiplier: free,
        jitter_factor: free,
        patience: { rule: 'down', unset: '10m' },
      },
    },
    initial: {
      max_attempts: 3,
      initial_backoff_ms: 100,
      max_backoff_ms: 10_000,
      backoff_multiplier: 2,
      jitter_factor: 0.5,
    },
    text: 'How often a failed model call is retried, and after which waits.',
  },
  timeouts: {
    ...frameTable,
    order: {
      keys: { connect: down, headers: down, stream_idle: down, request: down, agent: down, approval: down, gate: down },
    },
    initial: { connect: '10s', headers: '30s', stream_idle: '5m', request: '1h' },
    text: 'Time limits of models, agents and approvals. Durations are texts such as "30s" or "10m".',
  },
  budget: {
    ...frameTable,
    order: {
      keys: {
        usd: down,
        tokens: down,
        calls: down,
        unpriced: { rule: ['deny', 'allow'], prompt: { defaultWith: 'budget.usd' } },
      },
    },
    initial: { unpriced: 'deny' },
    text: 'Limits of the whole run.',
  },
  lua: {
    ...frameTable,
    order: {
      keys: {
        engine: free,
        isolated: { rule: [true, 'installed', false], prompt: 'default' },
        timeout: down,
        memory_mb: down,
        instructions: down,
      },
    },
    initial: { engine: 'lua54', isolated: 'installed', timeout: '60s', memory_mb: 256, instructions: 1e12 },
    text: 'The Lua engine and the limits of scripts.',
  },
  secrets: {
    ...frame,
    isList: true,
    order: { rule: 'added' },
    text: 'Environment variables whose values are never recorded or shown.',
  },
  allow_run_on_task_fail: {
    ...frameForModels,
    order: free,
    initial: false,
    text: 'Continue after a failed task. The exit code is still 1.',
  },
  mode: {
    ...frameForModels,
    order: free,
    isPlain: true,
    text: 'How messages are executed: classic, code, or a mode of a plug-in.',
  },
  instructions: {
    ...frame,
    order: free,
    available: [false],
    text: 'Files with standing instructions, such as AGENTS.md.',
  },
  runs: {
    ...frameTable,
    order: { keys: { dir: user, keep: user, max_size: down } },
    initial: { max_size: '2gb' },
    text: 'Where runs are recorded, and how large one may get.',
  },
  timeout: {
    ...frame,
    order: down,
    text: 'Time limit of the run, or of the agent that the file defines, such as "30m". A resumed run has the whole time again.',
  },
  auto_approve_plan_mode: {
    ...frame,
    order: { rule: [false, true], prompt: 'free' },
    isPlain: true,
    text: 'Plans that a model submits with exit_plan are approved without asking.',
  },
  max_rounds: {
    ...frameForModels,
    order: down,
    isPlain: true,
    text: 'Maximum number of model calls for one message. It is a limit: the run ends with exit code 4. Default: 200 if a model has tools, 10 in the mode code.',
  },
  max_turns: {
    ...frameForModels,
    order: down,
    isPlain: true,
    text: 'Maximum number of model calls of one agent. It is a limit: the run ends with exit code 4.',
  },
  model_files: {
    ...frame,
    isList: true,
    order: free,
    isPlain: true,
    text: 'Kinds of files that the models accept directly ("image", "pdf"), if Baton does not know. For other files, a tool returns the text.',
  },
  tools: { ...frame, isList: true, order: free, isPlain: true, text: 'Tools the model may use: names or patterns.' },
  disallowed_tools: {
    ...frame,
    isList: true,
    order: { rule: 'added' },
    isPlain: true,
    text: 'Tools the model may not use, whatever else allows them.',
  },
  iterate: {
    ...frameTable,
    starts: true,
    order: byPrompt,
    initial: {
      context: true,
      assessment: true,
      commits: 'auto',
      summarizer: 'files',
      on_dirty: 'abort',
      score_best: 'highest',
      command_timeout: '10m',
    },
    text: 'Work on the prompt repeatedly: by count, by time, or until a command succeeds.',
  },
  collab: {
    ...frameTable,
    starts: true,
    order: {
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
    initial: {
      max_agents: 6,
      max_depth: 1,
      default_wait: '30s',
      min_wait: '10s',
      max_wait: '5m',
      return_when: 'all',
      on_stall: 'tell',
      stall_after: '2m',
    },
    text: 'The model starts agents, gives them work, waits for them and sends them follow-up requests.',
  },
  chat: {
    ...frame,
    order: free,
    isPlain: true,
    text: 'How messages of baton chat after the first are answered, and when old ones are summarized.',
  },
  delegate: { ...promptOnly, starts: true, order: byPrompt, text: 'A team of agents works on a list of items.' },
  code: {
    ...frameTable,
    order: {
      keys: {
        timeout: down,
        memory_mb: down,
        eval_type: free,
        stream: free,
        auto_approve: { rule: [false, true] },
      },
    },
    initial: { timeout: '30s', memory_mb: 64, stream: true, auto_approve: false },
    text: 'Limits of the programs that models write in the mode "code".',
  },
  agents: {
    ...frameTable,
    order: { rule: 'agents', prompt: 'free' },
    text: 'Your own agents, by name: a model with instructions, or a command line.',
  },
} as const satisfies { readonly [key in FrontMatterKey]: ReservedEntry }

function globs<const Key extends string>(key: Key, text: string): GlobKeys<Key, ReservedEntry> {
  return globKeys(key, (place) => ({ ...request, order: free, text: text + place }))
}

type GlobKeys<Key extends string, T> = { readonly [key in `${Key}_pre` | Key | `${Key}_post`]: T }

/** The three keys of a list of globs: config files and prompt files can add to the list at both ends. */
export function globKeys<const Key extends string, T>(key: Key, make: (place: string) => T): GlobKeys<Key, T> {
  return {
    [`${key}_pre`]: make(' Placed before the list without suffix.'),
    [key]: make(''),
    [`${key}_post`]: make(' Placed after the list without suffix.'),
  } as GlobKeys<Key, T>
}

export type ReservedKey = keyof typeof entries

/** The defaults of all keys that have one. */
export const defaults = Object.fromEntries(
  Object.entries(entries).flatMap(([key, entry]) => ('initial' in entry ? [[key, entry.initial]] : [])),
) as Defaults

type Entries = typeof entries
type Initial<Key extends ReservedKey> = Entries[Key] extends { initial: infer Value } ? Value : never
export type Defaults = {
  readonly [Key in ReservedKey as [Initial<Key>] extends [never] ? never : Key]: Initial<Key>
}

type PlainKey = { [Key in ReservedKey]: Entries[Key] extends { readonly isPlain: true } ? Key : never }[ReservedKey]

/** The keys that settings have as they are written. */
export const plainKeys: readonly PlainKey[] = Object.entries<ReservedEntry>(entries).flatMap(([key, { isPlain }]) =>
  isPlain === true ? [key as PlainKey] : [],
)

/** Every reserved top-level key. Schemas are in schema.ts, which is slower to load. */
export const reserved: ReadonlyMap<string, ReservedEntry> = new Map(Object.entries(entries))

export function isReserved(key: string): key is ReservedKey {
  return reserved.has(key)
}

export function isRequestKey(key: string): boolean {
  return reserved.get(key)?.kind === 'request'
}

/** An empty Lua table does not say whether it is a list: under a key that holds a list, it is one. */
export function withEmptyLists(values: JsonObject): JsonObject {
  const entries = Object.entries(values)
  return Object.fromEntries(entries.map(([key, value]) => [key, isList(key) && isEmptyTable(value) ? [] : value]))
}

function isList(key: string): boolean {
  return isReserved(key) && (globsKind(key) !== undefined || reserved.get(key)?.isList === true)
}

/** What the files of a list of globs are for; undefined: the key holds no globs. */
export function globsKind(key: string): 'context' | 'knowledge' | 'structure' | 'working' | undefined {
  const [, kind] = /^(context|knowledge|structure|working)_globs(?:_pre|_post)?$/.exec(key) ?? []
  return kind as ReturnType<typeof globsKind>
}

function isEmptyTable(value: Json): boolean {
  return isJsonObject(value) && Object.keys(value).length === 0
}

/** The part of a reserved key's value that this version does not support. */
export function unavailableIn(key: ReservedKey, value: Json): Unavailable | undefined {
  const { available }: ReservedEntry = entries[key]
  if (available === true) return undefined
  return value === available[0] ? undefined : { path: [key], shown: `${key} = ${JSON.stringify(value)}` }
}
