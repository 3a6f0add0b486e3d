import { z } from 'zod'
import { exactHost, isHostEntry } from '../base/host-entry.ts'
import {
  duration,
  flag,
  integer,
  listOf,
  name,
  number,
  oneOf,
  table,
  tableOf,
  text,
  texts,
  timeLimit,
  variableName,
} from './expect.ts'
import { conditionForms, parseCondition } from './iteration.ts'

const condition = z
  .string({ error: conditionForms })
  .refine((value) => parseCondition(value) !== undefined, conditionForms)
export const toolNames = listOf(name, 'a list of tool names')
const sandboxMode = oneOf('read-only', 'workspace-write', 'danger-full-access')
const hostEntry = z
  .string({ error: 'a host' })
  .refine(isHostEntry, 'a host such as "example.com", "*.example.com" or "localhost:5432"')
const authHost = z
  .string({ error: 'a host' })
  .refine((value) => exactHost(value) !== undefined, 'a host such as "login.example.com" or "localhost:5432"')
const seconds = number(0.1, 1_000_000)
const anything = z.unknown()

/** `[sandbox]`. */
export const sandboxSchema = table({
  mode: sandboxMode,
  network: listOf(hostEntry, 'a list of hosts'),
  scripts: flag,
  memory_mb: integer(16, 1_000_000),
  processes: integer(1, 1_000_000),
  file_mb: integer(1, 1_000_000),
  tmp_mb: integer(1, 1_000_000),
})

/** `[mcp_servers]`; conflicts between keys are found by mcp-servers.ts. */
export const serversSchema = tableOf(
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
export const iterateSchema = table({
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
export const codeSchema = table({
  timeout: timeLimit,
  memory_mb: integer(16, 1024),
  eval_type: oneOf('auto', 'global', 'module'),
  stream: flag,
  auto_approve: flag,
})

/** `[collab]`; `settings` are the keys that a role may also have. Conflicts between keys are found by collab.ts. */
export function collabTable(settings: z.ZodRawShape): z.ZodType {
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
export const strategySchemas = {
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
