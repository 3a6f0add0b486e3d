import type { z } from 'zod'
import { agents } from './agents.ts'
import { collab } from './collab.ts'
import { budget, retry, timeouts } from './limits.ts'
import { mcpServers } from './mcp-servers.ts'
import { gateway, prices, providers } from './providers.ts'
import { disallowedTools, permission, sandbox, tools, writeMode } from './rights.ts'
import {
  byPrompt,
  down,
  frame,
  frameForModels,
  frameTable,
  free,
  type Kinds,
  promptOnly,
  request,
  requestForModels,
  type SettingRow,
  user,
} from './setting.ts'
import { strategies } from './strategies.ts'
import { test } from './tests.ts'
import { serve, trigger } from './triggers.ts'

// what is listed by position, has the positions of earlier versions
const { ensemble, workflow, iterate, delegate, ...otherStrategies } = strategies

/**
 * Every key of front matter and of config files: its schema, who may set it, its default and its meaning. Everything
 * else is derived from these rows: checks, layers, trust, `-c`, `baton config`, misspellings, the schema of editors.
 */
export const rows = {
  model: {
    ...requestForModels,
    decides: true,
    schema: ({ name }) => name,
    order: free,
    isPlain: true,
    text: 'The model: an alias, a name, or provider::name. A suffix -low, -medium or -high sets the effort.',
  },
  model_aliases: {
    ...requestForModels,
    decides: true,
    schema: ({ tableOf, name }) => tableOf(name),
    order: { rule: 'names', prompt: 'free' },
    isMerged: true,
    text: 'Your own names for models.',
  },
  temperature: {
    ...requestForModels,
    schema: ({ number }) => number(0, 2),
    order: free,
    isPlain: true,
    text: 'Sent to the model if set.',
  },
  top_p: {
    ...requestForModels,
    schema: ({ number }) => number(0, 1),
    order: free,
    isPlain: true,
    text: 'Sent to the model if set.',
  },
  max_tokens: {
    ...requestForModels,
    schema: ({ integer }) => integer(1),
    order: free,
    isPlain: true,
    text: 'Limit of one answer, in tokens.',
  },
  reasoning_effort: {
    ...requestForModels,
    schema: ({ oneOf }) => oneOf('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
    order: free,
    isPlain: true,
    text: 'How much the model thinks, if that can be chosen.',
  },
  seed: {
    ...requestForModels,
    schema: ({ integer }) => integer(),
    order: free,
    isPlain: true,
    text: 'Sent to the model if set.',
  },
  input_concurrency: {
    ...requestForModels,
    isLimit: true,
    schema: ({ integer }) => integer(1, 1000),
    order: free,
    isPlain: true,
    initial: 2,
    text: 'Maximum number of tasks at the same time. Answers keep the order of the inputs.',
  },
  file_content_mode: {
    ...request,
    schema: ({ oneOf }) => oneOf('udiffx', 'whole', 'search_replace_auto'),
    order: free,
    isPlain: true,
    initial: 'udiffx',
    text: 'The format of file changes: patches, whole files, or search and replace.',
  },
  max_files_size_kb: {
    ...request,
    schema: ({ integer }) => integer(1),
    order: free,
    isPlain: true,
    initial: 1500,
    text: 'If the files are larger in total, the task fails before it costs anything.',
  },
  ...globRows('context_globs', {
    schema: ({ globs }) => globs,
    text: 'Files whose content goes into the prompt. Globs start in base_dir; "!…" excludes.',
  }),
  context_resources: {
    ...request,
    decides: true,
    isList: true,
    schema: ({ listOf, text }) =>
      listOf(text.regex(/^[\w-]+:./, { error: 'a resource, "SERVER:URI"' }), 'a list of resources, "SERVER:URI"'),
    order: byPrompt,
    isPlain: true,
    text: 'Resources of MCP servers whose content goes into the prompt: "SERVER:URI"; * stands for any characters.',
  },
  ...globRows('knowledge_globs', {
    schema: ({ globs }) => globs,
    text: 'Like context_globs, but as knowledge to follow.',
  }),
  ...globRows('structure_globs', {
    schema: ({ globs }) => globs,
    text: 'Files of which only the path goes into the prompt.',
  }),
  ...globRows('working_globs', {
    schema: ({ either, listOf, name }) =>
      listOf(either([name, listOf(name)], 'a glob or a list of globs'), 'a list of globs and of lists of globs'),
    text: 'One task for each matching file; an inner list is one task with all its files.',
  }),

  name: { ...promptOnly, schema: ({ name }) => name, order: free, text: 'A display name.' },
  description: {
    ...promptOnly,
    schema: ({ text }) => text,
    order: free,
    text: 'What the file is for; shown by baton list and to a model that may start it.',
  },
  fork_context: {
    ...promptOnly,
    schema: ({ flag }) => flag,
    order: free,
    text: 'If a model starts it, it starts with the messages of its caller.',
  },
  reminder: {
    ...promptOnly,
    schema: ({ name }) => name,
    order: free,
    text: 'If a model starts it, this is repeated after its prompt.',
  },
  mcp: {
    ...promptOnly,
    schema: ({ oneOf }) => oneOf('all', 'listed'),
    order: free,
    text: 'If a model starts it, "all" gives it the tools of MCP servers, whatever its lists say.',
  },
  agent: {
    ...promptOnly,
    starts: true,
    decides: true,
    schema: ({ name }) => name,
    order: free,
    isPlain: true,
    text: 'An agent that answers instead of the built-in one.',
  },
  params: {
    ...promptOnly,
    schema: ({ tableOf, anything }) => tableOf(anything),
    order: free,
    text: 'Values for sub-agents, passed verbatim.',
  },
  template: {
    ...promptOnly,
    schema: ({ flag }) => flag,
    order: free,
    text: 'The instruction is a Handlebars template.',
  },
  input: {
    ...promptOnly,
    order: free,
    text: 'Variables of the prompt, filled by --var NAME=VALUE.',
    each: 'name',
    keys: {
      type: {
        schema: ({ oneOf }) => oneOf('string', 'number', 'integer', 'boolean', 'list', 'table'),
        text: 'What the value must be.',
      },
      default: { schema: ({ anything }) => anything, text: 'The value if none is given.' },
      required: { schema: ({ flag }) => flag, text: 'Whether a value must be given.' },
      description: { schema: ({ text }) => text, text: 'What it is for; errors show it.' },
      enum: { schema: ({ listOf, anything }) => listOf(anything), text: 'The allowed values.' },
    },
  },
  output: {
    ...promptOnly,
    order: free,
    text: 'Requirements for the answer.',
    keys: {
      schema: {
        schema: ({ jsonSchema }) => jsonSchema,
        text: 'A JSON Schema, or the name of a file with one, relative to the prompt file.',
      },
    },
  },
  sub_agents: {
    ...promptOnly,
    starts: true,
    decides: true,
    schema: ({ listOf, anything }) => listOf(anything),
    order: free,
    text: 'The chain: agents that work on the request before or after the model. baton list names them.',
  },
  ensemble,
  workflow,
  test,

  providers,
  gateway,
  prices,
  mcp_servers: mcpServers,
  plugins: {
    ...frame,
    starts: true,
    decides: true,
    isList: true,
    schema: ({ listOf, name }) => listOf(name, 'a list of files'),
    order: user,
    isPlain: true,
    text: 'Modules that provide modes and tools. Only in your own config file.',
  },
  permission,
  sandbox,

  base_dir: {
    ...frame,
    decides: true,
    schema: ({ text }) => text,
    order: free,
    initial: '',
    text: 'Folder the globs start from, relative to the workspace.',
  },
  write_mode: writeMode,
  isolation: {
    ...frame,
    schema: ({ isolation }) => isolation,
    order: { rule: ['worktree', 'none'] },
    isPlain: true,
    text: 'Where the work is done: "worktree" is a git worktree, whose changes reach the workspace when all is done.',
  },
  gate: {
    ...frame,
    starts: true,
    decides: true,
    schema: ({ name }) => name,
    order: byPrompt,
    isPlain: true,
    text: 'A command that decides, in the worktree, whether its changes reach the workspace.',
  },
  partial: {
    ...frame,
    schema: ({ flag }) => flag,
    order: free,
    isPlain: true,
    initial: false,
    text: 'Apply the changes that fit even if others do not.',
  },
  changes: {
    ...frameTable,
    isLimit: true,
    text: 'What happens to file changes that do not fit, and how much they may write.',
    keys: {
      repair: {
        schema: ({ integer }) => integer(0, 5),
        order: down,
        initial: 1,
        text: 'How often a model is asked to correct the file changes of an answer, 0 to 5.',
      },
      max_size: {
        schema: ({ size }) => size,
        order: down,
        initial: '256mb',
        text: 'How much the file changes of one answer may write, for example 500mb.',
      },
      partial_is_success: {
        schema: ({ flag }) => flag,
        order: { rule: [false, true] },
        initial: false,
        text: 'Exit with 0 even if partial = true skipped some changes.',
      },
      allow: {
        schema: ({ globs }) => globs,
        order: user,
        text: 'Globs of files that answers may change although these files decide what is run. Only in your own config file.',
      },
    },
  },
  fallback_models: {
    ...frameForModels,
    decides: true,
    isList: true,
    schema: ({ listOf, name }) => listOf(name, 'a list of models'),
    order: free,
    isPlain: true,
    initial: [],
    text: 'Tried in this order when the model fails permanently.',
  },
  batch: {
    ...frame,
    isLimit: true,
    isNew: true,
    schema: ({ flag }) => flag,
    order: free,
    isPlain: true,
    text: 'Send the first call of each task as a batch: half the price, answered within a day.',
  },
  reasoning_summary: {
    ...frameForModels,
    schema: ({ oneOf }) => oneOf('none', 'auto', 'concise', 'detailed'),
    order: free,
    isPlain: true,
    text: 'What the model reports about its reasoning, if that can be chosen.',
  },
  retry,
  timeouts,
  budget,
  lua: {
    ...frameTable,
    text: 'The Lua engine and the limits of scripts.',
    keys: {
      engine: {
        schema: ({ oneOf }) => oneOf('lua54', 'fengari'),
        order: free,
        initial: 'lua54',
        text: 'lua54 is faster, fengari needs no WebAssembly.',
      },
      isolated: {
        schema: ({ flagOr }) => flagOr('installed'),
        order: { rule: [true, 'installed', false], prompt: 'default' },
        initial: 'installed',
        text: 'Run scripts in separate threads, which can be terminated at any time: all, none, or those of "installed" packs, which came from an archive, git or a URL.',
      },
      timeout: {
        schema: ({ duration }) => duration,
        order: down,
        initial: '60s',
        text: 'How long the Lua code of one section may run.',
      },
      memory_mb: {
        schema: ({ integer }) => integer(1, 4096),
        order: down,
        initial: 256,
        text: 'Memory of one Lua state, in MB. The engine fengari only enforces it if scripts are isolated (lua.isolated = true).',
      },
      instructions: {
        schema: ({ integer }) => integer(1),
        order: down,
        initial: 1e12,
        text: 'Instructions of the Lua VM.',
      },
    },
  },
  secrets: {
    ...frame,
    isList: true,
    schema: ({ listOf, variableName }) => listOf(variableName, 'a list of names of environment variables'),
    order: { rule: 'added' },
    text: 'Environment variables whose values are never recorded or shown.',
  },
  allow_run_on_task_fail: {
    ...frameForModels,
    isLimit: true,
    schema: ({ flag }) => flag,
    order: free,
    isPlain: true,
    initial: false,
    text: 'Continue after a failed task. The exit code is still 1.',
  },
  mode: {
    ...frameForModels,
    schema: ({ name }) => name,
    order: free,
    isPlain: true,
    text: 'How messages are executed: classic, code, or a mode of a plug-in.',
  },
  instructions: {
    ...frame,
    schema: ({ either, only, texts }) => either([only('auto'), only(false), texts], '"auto", false or a list of paths'),
    order: free,
    available: [false],
    text: 'Files with standing instructions, such as AGENTS.md.',
  },
  runs: {
    ...frameTable,
    isLimit: true,
    text: 'Where runs are recorded, and how large one may get.',
    keys: {
      dir: {
        schema: ({ name }) => name,
        order: user,
        text: 'The folder, relative to the workspace; ~/ is your home folder.',
      },
      keep: {
        schema: ({ duration }) => duration,
        order: user,
        text: 'How long a run that is not in progress is kept, for example 30d. Default: forever.',
      },
      max_size: {
        schema: ({ size }) => size,
        order: down,
        initial: '2gb',
        text: 'How large the record of one run may get, for example 500mb.',
      },
    },
  },
  run: {
    ...frameTable,
    isLimit: true,
    isConfigOnly: true,
    isPlain: true,
    text: 'How runs go on that nobody watches.',
    keys: {
      unattended: {
        schema: ({ flag }) => flag,
        order: user,
        text: 'Nobody watches: no questions, calls that need approval suspend the run, and outages are waited out for hours.',
      },
    },
  },
  notify: {
    ...frameTable,
    isLimit: true,
    isConfigOnly: true,
    isPlain: true,
    order: user,
    text: 'Who is told when a run waits for a person, ends, fails or has used most of its budget. Only in your own config file.',
    keys: {
      on: {
        schema: ({ listOf, oneOf }) => listOf(oneOf('waits', 'ends', 'fails', 'budget')),
        text: 'When. Default: all of waits, ends, fails and budget, which is 80 % of a limit of [budget].',
      },
      command: {
        schema: ({ name }) => name,
        text: 'A command that is run with the notice as JSON on its standard input.',
      },
      webhook: {
        schema: ({ secureAddress }) => secureAddress,
        text: 'An address that the notice is posted to: https://, or http:// on this machine.',
      },
      webhook_env: {
        schema: ({ variableName }) => variableName,
        text: 'The environment variable with that address, if it is secret itself.',
      },
      secret_env: {
        schema: ({ variableName }) => variableName,
        text: 'The environment variable with the secret that webhooks are signed with.',
      },
      timeout: {
        schema: ({ timeLimit }) => timeLimit,
        text: 'How long a command, or a webhook with all its tries, may take. Default: 10s.',
      },
    },
  },
  trigger,
  serve,
  timeout: {
    ...frame,
    isLimit: true,
    schema: ({ timeLimit }) => timeLimit,
    order: down,
    text: 'Time limit of the run, or of the agent that the file defines, such as "30m". A resumed run has the whole time again.',
  },
  watch: {
    ...frame,
    isLimit: true,
    isNew: true,
    schema: ({ oneOf }) => oneOf('all', 'prompt'),
    order: free,
    isPlain: true,
    text: 'What starts a run again with --watch: "all" that the run read, or only the "prompt", its agents and its config. Default: all.',
  },
  auto_approve_plan_mode: {
    ...frame,
    schema: ({ flag }) => flag,
    order: { rule: [false, true], prompt: 'free' },
    isPlain: true,
    text: 'Plans that a model submits with exit_plan are approved without asking.',
  },
  max_rounds: {
    ...frameForModels,
    isLimit: true,
    schema: ({ integer }) => integer(1),
    order: down,
    isPlain: true,
    text: 'Maximum number of model calls for one message. It is a limit: the run ends with exit code 4. Default: 200 if a model has tools, 10 in the mode code.',
  },
  compact_at: {
    ...frame,
    isLimit: true,
    isNew: true,
    schema: ({ either, only, integer, number }) =>
      either(
        [only(false), integer(1000), number(0.1, 0.99)],
        'false, a share from 0.1 to 0.99, or a number of tokens of at least 1000',
      ),
    order: free,
    isPlain: true,
    text: 'When a conversation is summarized: at this share of the context window, at this many tokens, or never (false). Default: 0.8.',
  },
  max_turns: {
    ...frameForModels,
    isLimit: true,
    schema: ({ integer }) => integer(1),
    order: down,
    isPlain: true,
    text: 'Maximum number of model calls of one agent. It is a limit: the run ends with exit code 4.',
  },
  model_files: {
    ...frame,
    isList: true,
    schema: ({ listOf, oneOf }) => listOf(oneOf('image', 'pdf'), 'a list of "image" and "pdf"'),
    order: free,
    isPlain: true,
    text: 'Kinds of files that the models accept directly ("image", "pdf"), if Baton does not know. For other files, a tool returns the text.',
  },
  tools,
  disallowed_tools: disallowedTools,
  iterate,
  collab,
  chat: {
    ...frame,
    order: free,
    isPlain: true,
    text: 'How messages of baton chat after the first are answered, and when old ones are summarized.',
    keys: {
      chain: {
        schema: ({ oneOf }) => oneOf('each', 'once'),
        text: 'Whether the chain works on each message of a chat, or only on the first.',
      },
      compact_at: {
        schema: ({ integer }) => integer(1000),
        text: 'When a request reaches this many tokens, the chat is summarized before the next message. Default: 100000.',
      },
    },
  },
  delegate,
  code: {
    ...frameTable,
    isLimit: true,
    isPlain: true,
    text: 'Limits of the programs that models write in the mode "code".',
    keys: {
      timeout: {
        schema: ({ timeLimit }) => timeLimit,
        order: down,
        initial: '30s',
        text: 'How long a program may run. Time spent waiting for its calls is not counted.',
      },
      memory_mb: { schema: ({ integer }) => integer(16, 1024), order: down, initial: 64, text: 'Memory of a program.' },
      eval_type: {
        schema: ({ oneOf }) => oneOf('auto', 'global', 'module'),
        order: free,
        text: 'How a program is parsed: as a script, as a module, or as its text requires.',
      },
      stream: {
        schema: ({ flag }) => flag,
        order: free,
        initial: true,
        text: 'Whether the output of programs is streamed as events.',
      },
      auto_approve: {
        schema: ({ flag }) => flag,
        order: { rule: [false, true] },
        initial: false,
        text: 'Allow calls of programs if only the default rules of Baton would ask; rules of [permission] still apply.',
      },
    },
  },
  agents,
  ...otherStrategies,
} as const satisfies { readonly [key: string]: SettingRow }

/** The three rows of a list of globs: config files and prompt files can add to the list at both ends. */
function globRows<const Key extends string, Schema extends z.ZodType>(
  key: Key,
  { schema, text }: { readonly schema: (kinds: Kinds) => Schema; readonly text: string },
) {
  const row = (place: string) =>
    ({ ...request, decides: true, isList: true, order: free, schema, text: text + place }) as const
  return {
    [`${key}_pre`]: row(' Placed before the list without suffix.'),
    [key]: row(''),
    [`${key}_post`]: row(' Placed after the list without suffix.'),
  } as { readonly [key in `${Key}_pre` | Key | `${Key}_post`]: ReturnType<typeof row> }
}
