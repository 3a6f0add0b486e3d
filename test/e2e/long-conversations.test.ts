import { expect, it } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import type { ModelReply, ModelScript } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'
import { callsTools, startToolModel, type ToolModel } from '../helpers/tool-model.ts'

const files = Object.fromEntries(
  [1, 2, 3, 4].map((n) => [`f${n}.txt`, `${n} of four\n${'some words to read\n'.repeat(400)}`]),
)
const tooLong = {
  error: { message: 'prompt is too long: 210000 tokens > 200000 maximum', type: 'invalid_request_error' },
}

interface World {
  readonly model: ToolModel
  readonly run: (args: readonly string[], options?: { readonly input?: string }) => Promise<BatonResult>
}

async function world(script: ModelScript, more: { readonly [path: string]: string } = {}): Promise<World> {
  const model = await startToolModel(script)
  const cwd = tempTree({ ...files, ...more })
  const env = { BATON_GATEWAY_URL: model.url, BATON_HOME: tempTree() }
  return { model, run: (args, options) => baton(args, { cwd, env, ...options }) }
}

type Request = ToolModel['requests'][number]

function isForSummary({ body }: Request): boolean {
  return body?.messages.at(-1)?.content.startsWith('Sum up our conversation') === true
}

/** Reads one file after the other, wherever the conversation remembers to be. */
function reader(request: Request): ModelReply {
  const usage = { prompt_tokens: Math.round(JSON.stringify(request.body).length / 4), completion_tokens: 10 }
  if (isForSummary(request)) return { text: 'I have read some files.', usage }
  const [last = 0] = [...JSON.stringify(request.body?.messages).matchAll(/f(\d)\.txt/g)]
    .map(([, n]) => Number(n))
    .toReversed()
  return last === 4
    ? { text: 'All are read.', usage }
    : { ...callsTools(['read', { path: `f${last + 1}.txt` }]), usage }
}

const ask = ['run', '-p', 'Read all files.', '-m', 'm', '-c', 'tools=["read"]']

it('a run whose conversation becomes long is summarized, says so, and is shown and replayed like that', async () => {
  const { model, run } = await world(reader)
  const { code, stdout, stderr } = await run([...ask, '-c', 'compact_at=7000'])
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'All are read.\n' })
  expect(stderr).toMatch(/^compacted the conversation, which has become long: about [\d,]+ → [\d,]+ tokens$/m)
  expect(model.requests.map(isForSummary)).toEqual([false, false, false, true, false, false])
  expect(model.requests.at(-1)?.body?.messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'user',
    'assistant',
    'tool',
    'assistant',
    'tool',
  ])

  const shown = await run(['runs', 'show', 'last'])
  expect(shown.stdout.match(/\(summary of the conversation\)/g)).toHaveLength(1)
  const [{ id } = {}] = jsonLines((await run(['runs', '--json'])).stdout)
  const replayed = await run(['run', '--replay', String(id)])
  expect(replayed).toMatchObject({ code: 0, stdout: 'All are read.\n' })
  expect(replayed.stderr).toContain('6 model calls; the result is the same as recorded')
})

it('a run that the server refuses as too long goes on in short, and one that never fits names what is too large', async () => {
  const limited = (request: Request): ModelReply =>
    JSON.stringify(request.body).length > 24_000 ? { status: 400, body: tooLong } : reader(request)
  const { model, run } = await world(limited, { 'big.md': 'y'.repeat(30_000) })
  expect(await run(ask)).toMatchObject({ code: 0, stdout: 'All are read.\n' })

  const before = model.requests.length
  const { code, stderr } = await run([...ask, '-c', 'context_globs=["*.md"]'])
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /prompt is too long.*; it has about [\d,]+ tokens.*the largest parts are big\.md \(context_globs\) with 29\.3kb/,
  )
  expect(model.requests).toHaveLength(before + 1)
})

it('a budget limits the call for a summary, and a run that is resumed then asks for it', async () => {
  const { model, run } = await world(reader)
  const stopped = await run([...ask, '-c', 'compact_at=7000', '-c', 'budget.calls=3'])
  expect(stopped.code).toBe(4)
  expect(model.requests.some(isForSummary)).toBe(false)
  expect(await run(['resume', '--last', '-c', 'budget.calls=20'])).toMatchObject({ code: 0 })
  // nothing is paid for twice
  expect(model.requests).toHaveLength(6)
})

it('the next message of a chat gets what was left of the conversation', async () => {
  const { model, run } = await world(reader, {
    'baton.toml': 'model = "m"\ncompact_at = 7000\ntools = ["read"]\n',
  })
  const { code, stdout } = await run(['chat'], { input: 'Read all files.\nThank you.\n' })
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'All are read.\nAll are read.\n' })
  const told = model.requests.at(-1)?.body?.messages.filter(({ role }) => role !== 'system') ?? []
  expect(told.map(({ content }) => content?.split('\n').at(-1))).toEqual([
    'Read all files.',
    'I have read some files.',
    undefined,
    '401\tsome words to read',
    undefined,
    '401\tsome words to read',
    'All are read.',
    'Thank you.',
  ])
})
