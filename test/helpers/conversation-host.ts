import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../src/base/json.ts'
import type { WireFormatName } from '../../src/event/message.ts'
import { builtInProviders } from '../../src/model/builtin.ts'
import type { ModelChoice } from '../../src/model/choice.ts'
import { commonQuirks } from '../../src/model/wire/format.ts'
import { type ScriptedTurn, scriptedTurns } from './scripted-turns.ts'

/** A model that calls tools for many turns, behind a real server of one wire format. */
export interface ConversationHost {
  /** The choice to create a provider from. The server answers for the provider to which the format belongs. */
  readonly choice: ModelChoice
  readonly turns: readonly ScriptedTurn[]
  /** What was wrong with the requests, in words; empty if everything was right. */
  readonly problems: readonly string[]
  /** How often each turn was requested: more than once means that it was paid for again. */
  readonly asked: readonly number[]
  close(): Promise<void>
}

const hosts: Readonly<Record<WireFormatName, { readonly name: string; readonly model: string }>> = {
  chat: { name: 'deepseek', model: 'deepseek-v4-pro' },
  responses: { name: 'openai', model: 'gpt-6-sol' },
  anthropic: { name: 'anthropic', model: 'claude-sonnet-4-5' },
  gemini: { name: 'gemini', model: 'gemini-3.8-flash' },
}

/**
 * Starts a server on 127.0.0.1 whose answers call the tool `read` in every turn but the last. Each request must contain
 * all earlier answers as they were streamed, byte for byte and in order, and after each the results of its calls, which
 * are the same in every request; other messages may appear anywhere. The requested turn follows from the request, so a
 * request may be repeated. An invalid request is refused, as real hosts do.
 */
export async function startConversationHost(
  format: WireFormatName,
  { turns: count }: { readonly turns: number },
): Promise<ConversationHost> {
  const turns = scriptedTurns(format, count)
  const asked = turns.map(() => 0)
  const problems: string[] = []
  const results = new Map<number, string>()

  /** The number of the turn that follows what a request contains. */
  function nextTurn(body: JsonObject): number {
    const said = saidIn[format](body)
    let at = 0
    let turn = 0
    for (; at < said.length; turn += 1) {
      const { items = [], calls = [] } = turns[turn] ?? {}
      if (items.length === 0) throw new Error(`more than ${turns.length} turns are said`)
      for (const item of items) expectSame(said[at++]?.item, item, `an item of turn ${turn}`)
      const given = said.slice(at, at + calls.length)
      expectSame(
        given.map(({ result }) => result ?? ''),
        calls.map(({ key }) => key),
        `the results of turn ${turn}`,
      )
      expectSame(
        JSON.stringify(given),
        results.get(turn) ?? JSON.stringify(given),
        `the results of turn ${turn} before`,
      )
      results.set(turn, JSON.stringify(given))
      at += calls.length
    }
    return turn
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await textOf(request)) as JsonObject
    try {
      const turn = nextTurn(body)
      asked[turn] = (asked[turn] ?? 0) + 1
      const stream = turns[turn]?.stream
      if (stream === undefined) throw new Error(`all ${turns.length} turns are said`)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream)
    } catch (error) {
      problems.push((error as Error).message)
      const refusal = { error: { type: 'invalid_request_error', message: (error as Error).message } }
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(refusal))
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { name, model } = hosts[format]
  const { port } = server.address() as AddressInfo
  return {
    choice: {
      model,
      label: `${name}::${model}`,
      provider: {
        kind: 'host',
        name,
        format,
        quirks: builtInProviders[name]?.quirks ?? commonQuirks,
        isFree: true,
        baseUrl: `http://127.0.0.1:${port}/v1`,
        apiKeyEnv: undefined,
        keyRequired: false,
        headers: {},
      },
    },
    turns,
    problems,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function expectSame(found: unknown, expected: unknown, what: string): void {
  const [actual, wanted] = [found, expected].map((value) => JSON.stringify(value) ?? 'nothing')
  if (actual !== wanted) throw new Error(`${what} is ${actual}, not ${wanted}`)
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}

/** What the model or a tool said, as it appears in a request. */
interface Said {
  readonly item: JsonObject
  /** The call that a tool result refers to. */
  readonly result?: string
}

const saidIn: Readonly<Record<WireFormatName, (body: JsonObject) => readonly Said[]>> = {
  chat: (body) =>
    listIn(body, 'messages').flatMap((item) => {
      if (item['role'] === 'tool') return [{ item, result: String(item['tool_call_id']) }]
      return item['role'] === 'assistant' ? [{ item }] : []
    }),
  responses: (body) =>
    listIn(body, 'input').flatMap((item) => {
      if (item['type'] === 'function_call_output') return [{ item, result: String(item['call_id']) }]
      return item['type'] === undefined ? [] : [{ item }]
    }),
  anthropic: (body) =>
    listIn(body, 'messages').flatMap((message) =>
      listIn(message, 'content').flatMap((block) => {
        const { cache_control: _mark, ...item } = block
        if (item['type'] === 'tool_result') return [{ item, result: String(item['tool_use_id']) }]
        return message['role'] === 'assistant' ? [{ item }] : []
      }),
    ),
  gemini: (body) =>
    listIn(body, 'contents').flatMap((content) =>
      listIn(content, 'parts').flatMap((item) => {
        const response = item['functionResponse'] as { readonly id?: string; readonly name: string } | undefined
        if (response !== undefined) return [{ item, result: response.id ?? response.name }]
        return content['role'] === 'model' ? [{ item }] : []
      }),
    ),
}

function listIn(from: JsonObject, key: string): readonly JsonObject[] {
  return from[key] as readonly JsonObject[]
}
