import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a batch does with one of its requests; text: the answer. */
type Fate =
  | string
  | { readonly error: string }
  | { readonly tool: string; readonly input: string }
  | { readonly end: 'expired' | 'missing' }

export interface BatchScript {
  /** What becomes of the request with this prompt. */
  readonly fate?: (prompt: string) => Fate
  /** Batches stay in progress until `end` is called. */
  readonly held?: boolean
  /** The status of a batch as it ends. Default: `completed`. */
  readonly status?: 'completed' | 'expired' | 'cancelled' | 'failed'
  /** Changes the lines of the results before they are sent. */
  readonly lines?: (lines: readonly string[]) => readonly string[]
  /** The status that the next requests to a batch get, each once; 0: the connection is cut. */
  readonly faults?: number[]
  /** Like `faults`, for the creation of a batch; 200: it is created, and the answer is lost; -1: it never comes. */
  readonly creating?: number[]
}

export interface BatchServer {
  /** The base URL with the version. */
  readonly url: string
  readonly batches: readonly { readonly id: string; readonly prompts: readonly string[]; readonly mark?: string }[]
  /** The ids of the batches that were canceled. */
  readonly canceled: readonly string[]
  /** The prompts of the calls that were made at once. */
  readonly live: readonly string[]
  /** Each request: method and path. */
  readonly asked: readonly string[]
  /** The headers and bodies of all requests. */
  readonly sent: readonly { readonly headers: IncomingMessage['headers']; readonly body: string }[]
  readonly script: BatchScript
  /** Ends all batches that are held. */
  readonly end: () => void
  readonly close: () => Promise<void>
}

interface Request {
  readonly custom_id: string
  readonly url?: string
  readonly body?: Body
  readonly params?: Body
}

interface Body {
  readonly model: string
  readonly stream?: boolean
  readonly messages?: readonly {
    readonly role: string
    readonly content: string | readonly { readonly text?: string }[]
  }[]
  readonly input?: readonly {
    readonly role?: string
    readonly content?: string | readonly { readonly text?: string }[]
  }[]
}

interface Held {
  readonly id: string
  readonly requests: readonly Request[]
  readonly prompts: readonly string[]
  readonly mark?: string
  readonly created: Date
  hasEnded: boolean
}

