import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { runNode } from './child.mjs'
import { figure } from './rounds.mjs'

/** What a cached byte costs, to read and to write, if other input costs 1. */
const price = { read: 0.1, written: 1.25 }

/** How many blocks before a mark the server looks for what it has cached. */
const looksBack = 20

/**
 * What a conversation of 30 rounds is billed as, in bytes of uncached input, by a server that caches only what is marked.
 * The reference holds the contents of the files, the calls and the question, and nothing else, marked at its end in each
 * round. Counts do not depend on the machine, so there is one round.
 */
export async function cached({ command, folder, small }) {
  const rounds = small ? 3 : 30
  const files = Array.from({ length: rounds - 1 }, (_, number) => ({
    path: `files/${number}.txt`,
    text: contentOf(number),
  }))
  mkdirSync(join(folder, 'files'))
  for (const { path, text } of files) writeFileSync(join(folder, path), text)
  const question = 'Read all files.'
  const keys = `model = "anthropic::claude-sonnet-5"\ntools = ["read"]\nmax_rounds = ${rounds + 1}`
  writeFileSync(join(folder, 'ask.md'), `+++\n${keys}\n+++\n${question}\n`)
  const server = await startServer(files)
  try {
    const env = { ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: 'bench' }
    const { stdout } = await runNode([command, 'run', 'ask.md'], { folder, env })
    if (!stdout.includes('All is read.')) throw new Error(`baton printed ${JSON.stringify(stdout)}`)
    const ours = bill(server.requests.map(blocksOf))
    const bare = bill(bareRequests(question, files).map(blocksOf))
    return [
      figure(`${rounds} rounds: ${Math.round(ours / 1000)} kB`, {
        of: `the ${Math.round(bare / 1000)} kB of the bare contents`,
        ratios: [ours / bare],
        aim: small ? undefined : { atMost: 1.2 },
      }),
    ]
  } finally {
    server.stop()
  }
}

function contentOf(number) {
  return Array.from({ length: 40 }, (_, line) => `Line ${line} of file ${number}, which is read whole.`).join('\n')
}

/** A server of the Messages API that lets its model read one file after the other. */
async function startServer(files) {
  const requests = []
  const answer = async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const file = files[requests.length]
    requests.push(JSON.parse(text))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of answerEvents(file)) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    response.end()
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, requests, stop: () => server.close() }
}

function answerEvents(file) {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: 'm1', type: 'message', role: 'assistant', model: 'bench', content: [], usage }
  const [block, delta, reason] =
    file === undefined
      ? [{ type: 'text', text: '' }, { type: 'text_delta', text: 'All is read.' }, 'end_turn']
      : [
          { type: 'tool_use', id: callId(file), name: 'read', input: {} },
          { type: 'input_json_delta', partial_json: JSON.stringify({ path: file.path }) },
          'tool_use',
        ]
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: reason }, usage },
    { type: 'message_stop' },
  ]
}

function callId({ path }) {
  return `call_${path.replaceAll(/\W/g, '_')}`
}

/** The requests of the same conversation with nothing but its contents. */
function bareRequests(question, files) {
  const mark = { cache_control: { type: 'ephemeral' } }
  const turns = files.map((file) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: callId(file), name: 'read', input: { path: file.path } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: callId(file), content: file.text }] },
  ])
  return Array.from({ length: files.length + 1 }, (_, round) => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: question }] }, ...turns.slice(0, round).flat()]
    const last = messages.at(-1)
    const content = last.content.with(-1, { ...last.content.at(-1), ...mark })
    return { messages: messages.with(-1, { ...last, content }) }
  })
}

/** The tools, system text and messages of a request in the order in which a server caches them. */
function blocksOf({ tools = [], system = [], messages }) {
  return [...tools, ...system, ...messages.flatMap(({ content }) => content)].map(
    ({ cache_control: mark, ...content }) => ({
      // a character for each byte
      text: Buffer.from(JSON.stringify(content)).toString('latin1'),
      isMarked: mark !== undefined,
    }),
  )
}

function bill(requests) {
  const known = new Set()
  let billed = 0
  for (const blocks of requests) {
    const starts = startsOf(blocks)
    const marks = blocks.flatMap(({ isMarked }, index) => (isMarked ? [index] : []))
    const read = Math.max(
      0,
      ...marks.map((mark) => lengthFound(starts.slice(Math.max(0, mark - looksBack), mark + 1), known)),
    )
    const marked = starts[marks.at(-1) ?? -1]?.length ?? 0
    billed += read * price.read + (marked - read) * price.written + (starts.at(-1).length - marked)
    for (const mark of marks) known.add(starts[mark])
  }
  return billed
}

/** Everything up to each block. */
function startsOf(blocks) {
  let start = ''
  return blocks.map(({ text }) => (start += text))
}

function lengthFound(starts, known) {
  return starts.findLast((start) => known.has(start))?.length ?? 0
}
