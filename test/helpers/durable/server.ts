import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sha256 } from '../../../src/base/hash.ts'
import { answerTo } from './scenario.ts'

/** What every call costs; a power of two, so that sums are exact. */
export const callUsd = 1 / 1024

/** One request to the model, in order of arrival. */
export interface PaidCall {
  /** SHA-256 of the request: calls with the same key are the same call. */
  readonly key: string
  /** The request in a few words. */
  readonly name: string
  readonly tokens: number
  /** Whether the whole answer was handed to a connection that was still open. */
  readonly answered: boolean
}

interface Account {
  /** The model URL that runs of this account use. */
  readonly url: string
  readonly calls: readonly PaidCall[]
}

export interface CountingServer {
  /** Calls of one account are counted separately from all others. */
  account(): Account
  close(): Promise<void>
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/**
 * An OpenAI-compatible model for the scenario on 127.0.0.1. Its answer depends only on the prompt and arrives `delayMs`
 * later, so that calls overlap.
 */
export async function startCountingServer({ delayMs = 3 } = {}): Promise<CountingServer> {
  const accounts: Mutable<PaidCall>[][] = []

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const calls = accounts[Number(/^\/(\d+)\//.exec(request.url ?? '')?.[1])]
    const prompt = promptOf(await bodyOf(request))
    if (calls === undefined || prompt === undefined) return void response.writeHead(404).end()
    const text = answerTo(prompt)
    const tokens = prompt.length + text.length
    const call = { key: sha256(prompt), name: nameOf(prompt), tokens, answered: false }
    calls.push(call)
    await new Promise((resolve) => setTimeout(resolve, delayMs))
    if (response.destroyed) return
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(eventsOf(text, { prompt_tokens: prompt.length, completion_tokens: text.length, cost: callUsd }))
    call.answered = true
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    account() {
      const calls: Mutable<PaidCall>[] = []
      const id = accounts.push(calls) - 1
      return { url: `http://127.0.0.1:${port}/${id}/v1`, calls }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function eventsOf(text: string, usage: object): string {
  const chunk = (delta: object, more: object = {}): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [{ index: 0, delta, ...more }] })}\n\n`
  const last = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'm', choices: [], usage }
  return `${chunk({ content: text })}${chunk({}, { finish_reason: 'stop' })}data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`
}

/** The messages as one text; undefined for anything other than a chat request. */
function promptOf(body: string): string | undefined {
  try {
    const { messages } = JSON.parse(body) as { readonly messages: readonly { readonly content: string }[] }
    return messages.map(({ content }) => content).join('\n')
  } catch {
    return undefined
  }
}

function nameOf(prompt: string): string {
  return /Think about: (.*)|(?:Task|Edit set) \S*?([ef]\d\d)/.exec(prompt)?.slice(1).join('') ?? prompt.slice(-40)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}
