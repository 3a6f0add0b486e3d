import * as z from 'zod'
import { defined, isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { merges, stages, textUses, unsupported } from './agent-config.ts'
import { address, duration, timeLimit } from './expect.ts'
import { defaults, isReserved, reserved, type ReservedEntry, type ReservedKey } from './keys.ts'
import { isGuarded } from './orders.ts'
import { schemas } from './schema.ts'

interface SchemaNames {
  readonly tools?: readonly string[]
}

/**
 * The JSON Schema of the front matter, or of config files: draft-07 restricted to features of draft-04, because taplo
 * promises no more. Keys that are not available in this version are omitted. Editors report what `baton check` reports,
 * except what depends on other files.
 * @param names what editors offer: the names of existing tools
 */
export function configJsonSchema(subject: 'prompt' | 'config', { tools = [] }: SchemaNames = {}): JsonObject {
  const properties = [...reserved].flatMap(([key, entry]) => {
    const isAllowed = subject === 'prompt' ? !isGuarded(key) : !entry.isPromptOnly
    return isAllowed && isReserved(key) ? [[key, propertyOf(key, entry)] as const] : []
  })
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title:
      subject === 'prompt'
        ? 'Front matter of a Baton prompt file'
        : 'Baton config file: baton.toml, or config.toml of the user',
    type: 'object',
    properties: { ...(Object.fromEntries(properties) as JsonObject), ...toolLists(properties, tools) },
    // a key of a prompt file that is not reserved is a parameter for sub-agents
    additionalProperties: subject === 'prompt',
  }
}

/** The tool lists, with names for editors to offer; patterns and tools of servers are valid as well. */
function toolLists(properties: readonly (readonly [string, JsonObject])[], tools: readonly string[]): JsonObject {
  if (tools.length === 0) return {}
  const lists = properties.filter(([key]) => key === 'tools' || key === 'disallowed_tools')
  return Object.fromEntries(
    lists.map(([key, { items = {}, ...list }]) => [key, { ...list, items: { anyOf: [{ enum: tools }, items] } }]),
  )
}

function propertyOf(key: ReservedKey, { text, available, initial }: ReservedEntry): JsonObject {
  return {
    description: text,
    ...described(schemaOf(key, available), [key]),
    ...(initial === undefined || isJsonObject(initial) ? {} : { default: initial }),
  }
}

function schemaOf(key: ReservedKey, available: ReservedEntry['available']): JsonObject {
  if (typeof available === 'object') return { enum: available }
  return key === 'sub_agents' ? subAgents : generated(schemas[key])
}

const agentName: JsonObject = { type: 'string', pattern: String.raw`\S` }
const notAKey: JsonObject = { description: 'Not a key of sub-agents: use stage.', not: {} }

/** Hand-written, because the entries of `sub_agents` are not checked by zod. */
const subAgents: JsonObject = {
  type: 'array',
  items: {
    anyOf: [
      agentName,
      {
        type: 'object',
        required: ['name'],
        // further keys are options of the agent
        properties: {
          name: agentName,
          enabled: { type: 'boolean', default: true },
          stage: {
            anyOf: [{ enum: stages }, { type: 'array', minItems: 1, items: { enum: stages } }],
            default: 'pre',
          },
          merge: { enum: merges },
          as: { enum: textUses, default: 'append' },
          options: { type: 'object' },
          ...Object.fromEntries(unsupported.map((key) => [key, notAKey])),
        },
      },
    ],
  },
}

function generated(schema: z.ZodType): JsonObject {
  const { $schema: _, ...made } = z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // these two are checked by code, which a schema cannot contain
      if (zodSchema === duration || zodSchema === timeLimit)
        jsonSchema.pattern = String.raw`^\s*\d{1,10}(\.\d{1,3})?(ms|s|m|h|d)\s*$`
      if (zodSchema === address) jsonSchema.pattern = '^[Hh][Tt][Tt][Pp][Ss]?:'
      // the bounds of safe integers carry no information
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      // TOML and YAML allow no other names
      if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
    },
  })
  return made as JsonObject
}

