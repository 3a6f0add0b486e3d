import type { Json } from '../../../src/base/json.ts'
import { iteratedPrompt, writing } from '../git-world.ts'
import type { ModelReply } from '../model-server.ts'
import { callsTools } from '../tool-model.ts'

/** What a scripted model is asked. */
export interface Asked {
  readonly model: string
  /** The first message of a user in the conversation. */
  readonly who: string
  /** How many answers the conversation has. */
  readonly turn: number
  /** All messages of users. */
  readonly told: string
  /** The results of tools, in order. */
  readonly results: readonly string[]
}

/** One command. `$RUN` in its arguments is the newest run. */
interface Step {
  readonly args: readonly string[]
  readonly input?: string
  /** Default: 0 */
  readonly code?: number
}

/** A run that is recorded once for all later versions. */
export interface RunShape {
  /** Below the workspace; `../home/` leads to the settings of the user. */
  readonly files: Readonly<Record<string, string>>
  /** The workspace is a repository, and these files are its first commit. */
  readonly isRepository?: true
  /** Programs without which it can neither be recorded nor resumed. */
  readonly needs?: readonly string[]
  readonly steps: readonly Step[]
  /** Depends only on what authors, users and models have written, never on texts of this program. */
  readonly answer: (asked: Asked) => ModelReply
  /** Commands that show the run, besides those that show any run. */
  readonly views?: readonly (readonly string[])[]
  /** The number of requests depends on which agent is faster. */
  readonly isRace?: true
  /** Records after which the version that wrote them could not resume it itself. */
  readonly lost?: RegExp
  /** `$RUN` is the first run; otherwise the newest. */
  readonly isFirst?: true
}

const text = (said: string): ModelReply => ({ text: said })
const call = (name: string, input: Json): ModelReply => callsTools([name, input])
const program = (lines: string): ModelReply => text(`I look.\n\n\`\`\`js\n${lines}\n\`\`\``)
const teamViews = [
  ['runs', 'show', '$RUN', '--timeline'],
  ['runs', 'show', '$RUN', '--messages'],
  ['runs', 'show', '$RUN', '--timeline', '--json'],
  ['runs', 'show', '$RUN', '--messages', '--json'],
]

/** The ids that `spawn_agent` returned, in the order of the calls. */
function agentsIn(results: readonly string[]): string[] {
  return results.flatMap((result) => /"agent_id":"([0-9a-f-]{36})"/.exec(result)?.[1] ?? [])
}

/** A server of three tools without a library: a line is a message. */
const mcpServer = `import { createInterface } from 'node:readline'
const schema = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] }
const tools = [
  { name: 'add', description: 'Adds two numbers.', inputSchema: schema },
  { name: 'multiply', description: 'Multiplies two numbers.', inputSchema: schema },
]
function answerTo({ method, params }) {
  if (method === 'initialize') {
    const serverInfo = { name: 'calc', version: '1' }
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo, instructions: 'It counts.' }
  }
  if (method === 'tools/list') return { tools }
  if (method === 'tools/call') {
    const { a, b } = params.arguments
    return { content: [{ type: 'text', text: String(params.name === 'add' ? a + b : a * b) }] }
  }
  return {}
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  if (message.id === undefined) return
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: answerTo(message) }) + '\\n')
})
`

