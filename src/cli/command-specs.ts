import { runStatuses } from '../journal/summary.ts'
import type { CommandSpec, FlagSpecs, CommandArguments, GlobalFlags } from './command.ts'

/*
 * Flags and words that several commands share.
 */

const requestFlags = {
  prompt: { kind: 'text', short: 'p', describe: 'run this text as the prompt, without a file' },
  input: { kind: 'list', short: 'i', describe: 'input text; one task for each' },
  'on-files': { kind: 'list', short: 'f', describe: 'glob; one task for each matching file' },
  stdin: { kind: 'switch', describe: 'give standard input to the model as context; with -p, a pipe is always context' },
  var: { kind: 'list', describe: 'set a variable of [input]: name=value' },
  model: { kind: 'text', short: 'm', describe: 'model of the main agent' },
  mode: { kind: 'text', describe: 'execution mode, as listed by baton list modes' },
  sandbox: {
    kind: 'text',
    choices: ['read-only', 'workspace-write', 'danger-full-access'],
    describe: 'what programs that a model starts may access',
  },
  'output-schema': { kind: 'text', describe: 'require JSON that matches the JSON Schema in this file' },
  'max-cost': { kind: 'text', describe: 'stop before the run costs more than this many US dollars' },
  iter: { kind: 'text', describe: 'repeat the work: a number of iterations (5) or a duration (10m)' },
  until: { kind: 'text', describe: 'repeat the work until this command exits with 0, for example "npm test"' },
  'max-rounds': { kind: 'text', describe: 'stop a model that calls tools after this many requests for one message' },
  collab: { kind: 'switch', describe: 'let the model start and lead a team of agents' },
  batch: { kind: 'switch', describe: 'send calls in batches at half the price' },
} as const satisfies FlagSpecs

const timeout = { kind: 'text', describe: 'stop the run if it takes longer than this, for example 30m' } as const
const raw = {
  kind: 'switch',
  describe: 'show answers on a terminal as they are written, not as rendered Markdown',
} as const
const output = { kind: 'text', describe: 'write the result to this file if the run succeeds' } as const
const report = {
  kind: 'text',
  describe: 'write a report of the run to this file: .txt, .md, .html or .json',
} as const
const uncertain = {
  kind: 'list',
  describe: 'resolve an effect whose outcome is unknown: 1.17=redo, done, fail or tell (the model decides)',
} as const
const noInput = { kind: 'switch', describe: 'never prompt' } as const
const approvalFlags = {
  yes: { kind: 'switch', short: 'y', describe: 'approve everything without asking' },
  'on-ask': {
    kind: 'text',
    choices: ['deny', 'allow', 'suspend'],
    describe: 'what to do if an approval is needed and nobody can be asked (default: deny)',
  },
  'no-input': noInput,
  unattended: {
    kind: 'switch',
    describe: 'nobody watches: never prompt, suspend if an approval is needed, and wait out outages for hours',
  },
} as const satisfies FlagSpecs

const waitingWords = [
  { name: 'run', count: 'optional', describe: 'run id, or a prefix of it (default: the only waiting run)' },
  { name: 'call', count: 'optional', describe: 'number of the call (default: the only pending one)' },
] as const
const answerFlags = {
  all: { kind: 'switch', describe: 'every pending call of the run' },
  'no-resume': { kind: 'switch', describe: 'only record the answer; baton resume continues the run' },
  ids: { kind: 'switch', hidden: true, describe: 'only print the numbers of the pending calls' },
  ...approvalFlags,
  'on-ask': { ...approvalFlags['on-ask'], describe: 'what to do about further approvals (default: suspend)' },
} as const satisfies FlagSpecs

const target = {
  name: 'file',
  count: 'optional',
  describe: 'prompt file (.md), agent (.aip, .lua), ns@pack/agent, or - for standard input',
} as const

