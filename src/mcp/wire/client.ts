import { pathToFileURL } from 'node:url'
import type { JsonObject } from '../../base/json.ts'
import type { McpQuestion } from '../../event/mcp.ts'
import { listNames } from '../connection.ts'
import { Client, ProtocolError } from './sdk.ts'
import type { Handlers } from './wire.ts'

/** A client, not connected yet, with Baton's capabilities and its handlers for requests of the server. */
export function newClient(mode: 'legacy' | 'auto', handlers: Handlers): Client {
  const { version, roots, canAsk, canSample, ask, onListChanged, onLog } = handlers
  const client = new Client(
    { name: 'baton', version },
    {
      capabilities: {
        roots: {},
        ...(canAsk && { elicitation: { form: { applyDefaults: true }, url: {} } }),
        ...(canSample && { sampling: {} }),
      },
      versionNegotiation: { mode },
      // makes the newer protocol subscribe to changes
      listChanged: Object.fromEntries(
        listNames.map((list) => [list, { autoRefresh: false, debounceMs: 0, onChanged: () => onListChanged(list) }]),
      ),
    },
  )
  client.setRequestHandler('roots/list', () => ({
    roots: roots.map((path) => ({ uri: pathToFileURL(path).href, name: path })),
  }))
  // also accepts notifications of servers that did not declare them
  for (const list of listNames) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => onListChanged(list))
  }
  client.setNotificationHandler('notifications/message', ({ params: { level, logger, data } }) => {
    const text = typeof data === 'string' ? data : JSON.stringify(data)
    onLog(`${level}${logger === undefined ? '' : ` ${logger}`}: ${text}`)
  })
  if (canAsk) {
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
      const answer = await ask(questionOf(params as unknown as JsonObject), mcpReq.signal)
      const content = answer.action === 'accept' ? answer.content : undefined
      return { action: answer.action, ...(content !== undefined && { content: content as FormValues }) }
    })
  }
  if (canSample) {
    client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq }) => {
      const answer = await ask({ kind: 'sampling', params: params as unknown as JsonObject }, mcpReq.signal)
      if (answer.action === 'accept') return (answer.content ?? {}) as unknown as SampledMessage
      throw new ProtocolError(-1, 'the request was declined')
    })
  }
  return client
}

type FormValues = { readonly [key: string]: string | number | boolean | string[] }
type SampledMessage = {
  readonly model: string
  readonly role: 'assistant'
  readonly content: { readonly type: 'text'; readonly text: string }
}

function questionOf(params: JsonObject): McpQuestion {
  const text = (name: string): string => (typeof params[name] === 'string' ? params[name] : '')
  const message = text('message')
  if (params['mode'] === 'url') return { kind: 'url', message, url: text('url') }
  return { kind: 'form', message, schema: (params['requestedSchema'] ?? {}) as JsonObject }
}
