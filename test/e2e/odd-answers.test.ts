import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { baton, type BatonResult, jsonLines } from '../helpers/baton.ts'
import { chatEvents, type ModelReply, type ModelScript, startModelServer } from '../helpers/model-server.ts'
import { tempTree } from '../helpers/temp.ts'

interface Asked extends BatonResult {
  readonly folder: string
  /** The messages of each request. */
  readonly requests: readonly (readonly Record<string, unknown>[])[]
  /** Runs a command in the same folder against the same server. */
  readonly again: (args: readonly string[]) => Promise<BatonResult>
}

async function ask(script: ModelScript, front: string, args: readonly string[] = []): Promise<Asked> {
  const server = await startModelServer(
    typeof script === 'function' ? script : (_, index) => script[index] ?? { text: 'fine' },
  )
  onTestFinished(() => server.close())
  const folder = tempTree({ '.git/HEAD': '', 'a.txt': 'ALPHA\n', 'ask.md': `+++\nmodel = "m"\n${front}\n+++\nWork.\n` })
  const env = { BATON_GATEWAY_URL: server.url }
  const result = await baton(['ask.md', ...args], { cwd: folder, env })
  const again = async (more: readonly string[]): Promise<BatonResult> => {
    return baton(more, { cwd: folder, env: { ...env, BATON_HOME: result.home } })
  }
  const requests = (): Asked['requests'] => server.requests.map(({ body }) => [...(body?.messages ?? [])])
  return {
    ...result,
    folder,
    again,
    get requests() {
      return requests()
    },
  }
}

const once = 'retry = { max_attempts = 1, patience = "0s" }'

/** A stream that breaks off with these bytes after a text. */
function broken(text: string, sent: string): ModelReply {
  const [event = ''] = chatEvents({ chunks: [text] })
  return { rawChunks: [Buffer.from(`${event}${sent}data: [DONE]\n\n`)] }
}

const boom = 'error: {"code":500,"message":"context shift is disabled"}\n\n'
const edits = '<FILE_CHANGES>\n<FILE_NEW file_path="new.txt">\na\n</FILE_NEW>\n</FILE_CHANGES>\n'

describe('a failure inside a stream', () => {
  it('leaves no answer, no output file and no changes, and a resumed run asks again', async () => {
    const { code, stdout, stderr, folder, again } = await ask([broken(edits, boom)], `${once}\nwrite_mode = true`, [
      '--output',
      'out.txt',
    ])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toContain('context shift is disabled')
    expect(['new.txt', 'out.txt'].filter((file) => existsSync(join(folder, file)))).toEqual([])
    expect(await again(['resume', '--last', '--output', 'out.txt'])).toMatchObject({ code: 0 })
    expect(readFileSync(join(folder, 'out.txt'), 'utf8').trim()).toBe('fine')
  })

  it('is retried', async () => {
    const { code, stdout, requests } = await ask([broken('half', boom)], '')
    expect([code, stdout, requests.length]).toEqual([0, 'fine\n', 2])
  })

  it('is not retried if it is permanent', async () => {
    const { code, stderr, requests } = await ask([broken('half', 'data: {"detail":"Invalid API key"}\n\n')], '')
    expect([code, requests.length]).toEqual([3, 1])
    expect(stderr).toContain('Invalid API key')
  })

  it('is no answer in a chat: the next message knows how far it came, and that it failed', async () => {
    const server = await startModelServer((_, index) => (index === 0 ? broken('half', boom) : { text: 'fine' }))
    onTestFinished(() => server.close())
    const cwd = tempTree({ '.git/HEAD': '', 'baton.toml': `${once}\n` })
    const { stdout } = await baton(['chat', '-m', 'm'], {
      cwd,
      env: { BATON_GATEWAY_URL: server.url },
      input: 'one\ntwo\n',
    })
    expect(stdout).toContain('fine')
    expect(server.requests.at(-1)?.body?.messages.filter(({ role }) => role !== 'system')).toEqual([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'half\n\n[This answer failed here, before it was finished.]' },
      { role: 'user', content: 'two' },
    ])
  })
})

