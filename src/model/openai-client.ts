import { AzureOpenAI, type ClientOptions, OpenAI } from 'openai'
import { longestTimer } from '../base/clock.ts'
import type { Call } from './call.ts'
import type { HttpAnswer } from './exchange.ts'
import { bodyBytes, userHeaders, isLongBody, ownHeaders, post, type Send, type SendOptions } from './send.ts'

/** One request on its way through the client. */
interface Errand {
  readonly call: Call
  /** A long body, which the client does not get, because it would build it as one string. */
  readonly long: readonly Uint8Array[] | undefined
  answer?: Promise<HttpAnswer>
}

/** What the client passes on to `fetch`: the options of the request, and what the request has brought along. */
type Passed = RequestInit & { readonly errand: Errand }

/**
 * Sends the requests of OpenAI's formats with its own client, which makes their addresses, headers and bodies. What lies
 * below, the connection, its limits and its failures, is ours, and so is what lies above: retries, and reading the
 * answer, because servers that are only compatible report failures in ways that its reader does not know.
 */
export function createOpenAiSender(options: SendOptions): Send {
  const { base, apiKey, account = {}, timeouts, env } = options
  const settings: Omit<ClientOptions, 'provider'> = {
    baseURL: base.url,
    defaultQuery: base.query,
    adminAPIKey: null,
    organization: account.organization ?? null,
    project: account.project ?? null,
    maxRetries: 0,
    timeout: longestTimer,
    logLevel: 'off',
    fetch: async (url, init) => {
      const { errand, headers, body } = init as Passed
      const sent = {
        url: String(url as string | URL),
        headers: Object.fromEntries([...new Headers(headers)].filter(([name]) => !name.startsWith('x-stainless-'))),
        body: errand.long ?? [Buffer.from(body as string)],
      }
      errand.answer = post(sent, errand.call, { timeouts, env })
      await errand.answer
      return new Response(null)
    },
  }
  const client = createClient(settings, { apiKey, apiVersion: account.apiVersion })
  // set afterwards, because the client adds headers that a variable of the environment names, for every host
  client['_options'].defaultHeaders = {
    ...ownHeaders,
    ...(apiKey === undefined ? { authorization: null, 'api-key': null } : {}),
    ...userHeaders(options),
  }

  return async (path, body, call) => {
    const errand: Errand = { call, long: isLongBody(body) ? bodyBytes(body) : undefined }
    const fetchOptions: Pick<Passed, 'redirect' | 'errand'> = { redirect: 'manual', errand }
    const shown = errand.long === undefined ? body : { model: body['model'] }
    try {
      await client.post(path, { body: shown, fetchOptions }).asResponse()
    } catch (error) {
      // how an exchange has failed is read from its answer, and not from the error that the client has made of it
      if (errand.answer === undefined) throw error
    }
    if (errand.answer === undefined) throw new Error('the client has sent nothing')
    return errand.answer
  }
}

/** A host of Azure gets a key in a header of its own, and a token that expires, as every other host, as a bearer token. */
function createClient(
  settings: Omit<ClientOptions, 'provider'>,
  { apiKey = 'none', apiVersion }: Pick<SendOptions, 'apiKey'> & { readonly apiVersion: string | undefined },
): OpenAI {
  if (apiVersion === undefined) return new OpenAI({ ...settings, apiKey })
  const key = typeof apiKey === 'string' ? { apiKey } : { azureADTokenProvider: apiKey, apiKey: undefined }
  return new AzureOpenAI({ ...settings, ...key, apiVersion })
}
