// node talking.mjs CHOICE: begins the conversation of a scripted host, or goes on with it, in the run folder below
// HOME/state/runs. Its tool reads with an effect, and writes the place of each read to `../outside/reads.txt`. Prints what
// came of it as one line of JSON.
import { appendFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'

const dist = join(import.meta.dirname, '../../../dist')
const load = (path) => import(join(dist, path))
const { createAgentExecutor } = await load('agent/executor.js')
const { createPool } = await load('base/concurrency.js')
const { systemClock } = await load('base/clock.js')
const { defaultRetryPolicy } = await load('base/retry.js')
const { parsePlace, placeText } = await load('event/place.js')
const { allRights } = await load('event/permission.js')
const { createEffects } = await load('journal/effects.js')
const { createResumedEffects } = await load('journal/resumed-effects.js')
const { indexRun } = await load('journal/run-index.js')
const { noMask } = await load('journal/secrets.js')
const { openFileRecords } = await load('journal/source.js')
const { openRun } = await load('journal/store.js')
const { createCoolDown } = await load('model/cool-down.js')
const { createProvider } = await load('model/create.js')

const choice = JSON.parse(process.argv[2])
const provider = await createProvider(choice, { env: {} })
const folder = join(process.env['HOME'], 'state/runs/workspace/run')
const signal = new AbortController().signal
const isBegun = existsSync(join(folder, 'j-000001.jsonl'))
const journal = await openRun({ folder, now: () => new Date() })
const permission = { check: () => ({ kind: 'allow' }) }
const live = createEffects({ journal, signal, permission, onSpent: () => undefined })
const repeated = []
const effects = isBegun ? await resumed() : live
if (!isBegun) journal.note({ k: 'run.start', run: 'run', file: 'talk', hash: 'ff', version: '1', facts: {} })

async function resumed() {
  const source = openFileRecords(folder, { mask: noMask, before: journal.epoch })
  return createResumedEffects({
    index: await indexRun(source, { keeps: 'unfinished' }),
    journal,
    live,
    stateOf: () => 'before',
    onRepeat: ({ place }) => repeated.push(place),
    onShow: () => undefined,
    onRecall: () => undefined,
    usesCurrent: false,
  })
}

const agents = createAgentExecutor({
  agentRunsBefore: 0,
  chooseModel: async (model) => ({
    provider,
    model,
    label: choice.label,
    priced: { provider: 'x', model, isFree: true },
  }),
  modelPool: createPool(1),
  retry: { policy: defaultRetryPolicy, patienceMs: 0, outageMs: 0, clock: systemClock },
  coolDown: createCoolDown({ clock: systemClock }),
  limitsCost: () => false,
})
const read = {
  name: 'read',
  description: 'Reads a file.',
  parameters: { type: 'object' },
  async run(input, { scope, services }) {
    const action = { kind: 'command', program: 'read', caller: 'read' }
    const text = await services.effects.perform(
      scope.at,
      { kind: 'tool', request: input, action, repeat: 'safe' },
      async () => {
        appendFileSync('../outside/reads.txt', `${placeText(scope.at)}\n`)
        return `text of ${input}`
      },
    )
    return { text }
  },
}
const context = {
  scope: { at: parsePlace('task/0/ask'), rights: allRights },
  services: { effects, agents, events: () => undefined, now: () => new Date(), signal },
}
const messages = [
  { role: 'system', parts: [{ type: 'text', text: 'Be brief.' }] },
  { role: 'user', parts: [{ type: 'text', text: 'Read all files.' }] },
]
const agent = { kind: 'llm', name: 'reader', settings: { model: choice.model }, tools: [read] }
const result = await agents.run({ kind: 'model', agent, messages }, context)
journal.note({ k: 'run.end', exit: 0, stop: 'done' })
await journal.close()
process.stdout.write(`${JSON.stringify({ text: result.text, messages: result.messages.length, repeated })}\n`)
