import type { AgentExecutor } from '../../src/event/agent.ts'
import { createBus } from '../../src/event/bus.ts'
import type { RunContext } from '../../src/event/context.ts'
import type { RunEvent } from '../../src/event/event.ts'
import { createMeter } from '../../src/event/meter.ts'
import { createMemoryEffects } from '../../src/journal/memory.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { createPathPolicy } from '../../src/tool/policy.ts'

export interface TestContext extends RunContext {
  readonly sent: readonly RunEvent[]
  readonly records: readonly JournalRecord[]
}

export interface TestContextOptions {
  readonly workspace?: string
  readonly agents?: AgentExecutor
  readonly signal?: AbortSignal
}

const nobody: AgentExecutor = {
  run: ({ agent }) => Promise.reject(new Error(`no agent ${agent.name} in this test`)),
}

/** A context over a journal in memory that keeps its events and records. */
export function testContext({
  workspace = '/nowhere',
  agents = nobody,
  signal = new AbortController().signal,
}: TestContextOptions = {}): TestContext {
  const sent: RunEvent[] = []
  const bus = createBus({ runId: 'test', now: () => new Date(0) })
  bus.subscribe((event) => sent.push(event))
  const effects = createMemoryEffects({ signal })
  return {
    runId: 'test',
    at: [],
    signal,
    workspace,
    effects,
    policy: createPathPolicy({ workspace }),
    agents,
    ancestors: [],
    options: {},
    meter: createMeter().add,
    events: bus.send,
    now: () => new Date(0),
    sent,
    records: effects.records,
  }
}
