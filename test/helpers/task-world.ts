import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { giveTools } from '../../src/team/tools.ts'
import type { AgentDefinition, ModelResult } from '../../src/event/agent.ts'
import { type Limits, narrow, type RunContext, withScope, withServices } from '../../src/event/context.ts'
import type { RunEvent } from '../../src/event/event.ts'
import type { Approver } from '../../src/event/permission.ts'
import { textMessage, textOf } from '../../src/event/message.ts'
import { isSuspension } from '../../src/base/error.ts'
import { createReplayedEffects } from '../../src/journal/replayed-effects.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import type { ModelRequest } from '../../src/model/provider.ts'
import { createFileConverser } from '../../src/run/converse-file.ts'
import { toolRules } from '../../src/tool/rule-list.ts'
import type { CollabToolName, ToolName } from '../../src/tool/toolbox/rows.ts'
import { builtInDir } from './agents.ts'
import { createFakeProvider, type FakeTurn } from './fake-model.ts'
import { gitIn, makeRepository } from './git-world.ts'
import { openMemoryRecords } from './memory-journal.ts'
import { liveOnce } from './mortal-process.ts'
import type { SessionWorld } from './session-world.ts'
import { tempTree } from './temp.ts'
import { strategies } from '../../src/strategies/strategies.ts'

/** A definition with nothing but its name. */
export const usualDefinition = {
  settings: {},
  forkContext: false,
  reminder: undefined,
  isolation: 'none',
  allMcp: false,
  tools: undefined,
  disallowedTools: [],
  maxTurns: undefined,
} as const

/** A tool call of a scripted model. */
export type Call = readonly [tool: ToolName | CollabToolName, input: object]

/** The answer of a scripted model: a text, or tool calls. */
export type Answer = string | readonly Call[] | FakeTurn

/** A model request as scripts see it. */
export interface Asked {
  /** The first user message that is not forked from elsewhere: it identifies the conversation. */
  readonly who: string
  /** The number of model answers in the request. */
  readonly turn: number
  /** The texts since the last answer: tool results and messages. */
  readonly told: readonly string[]
  readonly request: ModelRequest
}

export interface TaskWorld {
  readonly folder: string
  /** `who` and `turn` of each request, in order of arrival. */
  readonly asked: string[]
  /** Git in the workspace. */
  readonly git: (...args: readonly string[]) => string
  /**
   * One process: starts, or is resumed from the records, to which it appends its own. Undefined: it died after `lives`
   * records.
   */
  readonly live: (records: JournalRecord[], lives?: number) => Promise<Life | undefined>
  /** Replays what was recorded; returns the first difference. */
  readonly replay: (records: readonly JournalRecord[]) => Promise<string | undefined>
}

export interface Life {
  readonly result: ModelResult
  readonly sent: readonly RunEvent[]
  readonly repeated: readonly string[]
}

export interface TaskWorldOptions {
  /** Answers every request of every conversation. */
  readonly script: (asked: Asked) => Answer
  /** Front matter of the one agent that may be used, `finder`. */
  readonly frontMatter?: string
  readonly offered?: Partial<AgentDefinition>
  readonly tools?: readonly ToolName[]
  readonly maxRounds?: number
  /** Mode of the caller; default: classic. */
  readonly mode?: string
  /** The rights that the caller has given up. */
  readonly rights?: Limits
  /** Answers for the user; if omitted, nobody can be asked. */
  readonly approver?: Approver
  /** Files of the workspace, which is then a git repository. */
  readonly repository?: { readonly [path: string]: string }
  /** Where the caller works; default: in the workspace. */
  readonly within?: <T>(context: RunContext, work: (inside: RunContext) => Promise<T>) => Promise<T>
}