function described(schema: Json, path: readonly string[]): JsonObject {
  if (!isJsonObject(schema)) return {}
  const { const: only, properties, additionalProperties: rest, items, anyOf, ...others } = schema
  return {
    ...(only === undefined ? {} : { enum: [only] }),
    ...others,
    ...(isJsonObject(properties) ? { properties: describedTable(properties, path) } : {}),
    ...(rest === undefined
      ? {}
      : { additionalProperties: isJsonObject(rest) ? described(rest, [...path, '*']) : rest }),
    ...(items === undefined ? {} : { items: described(items, path) }),
    ...(Array.isArray(anyOf) ? { anyOf: (anyOf as readonly Json[]).map((item) => described(item, path)) } : {}),
  }
}

function describedTable(properties: JsonObject, path: readonly string[]): JsonObject {
  return Object.fromEntries(
    Object.entries(properties).map(([key, schema]): [string, Json] => {
      const inner = [...path, key]
      const description = textOf(inner)
      return [
        key,
        { ...defined({ description }), ...described(schema, inner), ...defined({ default: defaultOf(inner) }) },
      ]
    }),
  )
}

/** Settings of an agent mean the same as in its front matter. */
function textOf(path: readonly string[]): string | undefined {
  const own = texts[path.join('.').replace(/^gateway\./, 'providers.*.')]
  const agent = path[0] === 'agents' ? 2 : path[0] === 'collab' && path[1] === 'roles' ? 3 : path.length
  const setting = path.slice(agent)
  if (own !== undefined || setting.length === 0) return own
  return texts[setting.join('.')] ?? reserved.get(setting.join('.'))?.text
}

function defaultOf([key = '', inner = '', ...deeper]: readonly string[]): Json | undefined {
  const table = (defaults as JsonObject)[key]
  return deeper.length === 0 && isJsonObject(table) ? table[inner] : undefined
}

/**
 * Descriptions of the keys of tables. `*` stands for a name chosen by the author; `gateway` has the keys of
 * `providers.*`.
 */