/** Every command as data. The code is in `command-table.ts`, so that help and parsing load no command. */
export const commandSpecs = {
  run: {
    summary: 'run a prompt file or an agent',
    words: [target],
    flags: {
      ...requestFlags,
      dry: {
        kind: 'text',
        choices: ['req', 'res', 'changes'],
        describe: 'req: call no model; res: call models, but skip Output sections; changes: only show file changes',
      },
      timeout,
      output,
      raw,
      report,
      watch: {
        kind: 'switch',
        short: 'w',
        describe:
          'rerun whenever something that the run has read changes; --watch=prompt: only the prompt and its agents',
        setting: 'watch',
      },
      record: { kind: 'text', describe: 'record all requests and results in this file, for --replay' },
      replay: { kind: 'text', describe: 'answer everything from a run or a --record file, without side effects' },
      ...approvalFlags,
      'single-shot': { kind: 'switch', short: 's', hidden: true },
      open: { kind: 'switch', short: 'o', hidden: true, describe: 'open the file in the editor, then run' },
    },
  },
  chat: {
    summary: 'chat with a model that can use tools; each message is a run',
    words: [{ name: 'file', count: 'optional', describe: 'prompt file to start the chat with' }],
    flags: {
      continue: { kind: 'switch', describe: 'continue the newest chat of this workspace' },
      resume: { kind: 'text', describe: 'continue the chat with this id, or a prefix of it' },
      fork: { kind: 'switch', describe: 'with --continue or --resume: continue in a copy of the chat' },
      list: { kind: 'switch', describe: 'list the chats of this workspace' },
      uncertain,
      prompt: { kind: 'text', short: 'p', describe: 'send this message first' },
      var: requestFlags.var,
      model: { ...requestFlags.model, describe: 'model to chat with' },
      mode: requestFlags.mode,
      sandbox: requestFlags.sandbox,
      collab: requestFlags.collab,
      'max-cost': { kind: 'text', describe: 'stop each message before it costs more than this many US dollars' },
      raw,
      report: { ...report, describe: `${report.describe} (default: the one given to the run)` },
      ...approvalFlags,
    },
    examples: [
      ['baton chat', 'chat with all tools; asks before changing files or running programs'],
      ['baton chat review.md', 'start with a prompt file; its sub-agents run for each message'],
      ['baton chat --continue', 'continue the newest chat, even if it was killed'],
      ['echo "what is in this folder?" | baton chat', 'read messages from a pipe, one per line'],
    ],
  },
  resume: {
    summary: 'resume a run that was interrupted or failed',
    words: [{ name: 'run', count: 'optional', describe: 'run id, or a prefix of it; last is the same as --last' }],
    flags: {
      last: { kind: 'switch', describe: 'the newest run of this workspace that has not succeeded' },
      from: {
        kind: 'text',
        describe: 'rerun this part, or everything from this iteration on; baton runs show lists the parts',
      },
      force: { kind: 'switch', describe: 'with --from: continue even if HEAD is not where that iteration started' },
      'use-current': {
        kind: 'switch',
        describe: 'use the prompt file, agents and config as they are now, and rerun what they affect',
      },
      uncertain,
      repair: { kind: 'switch', describe: 'resume despite damaged records, and rerun the parts they recorded' },
      'max-cost': { kind: 'text', describe: 'stop before the whole run costs more than this many US dollars' },
      iter: { kind: 'text', describe: 'allow this many iterations (10), or this much time (3h), in all' },
      until: { kind: 'text', describe: 'repeat the work further, until this command exits with 0' },
      'max-rounds': { ...requestFlags['max-rounds'], describe: 'allow a model this many requests for one message' },
      timeout,
      raw,
      output: {
        ...output,
        describe: 'write the result to this file if the run succeeds (default: the one given to the run)',
      },
      record: {
        kind: 'text',
        describe: 'record all requests and results in this file (default: the one given to the run)',
      },
      report: { ...report, describe: `${report.describe} (default: the one given to the run)` },
      ...approvalFlags,
    },
  },
  approve: {
    summary: 'approve a pending call of a run, and resume the run',
    words: waitingWords,
    flags: {
      always: {
        kind: 'switch',
        describe: 'also approve later calls of this tool with the same file, command or host in this run',
      },
      hunks: { kind: 'text', describe: 'approve only these hunks of a change: 1,3' },
      ...answerFlags,
    },
    examples: [
      ['baton approve', 'the only pending call of the only waiting run'],
      ['baton approve 20261122 2 --always', 'call 2 of a run, and later calls like it'],
    ],
  },
  reject: {
    summary: 'reject a pending call of a run, and resume the run',
    words: waitingWords,
    flags: {
      reason: { kind: 'text', describe: 'reason given to the model, for example "use tabs"' },
      hunks: { kind: 'text', describe: 'reject only these hunks of a change: 1,3' },
      ...answerFlags,
    },
    examples: [['baton reject 20261122 2 --reason "not in this folder"', 'reject call 2, and tell the model why']],
  },
  runs: {
    summary: 'list, show, compare, export and remove the runs of this workspace',
    words: [
      {
        name: 'action',
        count: 'optional',
        choices: ['list', 'show', 'diff', 'export', 'rm'],
        describe: 'list (the default), show RUN, diff A B (runs, or iterations as RUN:2), export RUN [FILE], rm RUN…',
      },
      { name: 'run', count: 'any', describe: 'run ids, or prefixes of them; last is the newest run' },
    ],
    flags: {
      ids: { kind: 'switch', describe: 'list: print ids only' },
      waiting: { kind: 'switch', describe: 'list: only runs that wait for approval, with their pending calls' },
      limit: { kind: 'text', short: 'n', describe: 'list: at most this many runs (default 20; 0: all)' },
      file: { kind: 'text', describe: 'list, rm: only runs of this file; a name, a path or a glob' },
      status: { kind: 'text', choices: runStatuses, describe: 'list, rm: only runs with this status' },
      model: { kind: 'text', describe: 'list: only runs that used a model with this in its name' },
      since: { kind: 'text', describe: 'list: only runs that were started in this time, for example 24h or 7d' },
      total: { kind: 'switch', describe: 'list: only what runs have cost today and this month, and the limits for it' },
      place: { kind: 'text', describe: 'show: only this part, with its prompts and answers' },
      agent: {
        kind: 'text',
        describe: 'show: the conversation of the agent with this id, to which a model gave work',
      },
      diff: { kind: 'switch', describe: 'show: what the run changed in files, as a unified diff' },
      timeline: { kind: 'switch', describe: 'show: when each agent of a team worked and waited' },
      messages: { kind: 'switch', describe: 'show: the messages between the agents of a team' },
      format: {
        kind: 'text',
        choices: ['text', 'mermaid'],
        describe: 'show: output format of --timeline and --messages: text, or a Mermaid diagram',
      },
      all: { kind: 'switch', describe: 'show, diff: do not truncate' },
      older: { kind: 'text', describe: 'rm: runs that have been inactive for this long, for example 30d' },
      failed: { kind: 'switch', describe: 'rm: runs that failed, were cancelled or were interrupted' },
      'dry-run': { kind: 'switch', describe: 'rm: only print what would be removed' },
    },
    examples: [
      ['baton runs --status failed', 'the newest runs that failed'],
      ['baton runs --since 7d --model haiku', 'the runs of the last seven days that used a model with that name'],
      ['baton runs --waiting', 'the runs that wait for approval, with the commands that answer'],
      ['baton runs show last', 'the newest run as a tree: tasks, agents, calls, pins, errors'],
      ['baton runs show 20261122 --place task/0', 'one part of a run, with its prompts and answers'],
      ['baton runs show last --diff', 'what the newest run changed in files'],
      ['baton runs show last --timeline', 'when each agent of a team worked and waited'],
      ['baton runs diff 20261121 last', 'compare sources, prompts, answers and calls; exit code 1 if any differ'],
      ['baton runs diff last:0 last:2', 'compare two iterations: files, prompts and answers'],
      ['baton runs export last run.cassette', 'write the whole run to one file, for --replay'],
      ['baton runs rm --older 30d --dry-run', 'print which runs would be removed'],
    ],
  },
  report: {
    summary: 'report what a run did: its parts, scores, cost, changes and failures, and what to do next',
    words: [{ name: 'run', count: 'optional', describe: 'run id, or a prefix of it (default: last, the newest run)' }],
    flags: {
      format: {
        kind: 'text',
        choices: ['text', 'markdown', 'html', 'json'],
        describe: 'output format; with --output, its ending decides',
      },
      output: { kind: 'text', describe: 'write the report to this file' },
      all: { kind: 'switch', describe: 'do not shorten the tables' },
    },
    examples: [
      ['baton report', 'the newest run'],
      ['baton report 20261122 --output night.html', 'one HTML file, to send or to open in a browser'],
    ],
  },
  apply: {
    summary: 'make the file changes that a dry run has shown',
    words: [{ name: 'words', count: 'any', describe: 'run (default: the newest not applied), then files' }],
    flags: {
      'skip-changed': { kind: 'switch', describe: 'leave out what has changed since' },
      dry: { kind: 'switch', describe: 'only print it' },
    },
  },
  undo: {
    summary: 'restore the files that a run has changed',
    words: [
      {
        name: 'words',
        count: 'any',
        describe:
          'run (default: the newest that changed files), then files or folders (default: everything it changed)',
      },
    ],
    flags: {
      merge: { kind: 'switch', describe: 'merge files that have changed since; conflicts are marked as in git' },
      dry: { kind: 'switch', describe: 'only print what would be done' },
    },
    examples: [
      ['baton undo', 'undo the newest run that changed files; run it again to redo'],
      ['baton undo 20261122 src/a.ts docs', 'only this file and this folder'],
      ['baton undo --dry', 'print what would be restored, and what has changed since'],
    ],
  },
  check: {
    summary: 'report errors in prompt files and agents without running them',
    words: [{ name: 'files', count: 'some', describe: 'prompt files, agents, or folders that contain them' }],
    flags: {
      format: {
        kind: 'text',
        choices: ['text', 'json', 'github', 'sarif'],
        describe: 'output format: text, JSON lines, GitHub annotations or SARIF',
      },
    },
  },
  test: {
    summary: 'run the tests of prompt files and agents offline',
    words: [
      { name: 'files', count: 'some', describe: 'prompt files and agents with tests, or folders that contain them' },
    ],
    flags: {
      name: { kind: 'text', describe: 'only tests whose name contains this text' },
      record: { kind: 'switch', describe: 'run with real models, commands and HTTP, and rerecord the cassettes' },
      'max-cost': {
        kind: 'text',
        describe: 'with --record: stop before the tests together cost more than this many US dollars',
      },
      junit: { kind: 'text', describe: 'also write the results to this file, as JUnit XML' },
      keep: { kind: 'switch', describe: 'keep the folders the tests ran in, and print their paths' },
    },
    examples: [
      ['baton test ask.md', 'every test of ask.md, offline; exit code 100 if any fails'],
      ['baton test . --junit results.xml', 'all tests in this folder and its subfolders, for a CI server'],
      ['baton test prompts --name empty', 'tests with "empty" in their name'],
      ['baton test ask.md --record', 'call the models once, and record their answers for the tests'],
    ],
  },
  plan: {
    summary: 'show what a run would do and its maximum cost, without running it',
    words: [target],
    flags: {
      ...requestFlags,
      format: {
        kind: 'text',
        choices: ['text', 'json', 'mermaid', 'dot'],
        describe: 'output format: text, JSON, or the graph of a [workflow] for Mermaid or Graphviz',
      },
    },
  },
  new: {
    summary: 'create a prompt file, an agent or a pack',
    words: [
      { name: 'kind', count: 'one', choices: ['prompt', 'agent', 'pack'], describe: 'what to create' },
      { name: 'name', count: 'one', describe: 'name or path; for a pack namespace@name' },
    ],
    flags: { from: { kind: 'text', describe: 'new prompt: copy this pipeline (see baton list)' } },
  },
  init: {
    summary: 'create baton.toml, the settings file of a project',
    words: [{ name: 'folder', count: 'optional', describe: 'project folder; default: the current folder' }],
    flags: {},
  },
  list: {
    summary: 'list agents, packs, pipelines, tools, modes and chat commands',
    words: [
      {
        name: 'word',
        count: 'optional',
        describe:
          'only entries whose name or description contains this word; agents, tools, modes or commands: only that group',
      },
    ],
    flags: {
      names: { kind: 'switch', describe: 'print names only: of agents, or of the tools, modes or commands asked for' },
    },
  },
  models: {
    summary: 'list models with their prices, context windows and keys; update the prices',
    words: [
      {
        name: 'word',
        count: 'optional',
        describe:
          'all known models whose name contains this word (default: those with a short name); update: take newer prices by npm',
      },
    ],
    flags: {
      names: { kind: 'switch', describe: 'print names only' },
    },
    examples: [
      ['baton models', 'the models behind names such as sonnet and flash'],
      ['baton models gpt-6', 'every known model whose name contains gpt-6'],
      ['baton models update', 'take the newest package of prices, by your own npm'],
    ],
  },
  install: {
    summary: 'install a pack, or everything in packs.lock',
    words: [
      {
        name: 'source',
        count: 'optional',
        describe: 'folder, .aipack file, http(s) URL of one, git URL[@REF][#FOLDER], or an installed ns@pack',
      },
    ],
    flags: {
      workspace: { kind: 'switch', describe: 'install into .baton/packs of this project; default: for all projects' },
      force: { kind: 'switch', describe: 'allow downgrades, and overwrite local changes' },
      yes: { kind: 'switch', short: 'y', describe: 'grant the permissions that the pack asks for, without prompting' },
      'no-input': noInput,
    },
    examples: [
      ['baton install ./tools/notes', 'a folder with a pack.toml'],
      ['baton install git+https://host.example/packs@v1#notes', 'the folder notes of a git repository, at the tag v1'],
      ['baton install', 'everything in .baton/packs.lock of this project, with identical content'],
    ],
  },
  pack: {
    summary: 'create an .aipack file from a pack',
    words: [{ name: 'folder', count: 'one', describe: 'folder with a pack.toml' }],
    flags: { output: { kind: 'text', short: 'o', describe: 'output file, or the folder for it' } },
  },
  unpack: {
    summary: 'copy a pack into a folder where you can change it',
    words: [
      { name: 'pack', count: 'one', describe: '.aipack file or ns@pack' },
      { name: 'folder', count: 'optional', describe: 'new folder; default: its place in .baton/packs of this project' },
    ],
    flags: { force: { kind: 'switch', describe: 'replace an existing pack' } },
  },
  trust: {
    summary: 'allow files to set guarded keys; without a file: list trusted files',
    words: [{ name: 'files', count: 'any', describe: 'baton.toml, .baton/config.toml, .mcp.json or a prompt file' }],
    flags: { remove: { kind: 'switch', describe: 'revoke trust' } },
  },
  config: {
    summary: 'print the effective settings of this folder or of a prompt file',
    words: [{ name: 'file', count: 'optional', describe: 'prompt file' }],
    flags: {
      origin: { kind: 'switch', describe: 'also print where each value comes from' },
      permission: {
        kind: 'text',
        describe: 'print whether a tool call is allowed, and which rule decides: "bash npm test", "read src/a.ts"',
      },
    },
  },
  mcp: {
    summary: 'list MCP servers, show and call their tools, log in; serve prompt files as tools',
    words: [
      {
        name: 'action',
        count: 'optional',
        choices: ['list', 'tools', 'call', 'login', 'logout', 'serve'],
        describe: 'list (the default), tools SERVER, call SERVER TOOL, login SERVER, logout SERVER, serve FILE...',
      },
      { name: 'words', count: 'any', describe: 'the server; for call, also the tool; for serve, the files' },
    ],
    flags: {
      args: { kind: 'text', describe: 'call: the arguments of the tool, as a JSON object' },
      output: { kind: 'text', describe: 'call: the folder for images and other files (default: a temporary one)' },
      check: { kind: 'switch', describe: 'list: connect to each server; exit code 1 if one does not answer' },
      names: { kind: 'switch', describe: 'list: print names only' },
      'no-browser': { kind: 'switch', describe: 'login: print the URL instead of opening a browser' },
      'no-input': { kind: 'switch', describe: 'call: decline every question of the server' },
      port: {
        kind: 'text',
        describe: 'serve: listen on this local port (0: a free one) instead of standard input',
      },
      model: { kind: 'text', short: 'm', describe: 'serve: the model, instead of those that the files name' },
      timeout,
    },
    examples: [
      ['baton mcp list --check', 'list the servers, and check whether they answer'],
      ['baton mcp tools files', 'the tools, resources and prompts of the server files'],
      ['baton mcp login issues', 'log in to the server issues, in the browser'],
      ['baton mcp serve pipelines/', 'offer prompt files as tools to an MCP client that starts this command'],
      [`baton mcp call files read_file --args '{"path": "notes.txt"}'`, 'call a tool, without a model'],
    ],
  },
  serve: {
    summary: 'serve a web page and an HTTP API to watch, start and answer runs of this workspace',
    words: [],
    flags: {
      port: { kind: 'text', describe: 'listen on this local port (default 0: a free one)' },
      'max-runs': {
        kind: 'text',
        describe: 'how many runs work at the same time; further ones wait (default 8, or [serve] runs)',
      },
      open: { kind: 'switch', describe: 'open the page in the browser' },
      once: {
        kind: 'text',
        describe: 'no server: start this trigger by hand, wait for its run, and end with its exit code',
      },
      model: { kind: 'text', short: 'm', describe: 'model of the runs that are started without naming one' },
      timeout,
    },
    examples: [
      ['baton serve --open', 'open the page with the runs of this workspace'],
      ['baton serve --port 7700 --json', 'for a program: print the address as one line of JSON'],
      ['baton serve --once nightly', 'start the [[trigger]] with this name now'],
    ],
  },
  notify: {
    summary: 'send a test notice to what [notify] of your config file names',
    words: [],
    flags: { test: { kind: 'switch', describe: 'the default' } },
  },
  schema: {
    summary: 'print a JSON Schema, for editors and programs',
    words: [
      {
        name: 'subject',
        count: 'optional',
        choices: ['prompt', 'config', 'events'],
        describe: 'front matter (the default), config files, or the lines of --json',
      },
    ],
    flags: {},
  },
  doctor: {
    summary: 'find problems with this machine and its setup',
    words: [],
    flags: {},
  },
  help: {
    summary: 'show all commands and flags, or those of one command',
    words: [{ name: 'command', count: 'optional', describe: 'the command' }],
    flags: {},
  },
  completion: {
    summary: 'print a shell script that completes commands, flags and files',
    words: [{ name: 'shell', count: 'one', choices: ['bash', 'zsh', 'fish'], describe: 'the shell' }],
    flags: {},
  },
} as const satisfies { readonly [name: string]: CommandSpec }

export type CommandName = keyof typeof commandSpecs

/** The flags of `baton resume` when another command resumes a run. */
export const resumeDefaults: Omit<Flags<'resume'>, keyof GlobalFlags | keyof ApprovalValues | 'run'> = {
  last: false,
  from: undefined,
  force: false,
  useCurrent: false,
  uncertain: [],
  repair: false,
  maxCost: undefined,
  iter: undefined,
  until: undefined,
  maxRounds: undefined,
  timeout: undefined,
  raw: false,
  output: undefined,
  report: undefined,
  record: undefined,
}

type ApprovalValues = Pick<Flags<'resume'>, 'yes' | 'onAsk' | 'noInput' | 'unattended'>

/** The parsed command line of a command. */
export type Flags<Name extends CommandName> = CommandArguments<(typeof commandSpecs)[Name]>