export const runShapes: Readonly<Record<string, RunShape>> = {
  /** Reads, then changes a file and runs a command, each of which waits for a person. */
  tools: {
    files: {
      'baton.toml': '',
      '../home/config/config.toml':
        '[sandbox]\nmode = "danger-full-access"\n[permission]\nedit = "ask"\nbash = "ask"\n',
      'ask.md': `+++
model = "m"
write_mode = true
tools = ["read", "edit", "write", "glob", "grep", "bash", "todo"]
+++
Set the port in notes.txt to 8080, then count the lines.
`,
      'notes.txt': 'The server listens on port 8000.\nLogs are kept for a week.\n',
    },
    steps: [
      { args: ['run', 'ask.md', '--on-ask', 'suspend'], code: 5 },
      { args: ['approve', '$RUN', '--no-resume'] },
      { args: ['resume', '$RUN', '--on-ask', 'suspend'], code: 5 },
      { args: ['approve', '$RUN', '--no-resume'] },
      { args: ['resume', '$RUN'] },
    ],
    answer: ({ turn }) =>
      [
        callsTools(['read', { path: 'notes.txt' }], ['glob', { pattern: '*.txt' }], ['grep', { pattern: 'port' }]),
        callsTools(['read', { path: 'missing.txt' }], ['todo', { todos: [{ content: 'set', status: 'pending' }] }]),
        call('edit', { path: 'notes.txt', old_text: 'port 8000', new_text: 'port 8080' }),
        call('bash', { command: 'wc -l notes.txt > lines.txt; cat lines.txt', description: 'count the lines' }),
        text('The port is 8080, and there are two lines.'),
      ][turn] ?? text('It is done already.'),
  },

  /** Programs that call tools, one of which fails. */
  code: {
    files: {
      'baton.toml': '',
      'ask.md': `+++
model = "m"
mode = "code"
write_mode = true
tools = ["read", "glob", "edit", "todo"]
+++
Change one into two.
`,
      'notes/a.txt': 'one\n',
      'notes/b.txt': 'b\n',
    },
    steps: [{ args: ['run', 'ask.md'] }],
    answer: ({ turn }) =>
      [
        program(
          "const paths = glob({ pattern: 'notes/*' }).trim().split('\\n')\nlog(paths.length)\nstore('paths', paths)\nnothing()",
        ),
        program(
          "const texts = parallel(recall('paths').map((path) => ({ tool: 'read', input: { path } })))\noutput('read ' + texts.length)\nlog('read')",
        ),
        program(
          "edit({ path: 'notes/a.txt', old_text: 'one', new_text: 'two' })\noutput(read({ path: 'notes/a.txt' }))\ndone()",
        ),
      ][turn] ?? program('done()'),
  },

  /** An agent that is waited for, and one in the background whose end is reported later. */
  tasks: {
    files: {
      'baton.toml': '',
      'lead.md': '+++\nmodel = "m"\ntools = ["task", "todo", "read"]\n+++\nWhere are they?\n',
      'agents/finder.md': '+++\ndescription = "Finds animals."\ntools = ["todo", "read"]\n+++\nYou find animals.\n',
      'cat.txt': 'at home\n',
    },
    steps: [{ args: ['run', 'lead.md'] }],
    isRace: true,
    answer({ who, turn, told, results }) {
      const animal = /^Find the (\w+)\.$/.exec(who.trim())?.[1]
      const find = (name: string, inBackground: boolean): ModelReply =>
        call('task', {
          description: `find the ${name}`,
          prompt: `Find the ${name}.`,
          subagent_type: 'finder',
          run_in_background: inBackground,
        })
      if (animal !== undefined) {
        if (turn === 0) return call('todo', { todos: [{ content: animal, status: 'in_progress' }] })
        if (turn === 1 && animal === 'cat') return call('read', { path: 'cat.txt' })
        return text(`the ${animal} is at home`)
      }
      if (turn === 0) return find('cat', false)
      if (turn === 1) return find('dog', true)
      const known = [told, ...results].join('\n')
      return text(known.includes('the dog is at home') ? 'Both are at home.' : 'I wait.')
    },
    views: teamViews,
  },

  /** Agents that come with the program: one explores and has a reminder, the other gets the conversation. */
  builtIn: {
    files: {
      'baton.toml': '',
      'lead.md': '+++\nmodel = "m"\ntools = ["task", "read", "glob"]\n+++\nWhere is the port set?\n',
      'notes.txt': 'The server listens on port 8000.\n',
    },
    steps: [{ args: ['run', 'lead.md'] }],
    answer({ told, turn }) {
      const give = (to: string, prompt: string): ModelReply =>
        call('task', { description: 'find the port', prompt, subagent_type: to, run_in_background: false })
      if (told.includes('Say it again.')) return text('It is 8000 still.')
      if (told.includes('Look for it.')) return turn === 0 ? call('read', { path: 'notes.txt' }) : text('It is 8000.')
      return [give('Explore', 'Look for it.'), give('general-purpose', 'Say it again.')][turn] ?? text('In notes.txt.')
    },
    views: teamViews,
  },

  /** A leader starts agents, waits, writes to one and closes both. */
  collab: {
    files: {
      'baton.toml': '',
      'lead.md': `+++
model = "m"
tools = ["read", "grep"]
[collab.roles.worker]
tools = ["read"]
instructions = "You analyse one part."
+++
Analyse auth and api code, then merge the findings.
`,
      'auth.ts': 'let a\n',
    },
    steps: [{ args: ['run', 'lead.md'] }],
    answer({ who, turn, told, results }) {
      const part = /Analyse (\w+) code\s*$/.exec(who)?.[1]
      if (part !== undefined) {
        if (part === 'auth' && turn === 0) return call('read', { path: 'auth.ts' })
        return text(`${part} is fine${told.includes('in short') ? ', in short' : ''}`)
      }
      const ids = agentsIn(results)
      const spawn = (name: string) => ['spawn_agent', { message: `Analyse ${name} code`, role: 'worker' }] as const
      return (
        [
          callsTools(spawn('auth'), spawn('api')),
          call('wait', { ids, timeout_seconds: 300 }),
          call('send_input', { id: ids[1] ?? '', message: 'Answer in short.' }),
          call('wait', { ids: ids.slice(1), timeout_seconds: 300 }),
          callsTools(...ids.map((id) => ['close_agent', { id }] as const)),
        ][turn] ?? text('auth is fine; api is fine, in short')
      )
    },
    views: teamViews,
  },

  /** A leader makes a list, a worker does it. */
  delegate: {
    files: {
      'baton.toml': '',
      'team.md': `+++
model = "m"
[delegate]
team = "auth"
workers = [{ name = "Code", agent = "coder" }]
[agents.coder]
description = "Writes code."
instructions = "You code."
tools = ["todo"]
+++
Do it all.
`,
    },
    steps: [{ args: ['run', 'team.md'] }],
    answer({ told, turn, results }) {
      if (told.includes('Work on the list.')) {
        return (
          [
            call('task_claim', { id: '1' }),
            call('send_message', { to: 'leader', message: 'I begin.' }),
            call('task_complete', { id: '1', note: 'done' }),
            call('task_claim', { id: '2' }),
            call('task_complete', { id: '2', note: 'done as well' }),
          ][turn] ?? text('Nothing is left for me.')
        )
      }
      return (
        [
          call('task_create', { items: [{ subject: 'Design' }, { subject: 'Build', blocked_by: ['1'] }] }),
          call('leave_delegate', {}),
          call('spawn_agent', { message: 'Work on the list.', role: 'Code' }),
          call('wait', { ids: ['Code-1'], timeout_seconds: 300 }),
          callsTools(['read_messages', {}], ['task_list', {}]),
          call('leave_delegate', {}),
        ][turn] ?? text(results.length > 0 ? 'All is done.' : 'Nothing.')
      )
    },
    views: teamViews,
  },

  /** Three iterations that are committed, the second of which has the best score. */
  iterate: {
    files: {
      'baton.toml': '',
      'ask.md': iteratedPrompt('condition = "3"\ncommits = true\nscore = "wc -c < list.txt"\nscore_best = "lowest"', {
        front: 'context_globs = ["list.txt"]',
      }),
      'list.txt': 'line 0\nline 1\nline 2\n',
    },
    isRepository: true,
    needs: ['git'],
    steps: [{ args: ['run', 'ask.md'] }],
    answer({ told }) {
      // it is shown one line less each time
      const iteration = 3 - (told.match(/^line \d/gm) ?? []).length
      const said = ['line 0\nline 1\n', 'line 0\n', 'line 0\nline 1\nline 2\nline 3\n'][iteration] ?? ''
      return text(writing({ 'list.txt': said, [`made/${iteration}.txt`]: 'x' }, `Step ${iteration}.`))
    },
    views: [['runs', 'diff', '$RUN:0', '$RUN:1']],
  },

  /** Members that work in work trees of their own, and a model that judges them. */
  ensemble: {
    files: {
      'baton.toml': '',
      'ask.md': `+++
model = "judge"
write_mode = true
context_globs = ["notes.txt"]
[ensemble]
isolation = "worktree"
[[ensemble.agents]]
model = "a"
[[ensemble.agents]]
model = "b"
+++
Add one fact to the notes.
`,
      'notes.txt': 'A lighthouse is a tower.\n',
    },
    isRepository: true,
    needs: ['git'],
    steps: [{ args: ['run', 'ask.md'] }],
    answer: ({ model }) =>
      model === 'judge'
        ? text('{"winner": "b", "reason": "It names whom it warns."}')
        : text(
            `${model} adds a fact.\n\n<FILE_CHANGES>\n<FILE_APPEND file_path="notes.txt">\n${model} warns ships.\n</FILE_APPEND>\n</FILE_CHANGES>`,
          ),
  },

  /** Answers that a model combines. */
  synthesis: {
    files: {
      'baton.toml': '',
      'ask.md': `+++
model = "main"
[ensemble]
[[ensemble.agents]]
model = "a"
[[ensemble.agents]]
model = "b"
+++
Which is easier to change?
`,
    },
    steps: [{ args: ['run', 'ask.md'] }],
    answer: ({ model }) => text(model === 'main' ? 'Both say so.' : `${model} says so.`),
  },

  /** Steps that follow each other, one of them once for each item. */
  workflow: {
    files: {
      'baton.toml': '',
      'release.md': `+++
model = "m"
[[workflow.step]]
id = "commits"
agent = "./commits.lua"
[[workflow.step]]
id = "notes"
needs = ["commits"]
for_each = "steps.commits.output"
instructions = "Write one line: {{item.title}}."
[[workflow.step]]
id = "draft"
needs = ["notes"]
instructions = "Make release notes of these lines."
[[workflow.step]]
id = "check"
needs = ["draft"]
agent = "./check.md"
+++
Release notes for version 2.
`,
      'commits.lua': 'return { { title = "Add a cache" }, { title = "Drop a flag" } }\n',
      'check.md': '+++\nmodel = "m"\ntools = ["todo"]\n+++\nCheck them.\n',
    },
    steps: [{ args: ['run', 'release.md'] }],
    answer({ told, turn }) {
      const title = /Write one line: ([\w ]+)\./.exec(told)?.[1]
      if (title !== undefined) return text(`${title}, at last.`)
      if (!told.includes('Check them.')) return text('It is faster.')
      return turn === 0 ? call('todo', { todos: [{ content: 'check', status: 'completed' }] }) : text('They are fine.')
    },
  },

  /** A chat of three messages; the last one is cut. */
  chat: {
    files: { 'baton.toml': 'model = "m"\n', 'a.txt': 'hi\n' },
    steps: [
      { args: ['chat'], input: 'What is in a.txt?\nAre you sure?\n' },
      { args: ['chat', '--continue'], input: 'And now?\n' },
    ],
    answer: ({ turn, told }) => {
      if (told.includes('And now?'))
        return told.length > 0 && turn === 4 ? text('Still hi.') : call('read', { path: 'a.txt' })
      if (told.includes('sure')) return text('Yes, hi.')
      return turn === 0 ? call('read', { path: 'a.txt' }) : text('It says hi.')
    },
    views: [['chat', '--list']],
  },

  /** Tools of a server. */
  mcp: {
    files: {
      'baton.toml': '',
      '../home/config/config.toml':
        '[mcp_servers.calc]\ncommand = "node"\nargs = ["server.mjs"]\n[permission]\nmcp = { "calc__*" = "allow" }\n',
      'server.mjs': mcpServer,
      'sum.md': '+++\nmodel = "m"\ntools = ["calc__*", "todo"]\n+++\nWhat is 2 + 3, and twice that?\n',
    },
    steps: [{ args: ['run', 'sum.md'] }],
    answer: ({ turn }) =>
      [call('calc__add', { a: 2, b: 3 }), call('calc__multiply', { a: 5, b: 2 })][turn] ?? text('Five, and ten.'),
  },

  /** An answer whose changes cannot be applied, and one that can. */
  repair: {
    files: {
      'baton.toml': '',
      'ask.md': '+++\nmodel = "m"\nwrite_mode = true\ncontext_globs = ["notes.txt"]\n+++\nSay it in other words.\n',
      'notes.txt': 'Tokens live for ever.\n',
    },
    steps: [{ args: ['run', 'ask.md'] }],
    answer: ({ turn }) =>
      text(
        `Done.\n\n<FILE_CHANGES>\n<FILE_PATCH file_path="notes.txt">\n@@\n-Tokens live ${turn === 0 ? 'long' : 'for ever'}.\n+Tokens live for an hour.\n</FILE_PATCH>\n</FILE_CHANGES>\n`,
      ),
  },

  /** An answer that does not fit its schema, and one that does. */
  output: {
    files: {
      'baton.toml': '',
      'ask.md': `+++
model = "m"
tools = ["todo"]
[output]
schema = { type = "object", required = ["stars"], properties = { stars = { type = "integer", minimum = 1 } } }
+++
Rate the project.
`,
    },
    steps: [{ args: ['run', 'ask.md'] }],
    answer: ({ turn }) =>
      turn === 0 ? call('todo', { todos: [] }) : text(turn === 1 ? '{"stars":0}' : 'Here it is: {"stars":5}'),
  },

  /** Plans a change before it makes it; the person approves the plan. */
  plan: {
    files: {
      'baton.toml': '',
      'ask.md':
        '+++\nmodel = "m"\nwrite_mode = true\ntools = ["enter_plan", "exit_plan", "read", "write"]\n+++\nWrite a poem.\n',
    },
    steps: [{ args: ['run', 'ask.md', '-y'] }],
    answer: ({ turn }) =>
      [
        call('enter_plan', { path: 'plan.md' }),
        call('write', { path: 'poem.md', content: 'Too early.\n' }),
        call('write', { path: 'plan.md', content: 'First a title.\n' }),
        call('exit_plan', {}),
        call('write', { path: 'poem.md', content: 'A title.\n' }),
      ][turn] ?? text('It is written.'),
  },

  /** A run whose changes were reverted. */
  undo: {
    isFirst: true,
    files: {
      'baton.toml': '',
      'ask.md': '+++\nmodel = "m"\nwrite_mode = true\ncontext_globs = ["notes.txt"]\n+++\nSay it in other words.\n',
      'notes.txt': 'Tokens live for ever.\n',
    },
    steps: [{ args: ['run', 'ask.md'] }, { args: ['undo', '$RUN'] }],
    answer: () => text(writing({ 'notes.txt': 'Tokens live for an hour.', 'new.txt': 'new' })),
    views: [['undo', '--dry']],
  },
}