/** A model that may delegate work to the agent `finder`: real prompt files, a scripted model, a journal in memory. */
export function taskWorld({
  script,
  frontMatter = 'tools = ["todo"]',
  offered = {},
  tools = ['task', 'task_output', 'task_stop', 'todo'],
  maxRounds = 25,
  mode = 'classic',
  rights = {},
  approver,
  repository,
  within = (context, work) => work(context),
}: TaskWorldOptions): TaskWorld {
  const text = `+++\n${frontMatter}\n+++\nYou find things.\n`
  const folder = realpathSync(tempTree({ 'agents/finder.md': text, ...repository }))
  const home = tempTree({ '.gitconfig': '[user]\n\tname = Ada\n\temail = ada@example.org\n' })
  const git = repository === undefined ? gitIn(folder, home) : makeRepository(folder, home)
  const worktrees = join(tempTree({}), 'worktrees')
  const file = join(folder, 'agents/finder.md')
  const finder: AgentDefinition = {
    name: 'finder',
    description: 'finds things',
    origin: 'agents/finder.md',
    from: 'workspace',
    agent: { kind: 'prompt', name: 'finder', file, text },
    ...usualDefinition,
    instructions: 'You find things.',
    ...offered,
  }
  const asked: string[] = []
  // files are loaded once, however many processes there are
  const converseWithFile = createFileConverser({
    strategies,
    cwd: folder,
    env: { BATON_HOME: join(folder, '.state') },
    home: folder,
    builtInDir,
    flags: { overrides: [] },
  })

  const provider = createFakeProvider((request) => {
    const said = askedIn(request)
    asked.push(`${said.who}/${said.turn}`)
    return turnOf(script(said))
  })

  const process = {
    provider,
    workspace: folder,
    approver,
    definitions: async () => new Map([['finder', finder]]),
    converseWithFile,
  }

  return {
    folder,
    asked,
    git,
    async replay(recorded) {
      const index = await indexRun(openMemoryRecords([...recorded], noMask), { keeps: 'everything' })
      const scratch = { change: () => {} }
      const { effects, difference, leftOver } = createReplayedEffects({
        index,
        signal: undefined,
        files: { kind: 'recorded', scratch },
      })
      const begun = { ...process, records: [], lives: Infinity }
      const thrown = await liveOnce(begun, (world) =>
        inWorld({ ...world, context: withServices(world.context, { effects }) }).then(
          () => undefined,
          (error: unknown) => error,
        ),
      )
      const found = difference(thrown) ?? leftOver()
      return found?.message ?? (thrown instanceof Error && !isSuspension(thrown) ? thrown.message : undefined)
    },
    live: (records, lives = Infinity) => liveOnce({ ...process, records, lives }, inWorld),
  }

  function inWorld({ context: all, sent, repeated }: SessionWorld): Promise<Life> {
    const folders = { ...all.scope.folders, worktrees }
    const ruled = narrow(narrow(withScope(all, { folders }), { rules: toolRules() }), rights)
    return within(ruled, (context) => workIn(context, { sent, repeated }))
  }

  async function workIn(
    context: RunContext,
    { sent, repeated }: Pick<SessionWorld, 'sent' | 'repeated'>,
  ): Promise<Life> {
    const given = await giveTools(tools, { named: { tools }, baseDir: context.scope.folders.workspace }, context)
    const { inbox } = given
    const agent = {
      kind: 'llm',
      name: 'main',
      settings: { model: 'm' },
      tools: given.tools,
      maxRounds,
      mode,
    } as const
    const session = await context.services.agents.open({ ...agent, ...(inbox === undefined ? {} : { inbox }) }, context)
    try {
      const messages = [textMessage('system', 'Lead.'), textMessage('user', 'parent')]
      const result = await session.answer(await session.send(messages))
      return { result, sent, repeated: repeated.map(({ place }) => place) }
    } finally {
      await session.close()
    }
  }
}

function askedIn(request: ModelRequest): Asked {
  const { messages } = request
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const told = messages
    .slice(last + 1)
    .flatMap(({ role, parts }) =>
      role === 'tool'
        ? parts.flatMap((part) => (part.type === 'tool_result' ? [textOf(part as never)] : []))
        : role === 'user'
          ? [textOf({ parts })]
          : [],
    )
  const [first] = messages.filter(({ role }) => role === 'user')
  return {
    who: first === undefined ? '' : textOf(first),
    turn: messages.filter(({ role }) => role === 'assistant').length,
    told,
    request,
  }
}

function turnOf(answer: Answer): FakeTurn {
  if (typeof answer === 'string') return { text: [answer], usage: { input: 10, output: 5, cached: 0, reasoning: 0 } }
  if (!Array.isArray(answer)) return answer as FakeTurn
  const calls = answer as readonly Call[]
  return {
    text: [],
    toolCalls: calls.map(([name]) => name),
    toolInput: calls.map(([, input]) => JSON.stringify(input)),
    usage: { input: 10, output: 5, cached: 0, reasoning: 0 },
    finish: 'tool_calls',
  }
}

/** The life of a process that nobody kills. */
export async function wholeLife(world: TaskWorld, records: JournalRecord[] = []): Promise<Life> {
  const life = await world.live(records)
  if (life === undefined) throw new Error('nobody kills this process')
  return life
}

/** Places of model calls that ended successfully. */
export function answeredCalls(records: readonly JournalRecord[]): ReadonlySet<string> {
  return new Set(
    records.flatMap((one) => (one.k === 'ended' && one.status === 'ok' && one.kind === 'model' ? [one.p] : [])),
  )
}
