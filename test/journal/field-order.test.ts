import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { BatonError } from '../../src/base/error.ts'
import { project } from '../../src/history/run-view.ts'
import { decodeLine, encodeLine } from '../../src/journal/record.ts'
import { costBelow } from '../../src/journal/paid-calls.ts'
import { indexRun } from '../../src/journal/run-index.ts'
import { noMask } from '../../src/journal/secrets.ts'
import { epochsIn, segmentFile } from '../../src/journal/segment.ts'
import { nodeFiles } from '../../src/journal/file-port.ts'
import { openSigningKey, type SigningKey } from '../../src/journal/signing.ts'
import { openFileRecords } from '../../src/journal/source.ts'
import { openRun } from '../../src/journal/store.ts'
import { createEffects } from '../../src/journal/effects.ts'
import { effectOf, openGate, placeAt, spentOf } from '../helpers/effects.ts'
import { startRun } from '../../src/runner.ts'
import { resumeRun } from '../../src/wiring/resume.ts'
import { type ModelServer, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { signRun } from '../helpers/sign-run.ts'
import { newRunFolder } from './fixtures/run-folder.ts'

let model: ModelServer | undefined
afterEach(async () => {
  await model?.close()
  model = undefined
})

async function recordRun(folder: string): Promise<void> {
  const journal = await openRun({ folder, now: () => new Date(0) })
  const effects = createEffects({ ...openGate, journal, signal: new AbortController().signal })
  const costOf = (): ReturnType<typeof spentOf> => spentOf({ input: 5, output: 2, costUsd: 0.5 })
  const model = {
    ...effectOf({ kind: 'model', repeat: 'safe', request: { provider: 'x::m', b: [1, { c: 2 }] } }),
    costOf,
  }
  await effects.boundary(placeAt('task/0'), async () => {
    effects.observe(placeAt('task/0/data#0'), { name: 'aip.file.load', args: ['a.md'], reads: 'a.md' }, () => 'text')
    await effects.perform(placeAt('task/0/agent/ask/turn/0#0'), model, async () => ({ status: 'error', kind: 'file' }))
    return { label: 'one', status: 'done' }
  })
  await effects
    .boundary(placeAt('task/1'), async () => {
      const record = { op: 'write', path: 'b.md', before: null, after: 'ff' }
      effects.changeFile(placeAt('task/1/data#0'), record, () => ({ record, act: () => {} }))
      await effects.perform(placeAt('task/1/data#1'), effectOf({ kind: 'command', repeat: 'unsafe' }), () =>
        Promise.reject(new Error('no')),
      )
    })
    .catch(() => undefined)
  await journal.close()
}

/** The same value with the fields of every object in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, reversed(item)]),
  )
}

function rewriteReversed(from: string, to: string, key: SigningKey = Buffer.alloc(32)): void {
  cpSync(from, to, { recursive: true })
  for (const epoch of epochsIn(from, nodeFiles)) {
    const lines = readFileSync(segmentFile(from, epoch), 'utf8').trimEnd().split('\n')
    const rewritten = lines.map((line) => encodeLine(JSON.stringify(reversed(decodeLine(Buffer.from(line))))))
    writeFileSync(segmentFile(to, epoch), rewritten.join(''))
  }
  signRun(to, key)
}

async function seen(folder: string): Promise<unknown> {
  const source = openFileRecords(folder, { mask: noMask })
  try {
    const index = await indexRun(source, { keeps: 'everything' })
    const history = await project(source, { most: 10, keepsCalls: true })
    const places: string[] = []
    index.tree.visit((node, place) => {
      places.push(`${place} ${Object.keys(node).toSorted().join(',')} ${node.isOk}`)
      return undefined
    })
    const parts: string[] = []
    const collect = (part: typeof history.root): void => {
      parts.push(`${part.place} ${part.paid.calls} ${[...part.uses.keys()].join()} ${part.failed !== undefined}`)
      for (const below of part.children.values()) collect(below)
    }
    collect(history.root)
    return { places, parts, cost: costBelow(index), calls: [...index.modelCalls()], changed: [...index.changedFiles] }
  } finally {
    source.close()
  }
}

it('the state of a run does not depend on the order of the fields of records', async () => {
  const folder = newRunFolder()
  await recordRun(folder)
  const other = join(newRunFolder(), 'reversed')
  rewriteReversed(folder, other)
  const expected = await seen(folder)
  expect(expected).toMatchObject({ cost: { calls: 1, tokens: 7, usd: 0.5 }, changed: ['b.md'] })
  expect(await seen(other)).toEqual(expected)
})

it('a run with reordered fields is resumed: its parts are restored, and nothing is paid again', async () => {
  let paid = 0
  model = await startModelServer(() => ({ text: `answer ${(paid += 1)}` }))
  const home = tempTree()
  const cwd = tempTree({
    '.git/HEAD': '',
    'src/a.txt': 'alpha\n',
    'src/b.txt': 'beta\n',
    'ask.md': `+++
model = "small"
tone = { mood = "calm", words = ["one", "two"], deep = { z = 1, a = 2 } }
working_globs = ["src/*.txt"]
sub_agents = [
  { name = "plan.lua", stage = "pre", limits = { most = 3, least = 1 } },
  { name = "each.lua", stage = "pre_task" },
  { name = "last.lua", stage = "post" },
]
+++
Say what this is.
`,
    'plan.lua':
      'return { coder_params_patch = { files = aip.file.list("src/*.txt"), plan = { z = 1, b = { y = 2, a = 1 } } } }\n',
    'each.lua': 'return { coder_prompts_append = "Plan " .. input.coder_params.plan.z .. "." }\n',
    'last.lua': 'aip.cmd.exec("true", {})\nreturn { agent_result = #input.coder_responses }\n',
  })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: join(home, 'baton') }
  const suspends = {
    effect: <T>(kind: string, act: () => Promise<T>): Promise<T> =>
      kind === 'command' ? Promise.reject(new BatonError('SUSPENDED', 'not today')) : act(),
  }
  let folder = ''
  const first = await startRun(
    'ask.md',
    { cwd, home, env, hooks: [suspends], overrides: ['budget.unpriced="allow"'], onRecord: (path) => (folder = path) },
    () => {},
  )
  expect([first.stopReason, paid]).toEqual(['suspended', 2])
  const other = join(tempTree(), 'reversed')
  rewriteReversed(folder, other, openSigningKey({ env, home }))
  const second = await resumeRun({ folder: other, env, home }, () => {})
  expect([second.error, second.exitCode, paid, second.repeated]).toEqual([undefined, 0, 2, []])
})
