import { exactHost, isHostEntry } from '../base/host-entry.ts'
import { isPattern } from '../base/pattern.ts'
import * as z from 'zod'
import {
  address,
  duration,
  flag,
  integer,
  listOf,
  name,
  number,
  oneOf,
  size,
  table,
  tableOf,
  text,
  texts,
  timeLimit,
  variableName,
} from './expect.ts'
import { roleSettingKeys, settingKeys } from './agent-tables.ts'
import { conditionForms, parseCondition } from './iteration.ts'
import { globKeys, type ReservedKey } from './keys.ts'
import { permissionEffects } from './permission-rules.ts'

const anything = z.unknown()
const condition = z
  .string({ error: conditionForms })
  .refine((value) => parseCondition(value) !== undefined, conditionForms)
const toolNames = listOf(name, 'a list of tool names')
const sandboxMode = oneOf('read-only', 'workspace-write', 'danger-full-access')
const hostEntry = z
  .string({ error: 'a host' })
  .refine(isHostEntry, 'a host such as "example.com", "*.example.com" or "localhost:5432"')
const authHost = z
  .string({ error: 'a host' })
  .refine((value) => exactHost(value) !== undefined, 'a host such as "login.example.com" or "localhost:5432"')
const seconds = number(0.1, 1_000_000)

/** `[sandbox]`. */
const sandboxSchema = table({
  mode: sandboxMode,
  network: listOf(hostEntry, 'a list of hosts'),
  scripts: flag,
  memory_mb: integer(16, 1_000_000),
  processes: integer(1, 1_000_000),
  file_mb: integer(1, 1_000_000),
  tmp_mb: integer(1, 1_000_000),
})

/** `[mcp_servers]`; conflicts between keys are found by mcp-servers.ts. */
const serversSchema = tableOf(
  table({
    type: oneOf('stdio', 'http', 'sse'),
    command: name,
    args: texts,
    env: tableOf(text),
    cwd: name,
    url: name,
    headers: tableOf(text),
    bearer_token_env: variableName,
    oauth: table({ client_id: name, client_secret_env: variableName, scope: name, port: integer(1, 65_535) }),
    auth_hosts: listOf(authHost, 'a list of hosts'),
    startup_timeout_sec: seconds,
    tool_timeout_sec: seconds,
    tools: toolNames,
    disallowed_tools: toolNames,
    trusted: flag,
    sampling: flag,
    enabled: flag,
  }),
)

/** `[iterate]`. */
const iterateSchema = table({
  condition,
  context: flag,
  assessment: z.union([flag, name], { error: 'true, false or the name of a file' }),
  commits: z.union([flag, z.literal('auto')], { error: 'true, false or "auto"' }),
  summarizer: name,
  continuation: text,
  plan: name,
  on_dirty: oneOf('abort', 'allow'),
  max_iterations: integer(1),
  until: name,
  score: name,
  score_goal: number(-1e9, 1e9),
  score_best: oneOf('highest', 'lowest'),
  stall: integer(0),
  command_timeout: timeLimit,
})

/** `[code]`. */
const codeSchema = table({
  timeout: timeLimit,
  memory_mb: integer(16, 1024),
  eval_type: oneOf('auto', 'global', 'module'),
  stream: flag,
  auto_approve: flag,
})

/** `[collab]`; `settings` are the keys that a role may also have. Conflicts between keys are found by collab.ts. */
function collabTable(settings: z.ZodRawShape): z.ZodType {
  return table({
    enabled: flag,
    max_agents: integer(1, 1000),
    max_depth: integer(1, 10),
    default_wait: timeLimit,
    min_wait: duration,
    max_wait: timeLimit,
    return_when: oneOf('all', 'any'),
    on_stall: oneOf('tell', 'fail'),
    stall_after: timeLimit,
    budget: table({ usd: number(0, 1e9), tokens: integer(1), calls: integer(1) }),
    roles: tableOf(table({ ...settings, agent: name, description: text, instructions: text })),
  })
}