describe('a call with broken arguments', () => {
  const call = (input: string): ModelReply => ({ toolCalls: [{ id: 'x', name: 'read', pieces: [input] }] })

  /** Refuses what strict servers refuse: arguments that are no object. */
  const strict =
    (refusals: number): ModelScript =>
    ({ body }, index) => {
      if (index === 0) return call('{"path": "a.t')
      const sent = JSON.stringify(body?.messages)
      if (index <= refusals) return { status: 400, body: { object: 'error', message: 'no object', code: 400 } }
      return sent.includes(JSON.stringify(JSON.stringify({ invalid_json: '{"path": "a.t' })).slice(1, -1))
        ? { text: 'done' }
        : { status: 400, body: { object: 'error', message: 'no object', code: 400 } }
    }

  it('is sent back as an object', async () => {
    const { code, stdout, stderr } = await ask(strict(0), 'tools = ["read"]')
    expect([code, stdout]).toEqual([0, 'done\n'])
    expect(stderr).toContain('Invalid JSON in arguments for tool "read"')
  })

  it('does not stop a resumed run', async () => {
    const { code, again } = await ask(strict(1), 'tools = ["read"]')
    expect(code).toBe(1)
    expect(await again(['resume', '--last'])).toMatchObject({ code: 0, stdout: 'done\n' })
  })
})

it('endlessly nested arguments of a tool are an error for the model', async () => {
  const deep = `{"path": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`
  const script: readonly ModelReply[] = [{ toolCalls: [{ id: 'x', name: 'read', pieces: [deep] }] }, { text: 'done' }]
  const { code, stdout, stderr } = await ask((_, index) => script[index] ?? { text: 'done' }, 'tools = ["read"]')
  expect([code, stdout]).toEqual([0, 'done\n'])
  expect(stderr).toContain('is nested deeper than 200 levels')
})

it('names, keys and paths of any length are truncated in the errors for the model', async () => {
  const long = 'x'.repeat(300_000)
  const script: readonly ModelReply[] = [
    { toolCalls: [{ id: 'a', name: long, pieces: ['{}'] }] },
    { toolCalls: [{ id: 'b', name: 'read', pieces: [JSON.stringify({ [long]: 1 })] }] },
    { toolCalls: [{ id: 'c', name: 'read', pieces: [JSON.stringify({ path: long })] }] },
  ]
  const { code, requests } = await ask((_, index) => script[index] ?? { text: 'done' }, 'tools = ["read"]')
  expect(code).toBe(0)
  const results = requests.at(-1)?.filter(({ role }) => role === 'tool') ?? []
  expect(results).toHaveLength(3)
  for (const { content } of results) expect(String(content).length).toBeLessThan(3_000)
})

describe('a tool call that is written as text', () => {
  const written = '<tool_call>\n{"name": "write", "arguments": {"path": "b.txt", "content": "x"}}\n</tool_call>'
  const front = 'write_mode = true\ntools = ["write"]'

  it('is requested as a call, once: the second time the run fails, and a resumed run requests it again', async () => {
    const { code, stdout, stderr, folder, requests, again } = await ask([{ text: written }, { text: written }], front)
    expect([code, stdout, requests.length]).toEqual([1, '', 2])
    expect(stderr).toContain('warning the model wrote a call of write as text, which is not run')
    expect(stderr).toContain('error: the model wrote a call of the tool "write" as text again instead of calling it')
    expect(stderr).toContain('hint: ')
    expect(existsSync(join(folder, 'b.txt'))).toBe(false)
    expect(await again(['resume', '--last'])).toMatchObject({ code: 0, stdout: 'fine\n' })
  })

  it('is replayed with the request for the call', async () => {
    const { code, stdout, again } = await ask([{ text: written }], front)
    expect([code, stdout]).toEqual([0, 'fine\n'])
    const replayed = await again(['ask.md', '--replay', 'last'])
    expect(replayed).toMatchObject({ code: 0, stdout: 'fine\n' })
    expect(replayed.stderr).toContain('2 model calls; the result is the same as recorded')
  })
})

it('reasoning in the text of an answer is neither printed nor written', async () => {
  const { stdout } = await ask([{ chunks: ['let me', ' see\n</thi', 'nk>\n\nanswer'] }], '', ['--json'])
  const events = jsonLines(stdout)
  expect(events.find(({ type }) => type === 'answer')).toMatchObject({ text: 'answer' })
  expect(events.find(({ type }) => type === 'item.completed')).toMatchObject({ item: { text: 'answer' } })
})
