import { systemClock } from '../../src/base/clock.ts'
import type { AgentExecutor } from '../../src/event/agent.ts'
import { createBus } from '../../src/event/bus.ts'
import { rootScope, type RunContext, type RunScope, type RunServices, unlimited } from '../../src/event/context.ts'
import type { RunEvent } from '../../src/event/event.ts'
import { createMeter } from '../../src/event/meter.ts'
import { allRights, type Rights } from '../../src/event/permission.ts'
import { createSources } from '../../src/event/sources.ts'
import { createMemoryEffects } from './memory-journal.ts'
import type { EffectHook } from '../../src/journal/effects.ts'
import type { JournalRecord } from '../../src/journal/record.ts'
import { countUsage } from '../../src/wiring/run-effects.ts'
import { equip } from '../../src/team/tools.ts'
import { createPermission } from '../../src/tool/permission.ts'

export interface TestContext extends RunContext {
  readonly sent: readonly RunEvent[]
  readonly records: readonly JournalRecord[]
}

export interface TestContextOptions {
  readonly workspace?: string
  readonly agents?: AgentExecutor
  readonly signal?: AbortSignal
  readonly scope?: Partial<RunScope>
  readonly services?: Partial<RunServices>
  readonly hooks?: readonly EffectHook[]
}

const nobody: AgentExecutor = {
  run: ({ agent }: { readonly agent: { readonly name: string } }): Promise<never> =>
    Promise.reject(new Error(`no agent ${agent.name} in this test`)),
  open: ({ name }) => Promise.reject(new Error(`no agent ${name} in this test`)),
  converse: ({ agent }) => Promise.reject(new Error(`no agent ${agent.name} in this test`)),
}

/** A context over a journal in memory that keeps its events and records. */
export function testContext({
  workspace = '/nowhere',
  agents = nobody,
  signal = new AbortController().signal,
  scope,
  services,
  hooks = [],
}: TestContextOptions = {}): TestContext {
  const sent: RunEvent[] = []
  const bus = createBus({ runId: 'test', now: () => new Date(0) })
  bus.subscribe((event) => sent.push(event))
  const folders = { workspace, cwd: workspace, packRoots: [], ...scope?.folders }
  const permissionOf = (rights: Rights) => createPermission(rights, folders)
  const permission = permissionOf(allRights)
  const meter = createMeter()
  const effects = createMemoryEffects({ signal, permission, hooks, onSpent: countUsage(meter, bus.send) })
  return {
    scope: rootScope({ runId: 'test', version: '0.0.0', folders, ...scope }),
    services: {
      effects,
      agents,
      permission,
      permissionOf,
      ...unlimited(),
      meter,
      events: bus.send,
      now: () => new Date(0),
      clock: systemClock,
      signal,
      env: {},
      sources: createSources([]),
      equip,
      ...services,
    },
    sent,
    records: effects.records,
  }
}