/** Tables of strategies, agents and limits; keys.ts lists what this version does not support of them. */
const strategySchemas = {
  ensemble: table({
    quorum: integer(1),
    timeout: timeLimit,
    deadline: timeLimit,
    retries: integer(0, 10),
    aggregate: oneOf('synthesis', 'vote', 'first'),
    aggregator: name,
    check: name,
    isolation: oneOf('none', 'worktree'),
    model: name,
    agents: listOf(
      table({
        name,
        model: name,
        agent: name,
        command: name,
        args: texts,
        env: tableOf(text),
        stdin_over: integer(0),
        preset: oneOf('claude', 'codex', 'gemini', 'opencode'),
        sandbox: table({ mode: sandboxMode }),
      }),
      'a list of tables, written [[ensemble.agents]]',
    ),
  }),
  delegate: table({
    team: name,
    max_workers: integer(1, 1000),
    task_format: oneOf('markdown', 'json'),
    notifications: flag,
    task_list: name,
    lease: timeLimit,
    stall_after: timeLimit,
    workers: listOf(z.union([name, table({ name, agent: name })], { error: 'a name or a table with a name' })),
  }),
  workflow: table({
    concurrency: integer(1, 1000),
    on_error: oneOf('fail_fast', 'continue'),
    step: listOf(
      z.strictObject(
        {
          id: z
            .string({ error: 'text' })
            .regex(/^[A-Za-z][\w-]*$/, 'a name of letters, digits, - and _ that starts with a letter'),
          agent: name.exactOptional(),
          instructions: name.exactOptional(),
          needs: listOf(name, 'a list of ids').exactOptional(),
          input: text.exactOptional(),
          when: name.exactOptional(),
          for_each: name.exactOptional(),
          concurrency: integer(1, 1000).exactOptional(),
          fallback: listOf(name, 'a list of agents').exactOptional(),
          on_error: oneOf('fail_fast', 'continue', 'fallback').exactOptional(),
          isolation: oneOf('none', 'worktree').exactOptional(),
          options: tableOf(anything).exactOptional(),
        },
        { error: 'a table' },
      ),
      'a list of tables, written [[workflow.step]]',
    ),
  }),
} as const

const globs = listOf(name, 'a list of globs')
const resources = listOf(
  text.regex(/^[\w-]+:./, { error: 'a resource, "SERVER:URI"' }),
  'a list of resources, "SERVER:URI"',
)
const groups = listOf(
  z.union([name, listOf(name)], { error: 'a glob or a list of globs' }),
  'a list of globs and of lists of globs',
)

/** An endpoint of the user's own. `base_url` is the part before the path of its wire format. */
const provider = z
  .strictObject(
    {
      base_url: address,
      format: oneOf('chat', 'responses', 'anthropic', 'gemini').exactOptional(),
      api_key_env: variableName.exactOptional(),
      api_key_command: name.exactOptional(),
      api_version: name.exactOptional(),
      organization: name.exactOptional(),
      project: name.exactOptional(),
      default_model: name.exactOptional(),
      stream_idle_timeout_ms: integer(1, 86_400_000).exactOptional(),
    },
    { error: 'a table' },
  )
  .superRefine(({ api_key_env: variable, api_key_command: command, api_version: version, format }, context) => {
    if (variable !== undefined && command !== undefined) {
      const message = 'left out where api_key_env is set'
      context.addIssue({ code: 'custom', path: ['api_key_command'], input: command, message })
    }
    if (version !== undefined && (format === 'anthropic' || format === 'gemini')) {
      const message = 'used with the format chat or responses'
      context.addIssue({ code: 'custom', path: ['api_version'], input: format, message })
    }
  })

/** US dollars per million tokens. */
const price = z.strictObject(
  { input: number(0, 1e6), output: number(0, 1e6), cached: number(0, 1e6).exactOptional() },
  { error: 'a table' },
)

const effect = oneOf(...permissionEffects)
const effects = z.union([effect, tableOf(effect)], { error: '"allow", "ask", "deny", or a table of them by pattern' })

/** Keys of settings: each may come from any layer that is allowed to set it. */
const settingShape = {
  model: name,
  model_aliases: tableOf(name),
  temperature: number(0, 2),
  top_p: number(0, 1),
  max_tokens: integer(1),
  reasoning_effort: oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
  seed: integer(),
  input_concurrency: integer(1, 1000),
  base_dir: text,
  ...globKeys('context_globs', () => globs),
  context_resources: resources,
  ...globKeys('knowledge_globs', () => globs),
  ...globKeys('structure_globs', () => globs),
  ...globKeys('working_globs', () => groups),
  max_files_size_kb: integer(1),
  allow_run_on_task_fail: flag,
  write_mode: z.union([z.boolean(), z.literal('ask')], { error: 'true, false or "ask"' }),
  isolation: oneOf('none', 'worktree'),
  gate: name,
  partial: flag,
  file_content_mode: oneOf('udiffx', 'whole', 'search_replace_auto'),
  changes: table({ repair: integer(0, 5), max_size: size, partial_is_success: flag, allow: globs }),
  fallback_models: listOf(name, 'a list of models'),
  reasoning_summary: oneOf('none', 'auto', 'concise', 'detailed'),
  agent: name,
  template: flag,
  output: table({
    schema: z.union([name, tableOf(anything)], { error: 'a table or the name of a file' }),
  }),
  iterate: iterateSchema,
  code: codeSchema,
  sandbox: sandboxSchema,
  retry: table({
    max_attempts: integer(1, 100),
    initial_backoff_ms: integer(0),
    max_backoff_ms: integer(0),
    backoff_multiplier: number(1, 100),
    jitter_factor: number(0, 1),
    patience: duration,
  }),
  timeouts: table({
    connect: timeLimit,
    headers: timeLimit,
    stream_idle: timeLimit,
    request: timeLimit,
    agent: timeLimit,
    approval: timeLimit,
    gate: timeLimit,
  }),
  budget: table({
    usd: number(0, 1e9),
    tokens: integer(1),
    calls: integer(1),
    unpriced: oneOf('deny', 'allow'),
  }),
  lua: table({
    engine: oneOf('lua54', 'fengari'),
    isolated: z.union([z.boolean(), z.literal('installed')], { error: 'true, false or "installed"' }),
    timeout: duration,
    memory_mb: integer(1, 4096),
    instructions: integer(1),
  }),
  runs: table({ dir: name, keep: duration, max_size: size }),
  timeout: timeLimit,
  tools: toolNames,
  disallowed_tools: toolNames,
  permission: tableOf(effects),
  auto_approve_plan_mode: flag,
  max_rounds: integer(1),
  max_turns: integer(1),
  model_files: listOf(oneOf('image', 'pdf'), 'a list of "image" and "pdf"'),
  mode: name,
  plugins: listOf(name, 'a list of files'),
  secrets: listOf(variableName, 'a list of names of environment variables'),
  providers: tableOf(provider),
  gateway: provider,
  prices: tableOf(price),
  mcp_servers: serversSchema,
  chat: table({ chain: oneOf('each', 'once'), compact_at: integer(1000) }),
} as const