const texts: { readonly [path: string]: string } = {
  'output.schema': 'A JSON Schema, or the name of a file with one, relative to the prompt file.',
  'input.*.type': 'What the value must be.',
  'input.*.default': 'The value if none is given.',
  'input.*.required': 'Whether a value must be given.',
  'input.*.description': 'What it is for; errors show it.',
  'input.*.enum': 'The allowed values.',
  'sub_agents.name': 'The agent: a built-in one, a file, or namespace@pack/agent.',
  'sub_agents.enabled': 'false disables it.',
  'sub_agents.stage': 'When it runs: before the tasks, before or after each task, or after all of them.',
  'sub_agents.merge': 'How the coder_params it returns are merged into the existing ones.',
  'sub_agents.as': 'Where the text goes if the agent returns text.',
  'sub_agents.options': 'Settings of this agent, such as its model.',
  'ensemble.quorum': 'How many members must answer. Default: 2, and 1 with aggregate = "first".',
  'ensemble.timeout': 'Time limit of each member, such as "5m".',
  'ensemble.deadline': 'Time limit for all members together: a member that has not answered by then counts as missing.',
  'ensemble.retries': 'How often a failed member is retried.',
  'ensemble.aggregate':
    'How the answers are combined: a model synthesizes them, the most frequent one is used, or the first one.',
  'ensemble.aggregator': 'An agent that combines all answers into one.',
  'ensemble.check': 'A command for sh: the answer of the first member to pass it is used.',
  'ensemble.isolation': 'worktree: each member works in its own git worktree.',
  'ensemble.model': 'The model of the synthesis. Default: the model of the file.',
  'ensemble.agents': 'The members. All get the same request at the same time.',
  'ensemble.agents.name': 'Its name. Default: derived from what it runs.',
  'ensemble.agents.model': 'The model that answers, or the model of its agent or program.',
  'ensemble.agents.agent': 'An agent that answers: a name, a file, or namespace@pack/agent.',
  'ensemble.agents.preset': 'A program that answers, one whose flags and output are known.',
  'ensemble.agents.command': 'A program that answers: a name on PATH, or a path relative to the workspace.',
  'ensemble.agents.args':
    'Its arguments: {prompt} and {model} are replaced. Without {prompt}, the prompt goes to standard input.',
  'ensemble.agents.env': 'Environment variables of the program; ${NAME} refers to one of your environment.',
  'ensemble.agents.stdin_over': 'A prompt of more bytes goes to standard input instead of {prompt}. Default: 1024.',
  'ensemble.agents.sandbox': 'What its program may do: an unknown one needs danger-full-access.',
  'ensemble.agents.sandbox.mode':
    'danger-full-access: an unknown program runs with all of your rights; otherwise it is not started.',
  'delegate.team': 'Its name. Default: the name of the file.',
  'delegate.max_workers': 'Maximum number of workers at the same time. Default: 5.',
  'delegate.task_format': 'The format of the list. Default: markdown.',
  'delegate.notifications': 'Members are notified of unread messages. Default: true.',
  'delegate.task_list':
    'The list: a file in the folder of the run, or, with a slash, a path relative to the workspace. Default: tasks.md.',
  'delegate.lease':
    'The items of a worker that has done nothing for this long can be claimed by others again. Default: 10m.',
  'delegate.stall_after': 'The leader is notified if no worker has made progress for this long. Default: 2m.',
  'delegate.workers':
    'Agents that may be workers: names, or tables with a name and an agent. Default: Explore, Plan, general-purpose.',
  'delegate.workers.name': 'Its name for the leader. Default: derived from its agent.',
  'delegate.workers.agent': 'The agent: a name in [agents], a built-in agent, or a prompt file. Default: its name.',
  'workflow.concurrency': 'Maximum number of steps at the same time. Default: input_concurrency.',
  'workflow.on_error': 'What happens to the run if a step without its own on_error fails.',
  'workflow.step': 'The steps. Each starts when the steps that it needs have ended.',
  'workflow.step.id': 'Its name, used in needs of other steps.',
  'workflow.step.agent': 'The agent that does it: a file, a built-in agent, or namespace@pack/agent.',
  'workflow.step.instructions': 'Instead of agent: a Handlebars template of the instruction for the main agent.',
  'workflow.step.needs': 'Ids of the steps that it waits for.',
  'workflow.step.input': 'A Handlebars template of its input. Default: its item, else the results of its needs.',
  'workflow.step.when': 'success, failure, always, or a Lua expression over steps and params.',
  'workflow.step.for_each': 'A Lua expression that returns a list: the step runs once for each item.',
  'workflow.step.concurrency': 'Maximum number of items of for_each at the same time.',
  'workflow.step.fallback': 'Agents that are tried in this order after its own has failed.',
  'workflow.step.on_error': 'End the run, continue with the steps that do not need it, or try the agents of fallback.',
  'workflow.step.isolation': 'worktree: it works in a git worktree, whose changes reach the workspace when it is done.',
  'workflow.step.options': 'Settings of its agent, such as its model.',
  'collab.enabled': 'false: the table only configures agents. Default: true if a prompt file has the table.',
  'collab.max_agents': 'Maximum number of agents that work at the same time; more wait for their turn.',
  'collab.max_depth': 'Nesting depth of agents: with 1, only the main agent starts agents.',
  'collab.default_wait': 'The duration of a wait that sets none.',
  'collab.min_wait': 'The shortest wait; a shorter one is extended to this.',
  'collab.max_wait': 'The longest wait; a longer one is cut to this.',
  'chat.chain': 'Whether the chain works on each message of a chat, or only on the first.',
  'chat.compact_at':
    'When a request reaches this many tokens, the chat is summarized before the next message. Default: 100000.',
  'collab.return_when': 'Whether a wait ends with all of its agents or with the first, unless the call sets it.',
  'collab.on_stall': 'What happens if agents wait for each other forever: the model is notified, or the run fails.',
  'collab.stall_after': 'The model is notified after this time without progress.',
  'collab.budget': 'Limits for all agents together.',
  'collab.budget.usd': 'US dollars.',
  'collab.budget.tokens': 'Tokens of their requests and answers.',
  'collab.budget.calls': 'Model calls.',
  'collab.roles': 'Kinds of agents, by name. default, worker and orchestrator are built in.',
  'collab.roles.*.agent': 'A prompt file, or an agent of [agents], instead of all other keys but description.',
  'collab.roles.*.description': 'What it is for; shown to the model that starts agents.',
  'collab.roles.*.instructions': 'The start of its system message: text, or the name of a .md file.',
  'agents.*.description':
    'What it is for; shown to a model that may start it. Without a description it is not offered to models.',
  'agents.*.instructions': 'The start of its system message.',
  'agents.*.fork_context': 'If a model starts it, it starts with the messages of its caller.',
  'agents.*.reminder': 'If a model starts it, this is repeated after its prompt.',
  'agents.*.isolation': 'worktree: it works in its own git worktree, and all its changes come back together.',
  'agents.*.mcp': 'all: its tool lists do not restrict the tools of MCP servers.',
  'agents.*.preset': 'A program whose flags and output are known.',
  'agents.*.command': 'The program: a name on PATH, or a path relative to the workspace.',
  'agents.*.args':
    'Its arguments: {prompt} and {model} are replaced. Without {prompt}, the prompt goes to standard input.',
  'agents.*.env': 'Environment variables of the program; ${NAME} refers to one of your environment.',
  'agents.*.stdin_over': 'A prompt of more bytes goes to standard input instead of {prompt}. Default: 1024.',
  'test.name': 'What is true if the test passes. Unique in the file.',
  'test.vars': 'Values of the variables of [input].',
  'test.params': 'Merged with [params], over which it takes precedence.',
  'test.files':
    'The files the run finds: globs of files to copy, or a table of names and contents. Relative to the workspace.',
  'test.cassette': 'The recorded answers of models, commands and HTTP: a file, relative to the prompt file.',
  'test.expect': 'What must be true after the run. Default: it ends with exit code 0.',
  'test.expect.answer_contains': 'Text that the answer contains.',
  'test.expect.answer_matches': 'A JavaScript regular expression that matches somewhere in the answer.',
  'test.expect.file_contains': 'Files and text that they contain.',
  'test.expect.file_equals': 'Files and their whole content.',
  'test.expect.exit': 'The exit code of the run.',
  'test.expect.max_cost_usd': 'The maximum cost of model calls, in US dollars.',
  'test.expect.calls': 'The number of model calls.',
  'test.input': 'The input, as with -i; for an agent any value.',
  'test.judge_model': 'The model that judges. Default: the model of the config.',
  'test.expect.output': 'What the agent returned; for a prompt file the answer, parsed as JSON.',
  'test.expect.json': 'Values of the output by path.',
  'test.expect.schema': 'A JSON Schema that the output must match: a file, relative to the tested one, or a table.',
  'test.expect.changed_files': 'Exactly these files were created, changed or deleted.',
  'test.expect.lua': 'A Lua expression that must be true.',
  'test.expect.judge': 'A statement, or a list of statements, that a model must find to be true of the answer.',
  'retry.max_attempts': 'Calls in total, including the first.',
  'retry.initial_backoff_ms': 'The first wait, in milliseconds.',
  'retry.max_backoff_ms': 'The longest wait, in milliseconds.',
  'retry.backoff_multiplier': 'The factor by which each wait is longer than the previous one.',
  'retry.jitter_factor': 'The fraction of a wait that is random.',
  'retry.patience': 'The total time to wait for a host that fails or is overloaded.',
  'timeouts.connect': 'Time until the connection is open.',
  'timeouts.headers': 'Time until the answer starts.',
  'timeouts.stream_idle': 'Time between two pieces of the answer; pieces without content do not count.',
  'timeouts.request': 'Total time of one call.',
  'timeouts.agent':
    'Default for each agent without its own timeout: sub-agents, steps, agents of scripts, and the model of each task.',
  'timeouts.gate': 'The command of gate. Default: 10m.',
  'timeouts.approval':
    'Time in which the user must answer a question, counted from when it was first asked; after that the answer is no.',
  'prices.*.input': 'US dollars per million input tokens.',
  'prices.*.output': 'US dollars per million output tokens, including reasoning.',
  'prices.*.cached': 'US dollars per million cached input tokens. Default: as other input.',
  'budget.usd': 'US dollars.',
  'budget.tokens': 'Tokens, input and output.',
  'budget.calls': 'Model calls.',
  'changes.repair': 'How often a model is asked to correct the file changes of an answer, 0 to 5.',
  'changes.max_size': 'How much the file changes of one answer may write, for example 500mb.',
  'changes.allow':
    'Globs of files that answers may change although these files decide what is run. Only in your own config file.',
  'changes.partial_is_success': 'Exit with 0 even if partial = true skipped some changes.',
  'budget.unpriced': 'Whether a model without a known price may be used with a limit in dollars.',
  'code.timeout': 'How long a program may run. Time spent waiting for its calls is not counted.',
  'code.memory_mb': 'Memory of a program.',
  'code.eval_type': 'How a program is parsed: as a script, as a module, or as its text requires.',
  'code.stream': 'Whether the output of programs is streamed as events.',
  'code.auto_approve':
    'Allow calls of programs if only the default rules of Baton would ask; rules of [permission] still apply.',
  'iterate.condition': 'How long: a count of iterations, for example 5, or a time, for example 30m.',
  'iterate.context': 'Tell each iteration what the earlier ones have done.',
  'iterate.assessment':
    'First ask each iteration to judge how complex the task is; or the name of a file with other questions, relative to the prompt file.',
  'iterate.commits': 'Commit what each iteration has changed. auto: only in a clean git work tree.',
  'iterate.summarizer': 'What summarizes an iteration: files, llm, or an agent.',
  'iterate.continuation': 'With context = false, this text follows the prompt from the second iteration on.',
  'iterate.plan': 'The name of a file with a plan that each iteration is shown, relative to the prompt file.',
  'iterate.on_dirty':
    'With commits = true: whether there may be uncommitted changes at the start. They are not committed.',
  'iterate.max_iterations':
    'The maximum number of iterations, whatever the other conditions. Default: 100 if no count is given.',
  'iterate.until': 'A command for sh, run after each iteration: exit code 0 ends it.',
  'iterate.score': 'A command for sh that prints a number, run before the first and after each iteration.',
  'iterate.score_goal': 'A score as good as this one ends it.',
  'iterate.score_best': 'Which score is better.',
  'iterate.stall':
    'This many consecutive iterations without a change end it; 0: never. Default: 3, and 0 if condition is a count.',
  'iterate.command_timeout': 'Time limit of each run of until and score, and of a commit with its hooks.',
  'lua.engine': 'lua54 is faster, fengari needs no WebAssembly.',
  'lua.isolated':
    'Run scripts in separate threads, which can be terminated at any time: all, none, or those of "installed" packs, which came from an archive, git or a URL.',
  'lua.timeout': 'How long the Lua code of one section may run.',
  'lua.memory_mb':
    'Memory of one Lua state, in MB. The engine fengari only enforces it if scripts are isolated (lua.isolated = true).',
  'lua.instructions': 'Instructions of the Lua VM.',
  'sandbox.mode':
    'read-only: they change nothing; workspace-write: only files of the workspace; danger-full-access: no sandbox. Default: workspace-write if write_mode is set, else read-only.',
  'sandbox.network': 'Hosts that they may reach: "example.com", "*.example.com", "localhost:5432". Default: none.',
  'sandbox.scripts': 'Run the commands of scripts and of [iterate] in the sandbox as well.',
  'sandbox.memory_mb': 'Memory of all programs of a command together, in MiB.',
  'sandbox.processes': 'Maximum number of processes of a command at the same time.',
  'sandbox.file_mb': 'The largest file that a command may write, in MiB.',
  'sandbox.tmp_mb': 'The size of the private /tmp of a command, in MiB.',
  'runs.dir': 'The folder, relative to the workspace; ~/ is your home folder.',
  'runs.keep': 'How long a run that is not in progress is kept, for example 30d. Default: forever.',
  'runs.max_size': 'How large the record of one run may get, for example 500mb.',
  'mcp_servers.*.type': 'The transport. Default: stdio with a command, http with a url, which falls back to sse.',
  'mcp_servers.*.command': 'The program that is the server, as a shell would find it.',
  'mcp_servers.*.args': 'Its arguments. ${NAME} and ${NAME:-default} refer to environment variables.',
  'mcp_servers.*.env': 'Environment variables of the program. It gets few others: PATH, HOME and the like.',
  'mcp_servers.*.cwd': 'Its working folder, relative to the workspace. Default: the workspace.',
  'mcp_servers.*.url': 'The address of a server that is running.',
  'mcp_servers.*.headers': 'Headers of every request to it.',
  'mcp_servers.*.bearer_token_env': 'The environment variable that contains the key that is sent to it.',
  'mcp_servers.*.oauth': 'How baton mcp login logs in if the server does not support dynamic client registration.',
  'mcp_servers.*.oauth.client_id': 'The client id that you have registered there.',
  'mcp_servers.*.oauth.client_secret_env': 'The environment variable that contains its secret.',
  'mcp_servers.*.oauth.scope': 'The requested scopes. Default: as the server specifies.',
  'mcp_servers.*.oauth.port': 'The port of this machine to which the browser is redirected. Default: any.',
  'mcp_servers.*.auth_hosts':
    'Further hosts that a login may use for tokens and metadata, for example "login.example.com".',
  'mcp_servers.*.startup_timeout_sec': 'Time limit for starting, connecting and listing, in seconds. Default: 10.',
  'mcp_servers.*.tool_timeout_sec': 'Time limit of a call, in seconds. Default: 60.',
  'mcp_servers.*.tools': 'Its tools that are available: names in the server, or patterns. Default: all.',
  'mcp_servers.*.disallowed_tools': 'Its tools that are not available.',
  'mcp_servers.*.trusted': 'Its own descriptions of its tools are trusted, for example that a tool only reads.',
  'mcp_servers.*.sampling': 'It may send requests to your model, within budget and permission.',
  'mcp_servers.*.enabled': 'false disables it.',
  'providers.*.base_url': 'The base URL of its API, for example https://host/v1.',
  'providers.*.format': 'The wire format of its API.',
  'providers.*.api_key_env': 'The environment variable that contains the key.',
  'providers.*.api_key_command':
    'A command that prints the key, for keys that expire: run at most every five minutes. Not together with api_key_env.',
  'providers.*.api_version':
    'The version of the API of Azure OpenAI; base_url then ends in /openai, and models are deployments.',
  'providers.*.organization': 'The organization of OpenAI whose account is used.',
  'providers.*.project': 'The project of OpenAI whose account is used.',
  'providers.*.default_model': 'The model if none is named.',
  'providers.*.stream_idle_timeout_ms':
    'Time between two pieces of its answer, in milliseconds. Default: stream_idle of [timeouts].',
}
