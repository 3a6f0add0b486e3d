import { z } from 'zod'
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
 * The JSON Schema of the front matter, or of config files: draft-07, without what draft-04 does not have, which is all
 * that taplo promises. Keys that this version does not have are left out. Editors report what `baton check` reports,
 * except what depends on other files.
 * @param names what editors offer: the tools there are
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

/** The lists of tools with names that editors offer; patterns and tools of servers fit as well. */
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

/** Written by hand, because the entries of `sub_agents` are not checked by zod. */
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
      // the bounds of numbers that are stored exactly are no information
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

/** Settings of an agent mean what they mean in its front matter. */
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

/** What the keys of tables mean. `*` stands for a name the author chooses; `gateway` has the keys of `providers.*`. */
const texts: { readonly [path: string]: string } = {
  'output.schema': 'A JSON Schema, or the name of a file with one, relative to the prompt file.',
  'input.*.type': 'What the value must be.',
  'input.*.default': 'The value when none is given.',
  'input.*.required': 'Whether a value must be given.',
  'input.*.description': 'What it is for; errors show it.',
  'input.*.enum': 'The values it may have.',
  'sub_agents.name': 'The agent: a built-in one, a file, or namespace@pack/agent.',
  'sub_agents.enabled': 'false leaves it out.',
  'sub_agents.stage': 'When it runs: before the tasks, before or after each task, or after all of them.',
  'sub_agents.merge': 'How the coder_params it returns join the present ones.',
  'sub_agents.as': 'What the text of an agent that answers text becomes.',
  'sub_agents.options': 'Settings of this agent, such as its model.',
  'ensemble.quorum': 'How many have to answer. Default: 2, and 1 with aggregate = "first".',
  'ensemble.timeout': 'Of each member, such as "5m".',
  'ensemble.deadline': 'Of all of them: whoever has not answered by then is missing.',
  'ensemble.retries': 'How often a member that failed tries again.',
  'ensemble.aggregate': 'How the answers become one: a model is asked, the most frequent one wins, or the first one.',
  'ensemble.aggregator': 'An agent that makes one answer of all.',
  'ensemble.check': 'A command for sh: the first member that passes it is the answer.',
  'ensemble.isolation': 'worktree: each member works in a git work tree of its own.',
  'ensemble.model': 'The model of the synthesis. Default: that of the file.',
  'ensemble.agents': 'The members. All are asked the same at the same time.',
  'ensemble.agents.name': 'Its name. Default: made of what it runs.',
  'ensemble.agents.model': 'The model that answers, or that of its agent or program.',
  'ensemble.agents.agent': 'An agent that answers: a name, a file, or namespace@pack/agent.',
  'ensemble.agents.preset': 'A program that answers, whose flags and output are known.',
  'ensemble.agents.command': 'A program that answers: a name on PATH, or a path from the workspace.',
  'ensemble.agents.args':
    'What it is given: {prompt} and {model} are replaced. Without {prompt} the prompt goes to standard input.',
  'ensemble.agents.env': 'Variables of the program; ${NAME} is one of the environment.',
  'ensemble.agents.stdin_over': 'A prompt of more bytes goes to standard input in place of {prompt}. Default: 1024.',
  'ensemble.agents.sandbox': 'What its program may do: one that is not known needs danger-full-access.',
  'ensemble.agents.sandbox.mode': 'A program that is not known may do what you may, or is not started.',
  'delegate.team': 'Its name. Default: that of the file.',
  'delegate.max_workers': 'Workers at work at once. Default: 5.',
  'delegate.task_format': 'The form of the list. Default: markdown.',
  'delegate.notifications': 'Members are told of messages that they have not read. Default: true.',
  'delegate.task_list':
    'The list: a file in the folder of the run, or, with a slash, its path from the workspace. Default: tasks.md.',
  'delegate.lease':
    'What a worker has claimed that has done nothing for so long is there for others again. Default: 10m.',
  'delegate.stall_after': 'After this time in which no worker has got further the leader is told. Default: 2m.',
  'delegate.workers':
    'Agents that may be workers: names, or tables with a name and an agent. Default: Explore, Plan, general-purpose.',
  'delegate.workers.name': 'What the leader calls it. Default: made of its agent.',
  'delegate.workers.agent': 'The agent: a name of [agents] or of Baton, or a prompt file. Default: its name.',
  'workflow.concurrency': 'Steps at the same time. Default: input_concurrency.',
  'workflow.on_error': 'What becomes of the run when a step fails that does not say.',
  'workflow.step': 'The steps. Each begins when those that it needs have ended.',
  'workflow.step.id': 'Its name, by which others need it.',
  'workflow.step.agent': 'Who does it: a file, a built-in agent, or namespace@pack/agent.',
  'workflow.step.instructions': 'In place of agent: a Handlebars template of what the main agent is told.',
  'workflow.step.needs': 'Ids of the steps whose end it waits for.',
  'workflow.step.input': 'A Handlebars template of what it works on. Default: its item, else what its needs gave.',
  'workflow.step.when': 'success, failure, always, or a Lua expression over steps and params.',
  'workflow.step.for_each': 'A Lua expression that gives a list: the step is done for each item.',
  'workflow.step.concurrency': 'Items of for_each at the same time.',
  'workflow.step.fallback': 'Agents that are tried in this order once its own has failed.',
  'workflow.step.on_error': 'End the run, go on with what does not need it, or try the agents of fallback.',
  'workflow.step.isolation':
    'worktree: it works in a git work tree, whose changes reach the workspace when it is done.',
  'workflow.step.options': 'Settings of its agent, such as its model.',
  'collab.enabled': 'false: the table only says how agents work. Default: true where a prompt file has the table.',
  'collab.max_agents': 'Agents that work at once; more wait for their turn.',
  'collab.max_depth': 'How deep agents may start agents: 1 is those of the main agent alone.',
  'collab.default_wait': 'How long a wait takes that names no time.',
  'collab.min_wait': 'The shortest wait; a shorter one is made this long.',
  'collab.max_wait': 'The longest wait; a longer one is made this short.',
  'chat.chain': 'Whether the chain works on each message of a chat, or on the first one alone.',
  'chat.compact_at':
    'From so many tokens of a request on, a chat is summed up before the next message; 100000 when left out.',
  'collab.return_when': 'Whether a wait that does not say it ends with all of its agents, or with the first.',
  'collab.on_stall': 'What becomes of agents that wait for each other for good: the model is told, or the run fails.',
  'collab.stall_after': 'After this time without progress the model is told.',
  'collab.budget': 'What all agents together may use.',
  'collab.budget.usd': 'US dollars.',
  'collab.budget.tokens': 'Tokens of their requests and answers.',
  'collab.budget.calls': 'Calls of models.',
  'collab.roles': 'Kinds of agents, by name. default, worker and orchestrator are there without being written.',
  'collab.roles.*.agent': 'A prompt file, or an agent of [agents], in place of all other keys but description.',
  'collab.roles.*.description': 'What it is for: the model that starts agents is told.',
  'collab.roles.*.instructions': 'What its model is told before everything else: text, or the name of a .md file.',
  'agents.*.description': 'What it is for: a model that may start it is told. Without one it is not offered to models.',
  'agents.*.instructions': 'What its model is told before everything else.',
  'agents.*.fork_context': 'Started by a model, it begins with the messages of its caller.',
  'agents.*.reminder': 'Started by a model, it is told this again behind what it is asked.',
  'agents.*.isolation': 'worktree: it works in a git work tree of its own, and its changes come back all at once.',
  'agents.*.mcp': 'all: its lists of tools do not hold back tools of MCP servers.',
  'agents.*.preset': 'A program whose flags and output are known.',
  'agents.*.command': 'The program: a name on PATH, or a path from the workspace.',
  'agents.*.args':
    'What it is given: {prompt} and {model} are replaced. Without {prompt} the prompt goes to standard input.',
  'agents.*.env': 'Variables of the program; ${NAME} is one of the environment.',
  'agents.*.stdin_over': 'A prompt of more bytes goes to standard input in place of {prompt}. Default: 1024.',
  'test.name': 'What is true when the test passes. No two tests of a file have the same name.',
  'test.vars': 'Values of the variables of [input].',
  'test.params': 'Joins [params] and wins over it.',
  'test.files':
    'The files the run finds: globs of files to copy, or a table of names and contents. Relative to the workspace.',
  'test.cassette': 'The recorded answers of models, commands and HTTP: a file, relative to the prompt file.',
  'test.expect': 'What must be true after the run. Default: it ends with exit code 0.',
  'test.expect.answer_contains': 'Text that is in the answer.',
  'test.expect.answer_matches': 'A JavaScript regular expression that matches somewhere in the answer.',
  'test.expect.file_contains': 'Files and text that is in them.',
  'test.expect.file_equals': 'Files and their whole content.',
  'test.expect.exit': 'The exit code of the run.',
  'test.expect.max_cost_usd': 'What the calls of models cost at most, in US dollars.',
  'test.expect.calls': 'How often a model was asked.',
  'test.input': 'The input, as -i gives it; of an agent any value.',
  'test.judge_model': 'Who is asked about a judge. Default: the model of the config.',
  'test.expect.output': 'What the agent returned; of a prompt file the answer, read as JSON.',
  'test.expect.json': 'Values of the output by their path.',
  'test.expect.schema': 'A JSON Schema that the output fits: a file, relative to the tested one, or a table.',
  'test.expect.changed_files': 'Exactly these files were created, changed or deleted.',
  'test.expect.lua': 'A Lua expression that is true.',
  'test.expect.judge': 'What a model finds to be true of the answer; of a list, each.',
  'retry.max_attempts': 'Calls in all, the first one counted.',
  'retry.initial_backoff_ms': 'The first wait, in milliseconds.',
  'retry.max_backoff_ms': 'The longest wait, in milliseconds.',
  'retry.backoff_multiplier': 'How much longer each wait is than the one before.',
  'retry.jitter_factor': 'How much of a wait is random.',
  'retry.patience': 'How long to wait in all for a host that is overloaded.',
  'timeouts.connect': 'Until the connection is open.',
  'timeouts.headers': 'Until the answer begins.',
  'timeouts.stream_idle': 'Between two pieces of the answer; what has no content is none.',
  'timeouts.request': 'For one call in all.',
  'timeouts.agent':
    'For each agent that does not say it itself: sub-agents, steps, agents of scripts, and the model of each task.',
  'timeouts.gate': 'The command of gate. Default: 10m.',
  'timeouts.approval': 'Until a person has answered a question, from when it was first put; then it counts as no.',
  'prices.*.input': 'US dollars for a million tokens of input.',
  'prices.*.output': 'US dollars for a million tokens of output, reasoning included.',
  'prices.*.cached': 'US dollars for a million tokens of input that the host still had. Default: as other input.',
  'budget.usd': 'US dollars.',
  'budget.tokens': 'Tokens, in and out.',
  'budget.calls': 'Calls of models.',
  'changes.repair': 'How often a model is asked to correct file changes of an answer, 0 to 5.',
  'changes.max_size': 'How much the file changes of one answer may write, for example 500mb.',
  'changes.allow':
    'Globs of files that answers may change although they decide what is run. Only in your own config file.',
  'changes.partial_is_success': 'Exit 0 although partial = true left changes out.',
  'budget.unpriced': 'Whether a limit in dollars allows a model without a known price.',
  'code.timeout': 'How long a program may work. Waiting for its calls is not counted.',
  'code.memory_mb': 'Memory of a program.',
  'code.eval_type': 'How a program is read: as a script, as a module, or as its text needs.',
  'code.stream': 'Whether what programs output is streamed as events.',
  'code.auto_approve': 'Calls of programs are allowed where only Baton itself would ask; rules of [permission] hold.',
  'iterate.condition': 'How long: a count of iterations, for example 5, or a time, for example 30m.',
  'iterate.context': 'Tell each iteration what the earlier ones have done.',
  'iterate.assessment':
    'Ask each iteration to judge how complex the task is first; or the name of a file with other questions, relative to the prompt file.',
  'iterate.commits': 'Commit what each iteration has changed. auto: in a git work tree without changes.',
  'iterate.summarizer': 'Who sums up an iteration: files, llm, or an agent.',
  'iterate.continuation': 'What follows the prompt from the second iteration on, with context = false.',
  'iterate.plan': 'The name of a file with a plan that each iteration is shown, relative to the prompt file.',
  'iterate.on_dirty': 'With commits = true: whether there may be changes already. They are not committed.',
  'iterate.max_iterations':
    'No more than this many iterations, whatever else decides. Default: 100 where no count is given.',
  'iterate.until': 'A command for sh, run after each iteration: exit code 0 ends it.',
  'iterate.score': 'A command for sh that prints a number, run before the first and after each iteration.',
  'iterate.score_goal': 'A score as good as this one ends it.',
  'iterate.score_best': 'Which score is the better one.',
  'iterate.stall':
    'This many iterations without a change, one after the other, end it; 0: none do. Default: 3, and 0 where condition is a count.',
  'iterate.command_timeout': 'For each run of until and score, and for a commit with its hooks.',
  'lua.engine': 'lua54 is the faster one, fengari needs no WebAssembly.',
  'lua.isolated':
    'Run scripts in threads of their own, which can be ended at any moment: all, none, or those of "installed" packs that came from an archive, git or a URL.',
  'lua.timeout': 'How long the Lua code of one section may run.',
  'lua.memory_mb':
    'Memory of one Lua state, in MB. The engine fengari holds it only where scripts are isolated (lua.isolated = true).',
  'lua.instructions': 'Steps of the Lua machine.',
  'sandbox.mode':
    'read-only: they change nothing; workspace-write: only files of the workspace; danger-full-access: no sandbox. Default: workspace-write where write_mode is set, else read-only.',
  'sandbox.network': 'Hosts that they may reach: "example.com", "*.example.com", "localhost:5432". Default: none.',
  'sandbox.scripts': 'Put the commands of scripts and of [iterate] into the sandbox as well.',
  'sandbox.memory_mb': 'Memory of all programs of a command together, in MiB.',
  'sandbox.processes': 'Processes of a command at the same time.',
  'sandbox.file_mb': 'The largest file that a command may write, in MiB.',
  'sandbox.tmp_mb': 'What fits into the private /tmp of a command, in MiB.',
  'runs.dir': 'The folder, relative to the workspace; ~/ is your home folder.',
  'runs.keep': 'How long a run that is not in progress is kept, for example 30d. Default: forever.',
  'runs.max_size': 'How large the record of one run may get, for example 500mb.',
  'mcp_servers.*.type': 'How it is reached. Default: stdio with a command, http with a url, which tries sse as well.',
  'mcp_servers.*.command': 'The program that is the server, as a shell would find it.',
  'mcp_servers.*.args': 'What the program is given. ${NAME} and ${NAME:-default} are variables of the environment.',
  'mcp_servers.*.env': 'Variables of the program. It gets few others: PATH, HOME and the like.',
  'mcp_servers.*.cwd': 'The folder it works in, relative to the workspace. Default: the workspace.',
  'mcp_servers.*.url': 'The address of a server that is running.',
  'mcp_servers.*.headers': 'What every request to it carries.',
  'mcp_servers.*.bearer_token_env': 'The environment variable that contains the key that is sent to it.',
  'mcp_servers.*.oauth': 'How baton mcp login logs in, where the server does not register programs by itself.',
  'mcp_servers.*.oauth.client_id': 'What you have registered there.',
  'mcp_servers.*.oauth.client_secret_env': 'The environment variable that contains its secret.',
  'mcp_servers.*.oauth.scope': 'What is asked for. Default: what the server says.',
  'mcp_servers.*.oauth.port': 'The port of this machine that the browser comes back to. Default: any.',
  'mcp_servers.*.startup_timeout_sec': 'Seconds it may take to start, to connect and to list. Default: 10.',
  'mcp_servers.*.tool_timeout_sec': 'Seconds a call may take. Default: 60.',
  'mcp_servers.*.tools': 'Which of its tools there are: names that it gives them, or patterns. Default: all.',
  'mcp_servers.*.disallowed_tools': 'Which of its tools there are not.',
  'mcp_servers.*.trusted': 'What it says of its tools is believed, for example that one only reads.',
  'mcp_servers.*.sampling': 'It may ask your model, within budget and permission.',
  'mcp_servers.*.enabled': 'false leaves it out.',
  'providers.*.base_url': 'What comes before the path of the format, for example https://host/v1.',
  'providers.*.format': 'The wire format it speaks.',
  'providers.*.api_key_env': 'The environment variable that contains the key.',
  'providers.*.default_model': 'The model when none is named.',
}