/** The keys that a table of `[agents]` may also have. */
const agentSettings = Object.fromEntries(settingKeys.map((key) => [key, settingShape[key]])) as Pick<
  typeof settingShape,
  (typeof settingKeys)[number]
>

const settings = z.object(settingShape).exactPartial()

/** The content of layers after the check: every key with the type of its schema. */
export type SettingValues = z.infer<typeof settings>

const pieces = z.union([name, listOf(name)], { error: 'text or a list of strings' })

const expectation = table({
  answer_contains: pieces,
  answer_matches: name.refine(isPattern, 'a regular expression'),
  file_contains: tableOf(pieces),
  file_equals: tableOf(text),
  output: anything,
  json: tableOf(anything),
  schema: z.union([name, tableOf(anything)], { error: 'a table or the name of a file' }),
  changed_files: listOf(name),
  lua: name,
  judge: pieces,
  exit: integer(0, 255),
  max_cost_usd: number(0, 1e9),
  calls: integer(0),
}).refine((value) => Object.keys(value).length > 0, {
  error: 'a table with at least one key',
  // one with a mistyped key is not
  when: ({ issues }) => issues.length === 0,
})

const oneTest = z.strictObject(
  {
    name,
    vars: tableOf(anything).exactOptional(),
    params: tableOf(anything).exactOptional(),
    input: anything.exactOptional(),
    judge_model: name.exactOptional(),
    files: z
      .union([listOf(name), tableOf(text)], { error: 'a list of globs, or a table of names and contents' })
      .exactOptional(),
    cassette: name.exactOptional(),
    expect: listOf(expectation, 'a list of tables').exactOptional(),
  },
  { error: 'a table' },
)

const tests = listOf(oneTest, 'a list of tables').superRefine((entries, context) => {
  for (const [index, { name: own }] of entries.entries()) {
    if (entries.findIndex((other) => other.name === own) === index) continue
    const message = 'a name that is unique among the tests of the file'
    context.addIssue({ code: 'custom', path: [index, 'name'], input: own, message })
  }
})

/** One entry of `[[test]]`, after the check. */
export type TestEntry = z.infer<typeof tests>[number]
/** One entry of `expect`, after the check. */
export type Expectation = z.infer<typeof expectation>

/** The schema of every reserved top-level key, including those that this version does not support. */
export const schemas: { readonly [key in ReservedKey]: z.ZodType } = {
  ...settingShape,
  ...strategySchemas,
  collab: collabTable(Object.fromEntries(roleSettingKeys.map((key) => [key, settingShape[key]]))),
  name,
  description: text,
  fork_context: flag,
  reminder: name,
  mcp: oneOf('all', 'listed'),
  agents: tableOf(
    table({
      ...agentSettings,
      description: text,
      instructions: text,
      fork_context: flag,
      reminder: name,
      isolation: oneOf('none', 'worktree'),
      mcp: oneOf('all', 'listed'),
      preset: oneOf('claude', 'codex', 'gemini', 'opencode'),
      command: name,
      args: texts,
      env: tableOf(text),
      stdin_over: integer(0),
    }),
  ),
  params: tableOf(anything),
  input: tableOf(
    table({
      type: oneOf('string', 'number', 'integer', 'boolean', 'list', 'table'),
      default: anything,
      required: flag,
      description: text,
      enum: listOf(anything),
    }),
  ),
  sub_agents: listOf(anything),
  test: tests,
  instructions: z.union([z.literal('auto'), z.literal(false), texts], { error: '"auto", false or a list of paths' }),
}
