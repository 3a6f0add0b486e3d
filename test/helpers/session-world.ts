import { createAgentExecutor } from '../../src/agent/executor.ts'
import { defined } from '../../src/base/json.ts'
import { createPool } from '../../src/base/concurrency.ts'
import { systemClock } from '../../src/base/clock.ts'
import { defaultRetryPolicy } from '../../src/base/retry.ts'
import type { AgentSession, ModelAgent } from '../../src/event/agent.ts'
import type { AgentParts } from '../../src/agent/parts.ts'
import type { RunContext, RunServices } from '../../src/event/context.ts'
import type { RunEvent } from '../../src/event/event.ts'
import { createBus } from '../../src/event/bus.ts'
import { createMeter } from '../../src/event/meter.ts'
import type { Approver } from '../../src/event/permission.ts'
import type { FileChangeRecord } from '../../src/event/effects.ts'
import type { EffectHook } from '../../src/journal/effects.ts'
import { createMemoryJournal } from '../../src/journal/memory.ts'
import { openMemoryRecords } from './memory-journal.ts'
import type { RunJournal } from '../../src/journal/journal.ts'
import type { JournalRecord, UncertainChoice } from '../../src/journal/record.ts'
import { createResumedEffects, type Repeated } from '../../src/journal/resumed-effects.ts'
import { indexRun, type RunIndex } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { recordChoices, refuseUncertain, type Uncertain, findUnfinishedEffects } from '../../src/journal/uncertain.ts'
import { createCoolDown } from '../../src/model/cool-down.ts'
import { loadPrices } from '../../src/model/prices.ts'
import type { ModelProvider } from '../../src/model/provider.ts'
import { settleChange } from '../../src/tool/change-state.ts'
import { createRunEffects } from '../../src/wiring/run-effects.ts'
import { testContext } from './context.ts'
import { placeAt } from './effects.ts'

/** A process in which model agents run; it starts or resumes a run. */
export interface SessionWorld {
  readonly context: RunContext
  readonly open: (agent: ModelAgent) => Promise<AgentSession>
  readonly sent: readonly RunEvent[]
  /** What was in flight and is done again. */
  readonly repeated: readonly Repeated[]
  /** Records of this process, if it has no journal. */
  readonly records: readonly JournalRecord[]
}

export interface SessionWorldOptions
  extends Pick<RunServices, 'definitions'>, Pick<AgentParts, 'converseWithFile' | 'plugins'> {
  readonly provider: ModelProvider
  readonly at?: string
  /** Absolute; default: one that does not exist. */
  readonly workspace?: string
  readonly signal?: AbortSignal
  readonly hooks?: readonly EffectHook[]
  /** Answers for the user; if omitted, nobody can be asked. */
  readonly approver?: Approver | undefined
  /** The records of earlier processes. */
  readonly before?: readonly JournalRecord[] | RunIndex
  /** Default: a journal in memory. */
  readonly journal?: RunJournal
  /** The user's choice for an effect whose outcome is unknown; if omitted, the process does not start. */
  readonly onUncertain?: (uncertain: Uncertain) => UncertainChoice
  /** Called with each record before it takes effect. */
  readonly onRecord?: (record: JournalRecord) => void
}

export async function sessionWorld(options: SessionWorldOptions): Promise<SessionWorld> {
  const {
    provider,
    at = 'task/0/ask',
    workspace,
    signal = new AbortController().signal,
    hooks = [],
    before,
    onRecord,
    definitions,
    converseWithFile,
    plugins,
  } = options
  const records: JournalRecord[] = []
  const epoch = before !== undefined && 'length' in before ? (before.at(-1)?.e ?? 0) + 1 : 1
  const journal =
    options.journal ??
    createMemoryJournal({
      epoch,
      keep(record) {
        onRecord?.(record)
        records.push(record)
      },
    })
  const agents = createAgentExecutor({
    agentRunsBefore: 0,
    scripts: () => Promise.reject(new Error('no script runs here')),
    chooseModel: async (name = 'small') => ({
      provider,
      model: name,
      label: `${provider.name}::${name}`,
      priced: { provider: provider.name, baseUrl: undefined, model: name, isFree: true },
    }),
    modelPool: createPool(8),
    retry: { policy: { ...defaultRetryPolicy, maxAttempts: 1 }, patienceMs: 0, outageMs: 0, clock: systemClock },
    coolDown: createCoolDown({ clock: systemClock }),
    prices: loadPrices,
    limitsCost: () => false,
    findAgent: (name) => {
      throw new Error(`no agent ${name} here`)
    },
    runPromptFile: () => Promise.reject(new Error('no prompt file runs here')),
    ...defined({ converseWithFile, plugins }),
  })
  const sent: RunEvent[] = []
  const bus = createBus({ runId: 'test', now: () => new Date(0) })
  bus.subscribe((event) => sent.push(event))
  const repeated: Repeated[] = []
  const meter = createMeter()
  const index =
    before === undefined
      ? undefined
      : 'length' in before
        ? await indexRun(openMemoryRecords(before, noMask), { keeps: 'unfinished' })
        : before
  if (index !== undefined && workspace !== undefined) {
    const looks = {
      stateOf: (record: FileChangeRecord, added: () => Uint8Array | undefined) =>
        settleChange(record, workspace, added),
      presentText: () => 'something else',
    }
    const { found, uncertain } = findUnfinishedEffects(index, looks)
    const { onUncertain } = options
    if (onUncertain === undefined) refuseUncertain(uncertain)
    const chosen = uncertain.flatMap((one) => (onUncertain === undefined ? [] : [{ ...one, choice: onUncertain(one) }]))
    recordChoices([...found, ...chosen], journal, index)
  }
  const context = testContext({ agents, signal, scope: { at: placeAt(at) }, ...defined({ workspace }) })
  const effects = createRunEffects({
    journal,
    permission: context.services.permission,
    budget: { reserve: async () => ({ grant: {}, settle: () => undefined }) },
    signal,
    meter,
    events: bus.send,
    onEffect: () => {},
    hooks,
    approver: options.approver,
    onRepeat: (one) => repeated.push(one),
    past:
      index === undefined
        ? undefined
        : {
            madeFiles: [],
            planned: async () => [],
            approvals: { places: [], grants: [] },
            agentRuns: 0,
            spentBelow: () => ({ calls: 0, tokens: 0, usd: 0 }),
            around: (live, { onRepeat, onRecall }) =>
              createResumedEffects({
                index,
                journal,
                live,
                onRepeat,
                onRecall,
                onShow: () => {},
                usesCurrent: false,
              }),
          },
  })
  const services = { ...context.services, effects, events: bus.send, meter, ...defined({ definitions }) }
  const own: RunContext = { ...context, services }
  return { context: own, open: (agent) => agents.open(agent, own), sent, repeated, records }
}