/** A server on loopback with the batch API of OpenAI or of Anthropic, and the calls that are made at once. */
export async function startBatchServer(api: 'openai' | 'anthropic', script: BatchScript = {}): Promise<BatchServer> {
  const batches: Held[] = []
  const canceled: string[] = []
  const live: string[] = []
  const asked: string[] = []
  const sent: { headers: IncomingMessage['headers']; body: string }[] = []
  const files = new Map<string, readonly Request[]>()

  function addBatch(requests: readonly Request[], mark?: string): Held {
    const prompts = requests.map(({ body, params }) => promptOf(body ?? params))
    const batch: Held = {
      id: `batch_${batches.length + 1}`,
      requests,
      prompts,
      created: new Date(),
      hasEnded: script.held !== true,
      ...(mark === undefined ? {} : { mark }),
    }
    batches.push(batch)
    return batch
  }

  function stateOf({ id, requests, hasEnded, mark, created }: Held): object {
    const count = requests.length
    if (api === 'anthropic') {
      const counts = {
        processing: hasEnded ? 0 : count,
        succeeded: hasEnded ? count : 0,
        errored: 0,
        canceled: 0,
        expired: 0,
      }
      const canceled = script.status === 'cancelled' && hasEnded ? { succeeded: 0, canceled: count } : {}
      return {
        id,
        type: 'message_batch',
        processing_status: hasEnded ? 'ended' : 'in_progress',
        request_counts: { ...counts, ...canceled },
        created_at: created.toISOString(),
        results_url: hasEnded ? `https://elsewhere.example/${id}` : null,
      }
    }
    const { status = 'completed' } = script
    return {
      id,
      object: 'batch',
      status: hasEnded ? status : 'in_progress',
      metadata: { baton: mark },
      request_counts: { total: count, completed: hasEnded ? count : 0, failed: 0 },
      output_file_id: hasEnded ? `output_${id}` : null,
      error_file_id: hasEnded ? `errors_${id}` : null,
      ...(status === 'failed'
        ? { errors: { data: [{ code: 'token_limit', message: 'too many tokens are enqueued' }] } }
        : {}),
    }
  }

  function linesOf({ requests, prompts }: Held, which: 'answers' | 'errors' | 'all'): readonly string[] {
    return requests.flatMap(({ custom_id, url, body, params }, index) => {
      const prompt = prompts[index] ?? ''
      const outcome = script.fate?.(prompt) ?? `answer to ${prompt}`
      const isError = isEnd(outcome, 'expired') || (typeof outcome === 'object' && 'error' in outcome)
      if (isEnd(outcome, 'missing') || (which !== 'all' && isError !== (which === 'errors'))) return []
      return JSON.stringify({ custom_id, ...resultOf(outcome, { url, model: (body ?? params)?.model ?? '' }) })
    })
  }

  function resultOf(outcome: Fate, { url, model }: { url: string | undefined; model: string }): object {
    if (api === 'anthropic') {
      if (isEnd(outcome, 'expired')) return { result: { type: 'expired' } }
      if (typeof outcome === 'object' && 'error' in outcome)
        return {
          result: { type: 'errored', error: { type: 'error', error: { type: 'api_error', message: outcome.error } } },
        }
      return { result: { type: 'succeeded', message: message(model, String(outcome)) } }
    }
    if (isEnd(outcome, 'expired')) return { response: null, error: { code: 'batch_expired', message: 'too late' } }
    if (typeof outcome === 'object' && 'error' in outcome)
      return { response: { status_code: 500, body: { error: { message: outcome.error } } }, error: null }
    const body =
      typeof outcome === 'object' && 'tool' in outcome
        ? toolCall(model, outcome)
        : url === '/v1/responses'
          ? response(model, String(outcome))
          : completion(model, String(outcome))
    return { response: { status_code: 200, request_id: 'r', body }, error: null }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await bodyOf(request)
    const { method = '', headers } = request
    const { pathname: path } = new URL(request.url ?? '/', 'http://localhost')
    asked.push(`${method} ${path}`)
    sent.push({ headers, body: text })
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    const fail = (status: number): void => {
      if (status === 0) request.socket.destroy()
      else json({ error: { message: `scripted ${status}` } }, status)
    }
    const root = api === 'openai' ? '/v1/batches' : '/v1/messages/batches'
    if (method === 'POST' && path === '/v1/files') {
      const lines = text.split('\r\n\r\n')[2]?.split('\r\n--')[0]?.trim().split('\n') ?? []
      const id = `file_${files.size + 1}`
      files.set(
        id,
        lines.map((line) => JSON.parse(line) as Request),
      )
      return json({ id })
    }
    if (method === 'POST' && path === root) {
      const fault = script.creating?.shift()
      if (fault !== undefined && fault !== 200 && fault !== -1) return fail(fault)
      const body = JSON.parse(text) as { input_file_id?: string; metadata?: { baton?: string }; requests?: Request[] }
      const batch = addBatch(body.requests ?? files.get(body.input_file_id ?? '') ?? [], body.metadata?.baton)
      if (fault === -1) return
      if (fault === 200) return fail(0)
      return json(stateOf(batch))
    }
    if (method === 'GET' && path === root) return json({ data: batches.toReversed().map(stateOf), has_more: false })
    if (path.startsWith(`${root}/`) || path.startsWith('/v1/files/')) {
      const fault = script.faults?.shift()
      if (fault !== undefined) return fail(fault)
      const batch = batches.find(({ id }) => path.split(/[/_]/).join('_').includes(id))
      if (batch === undefined) return fail(404)
      if (path.endsWith('/cancel')) {
        if (method !== 'POST' || batch.hasEnded) return fail(409)
        canceled.push(batch.id)
        return json({
          ...stateOf(batch),
          ...(api === 'openai' ? { status: 'cancelling' } : { processing_status: 'canceling' }),
        })
      }
      const { lines = (all: readonly string[]) => all } = script
      const which = path.includes('errors_') ? 'errors' : path.includes('output_') ? 'answers' : 'all'
      if (which !== 'all' || path.endsWith('/results')) {
        response.writeHead(200, { 'content-type': 'application/jsonl' }).end(lines(linesOf(batch, which)).join('\n'))
        return
      }
      return json(stateOf(batch))
    }
    const body = JSON.parse(text) as Body
    const prompt = promptOf(body)
    live.push(prompt)
    const { model } = body
    const answer = `live ${prompt}`
    json(
      path.endsWith('/messages')
        ? message(model, answer)
        : path.endsWith('/responses')
          ? wholeResponse(model, answer)
          : completion(model, answer),
    )
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    batches,
    canceled,
    live,
    asked,
    sent,
    script,
    end: () => {
      for (const batch of batches) batch.hasEnded = true
    },
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

const wholeResponse = response

function message(model: string, text: string): object {
  const usage = { input_tokens: 1000, output_tokens: 100 }
  return {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    usage,
  }
}

function isEnd(fate: Fate, end: 'expired' | 'missing'): boolean {
  return typeof fate === 'object' && 'end' in fate && fate.end === end
}

function toolCall(model: string, { tool, input }: { readonly tool: string; readonly input: string }): object {
  const calls = [{ id: 'call_1', type: 'function', function: { name: tool, arguments: input } }]
  const choices = [
    { index: 0, message: { role: 'assistant', content: null, tool_calls: calls }, finish_reason: 'tool_calls' },
  ]
  return { ...completion(model, ''), choices }
}

function completion(model: string, content: string): object {
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  return { id: 'c', object: 'chat.completion', model, choices, usage: { prompt_tokens: 1000, completion_tokens: 100 } }
}

function response(model: string, text: string): object {
  const output = [
    {
      type: 'message',
      id: 'm',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [] }],
    },
  ]
  return {
    id: 'r',
    object: 'response',
    model,
    status: 'completed',
    output,
    usage: { input_tokens: 1000, output_tokens: 100 },
  }
}

/** The last line of what was asked. */
function promptOf(body: Body | undefined): string {
  const last = (body?.messages ?? body?.input ?? []).at(-1)?.content ?? ''
  const text = typeof last === 'string' ? last : last.map((part) => part.text ?? '').join('\n')
  return text.trim().split('\n').at(-1) ?? ''
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece as string
  return text
}
