import { describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { defaultTimeouts } from '../../src/model/call.ts'
import { modelFailureOf } from '../../src/model/errors.ts'
import { textOf } from '../contract/model-provider.ts'
import { failing, failingReply, openServer, testKey } from '../helpers/failing-call.ts'
import { chatEvents } from '../helpers/model-server.ts'

function errorBody(message: string, code: string | null = null): Json {
  return { error: { message, code, type: null } }
}

describe('an error status', () => {
  it.each([
    [400, 'invalid_request', 'permanent'],
    [402, 'quota', 'permanent'],
    [404, 'not_found', 'permanent'],
    [408, 'timeout', 'retry'],
    [413, 'invalid_request', 'permanent'],
    [422, 'invalid_request', 'permanent'],
    [429, 'rate_limit', 'wait'],
    [500, 'unavailable', 'retry'],
    [501, 'invalid_request', 'permanent'],
    [502, 'unavailable', 'retry'],
    [503, 'unavailable', 'wait'],
    [504, 'unavailable', 'retry'],
    [529, 'unavailable', 'wait'],
  ])('%i is MODEL_FAILED of class %s: %s', async (status, kind, reaction) => {
    const server = await openServer({ status, body: errorBody('the words of the server') })
    const { error } = await failing(server.url)
    expect(error.code).toBe('MODEL_FAILED')
    expect(modelFailureOf(error)).toEqual({
      kind: 'model-failure',
      class: kind,
      retryable: reaction !== 'permanent',
      isOverload: reaction === 'wait',
      status,
    })
    expect(error.message).toMatch(new RegExp(`^m1: ${server.host} .*\\(status ${status}\\): the words of the server$`))
    expect(error.hint).toBeTruthy()
    expect(server.requests).toHaveLength(1)
  })

  it.each([429, 500, 503, 529])('%i contains how long the server asks to wait', async (status) => {
    const body = errorBody('wait')
    for (const [name, value, ms] of [
      ['retry-after', '7', 7_000],
      ['retry-after-ms', '150', 150],
    ] as const) {
      const { error } = await failingReply({ status, body, headers: { [name]: value } })
      expect(modelFailureOf(error)).toMatchObject({ retryable: true, retryAfterMs: ms })
    }
  })

  it('429 of Google contains the wait in its details', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }]
    const body = { error: { code: 429, message: 'slow down', status: 'RESOURCE_EXHAUSTED', details } }
    for (const sent of [body, [body]]) {
      const { error } = await failingReply({ status: 429, body: sent })
      expect(modelFailureOf(error)).toMatchObject({ class: 'rate_limit', isOverload: true, retryAfterMs: 34_000 })
      expect(error.message).toMatch(/: slow down$/)
    }
  })

  it('400 for an invalid Google key is KEY_REFUSED', async () => {
    const body = { error: { code: 400, message: 'API key not valid.', details: [{ reason: 'API_KEY_INVALID' }] } }
    const { error } = await failingReply({ status: 400, body })
    expect(error.code).toBe('KEY_REFUSED')
  })

  it.each([401, 403])('%i is KEY_REFUSED, and the hint names the variable of the key', async (status) => {
    const { error } = await failingReply({ status, body: errorBody(`Incorrect API key provided: ${testKey}`) })
    expect(error.code).toBe('KEY_REFUSED')
    expect(error.message).toContain('refused the key')
    expect(error.hint).toContain('TEST_KEY')
    expect(modelFailureOf(error)).toMatchObject({ class: 'auth', retryable: false, status })
  })

  it('401 reports a missing key', async () => {
    const { error } = await failingReply({ status: 401, body: '' }, { apiKey: undefined })
    expect(error.code).toBe('KEY_REFUSED')
    expect(error.hint).toBe('No key was sent: set the environment variable TEST_KEY.')
  })

  it('400 for an account without credit is a quota error', async () => {
    const body = errorBody('Your credit balance is too low to access the API.', 'invalid_request_error')
    const { error } = await failingReply({ status: 400, body })
    expect(modelFailureOf(error)).toMatchObject({ class: 'quota', retryable: false })
    expect(error.hint).toContain('billing')
  })

  it('names the origin of the address if that may be wrong', async () => {
    const { error } = await failingReply({ status: 404, body: '' }, { baseUrlName: 'BATON_GATEWAY_URL' })
    expect(error.hint).toContain('the base URL (BATON_GATEWAY_URL)')
  })

  it('429 with a used-up quota is not retried', async () => {
    const body = errorBody('pay', 'insufficient_quota')
    const { error } = await failingReply({ status: 429, body, headers: { 'retry-after': '9' } })
    expect(modelFailureOf(error)).toEqual({
      kind: 'model-failure',
      class: 'quota',
      retryable: false,
      isOverload: false,
      status: 429,
    })
  })

  it.each([
    [400, 'registry.ollama.ai/library/gemma:2b does not support tools'],
    [404, 'No endpoints found that support tool use. To learn more about provider routing, see the docs.'],
    [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
    [400, '`tool calling` is not supported with this model'],
    [400, 'Function calling is not enabled for models/gemma'],
    [400, 'Unrecognized request argument supplied: tools'],
    [422, 'tools: Extra inputs are not permitted'],
  ])('%i because of tools explains the remedy: %s', async (status, words) => {
    const { error } = await failingReply({ status, body: errorBody(words) })
    expect(modelFailureOf(error)).toMatchObject({ class: 'invalid_request', retryable: false })
    expect(error.hint).toContain('remove tools, or use another model')
  })

  it.each(['tool_use ids were found without tool_result blocks', 'Invalid schema for function "read"'])(
    '400 because of a call is not a tool error: %s',
    async (words) => {
      const { error } = await failingReply({ status: 400, body: errorBody(words) })
      expect(error.hint).not.toContain('remove tools')
    },
  )

  it('400 for a prompt that is too long explains the remedy', async () => {
    const body = errorBody("This model's maximum context length is 8 tokens", 'context_length_exceeded')
    const { error } = await failingReply({ status: 400, body })
    expect(error.hint).toContain('too long')
  })

  it.each([
    [400, errorBody("This model's maximum context length is 8192 tokens", 'context_length_exceeded')],
    [400, errorBody('Your input exceeds the context window of this model', 'context_length_exceeded')],
    [400, { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 9 > 8 maximum' } }],
    [400, errorBody('input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000')],
    [413, { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } }],
    [400, [{ error: { status: 'INVALID_ARGUMENT', message: 'The input token count (9) exceeds the maximum (8)' } }]],
    [400, errorBody('input exceeds the maximum number of tokens allowed (1048576)')],
    [400, errorBody("This model's maximum prompt length is 131072 but the request contains 537812 tokens")],
    [400, errorBody('Invalid request: Your request exceeded model token limit: 8192')],
    [400, errorBody('the request exceeds the available context size, try increasing it', 'exceed_context_size_error')],
    [400, errorBody('Range of input length should be [1, 98304]')],
    [422, errorBody('Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097')],
    [500, errorBody('litellm.ContextWindowExceededError: prompt is too long: 9 tokens > 8 maximum')],
    [413, '<html><head><title>413 Request Entity Too Large</title></head></html>'],
  ] as const)('%i says that the request does not fit: %j', async (status, body) => {
    const { error } = await failingReply({ status, body: body as Json })
    expect([error.code, error.reason, modelFailureOf(error)?.retryable]).toEqual([
      'MODEL_FAILED',
      'CONTEXT_EXCEEDED',
      false,
    ])
  })

  it.each([
    [400, errorBody("Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64")],
    [400, errorBody('max_tokens is too large: 40000. This model supports at most 16384 completion tokens')],
    [
      429,
      errorBody('Request too large for gpt-x on tokens per min (TPM): Limit 10, Requested 12', 'rate_limit_exceeded'),
    ],
    [503, errorBody('the context window is warming up')],
  ] as const)('%i is not about the length of the request: %j', async (status, body) => {
    const { error } = await failingReply({ status, body })
    expect(error.reason).toBe(undefined)
  })

  it.each([
    [{ object: 'error', message: 'top level', code: 400 }, 'top level'],
    [{ detail: [{ loc: ['body'], msg: 'bad' }] }, '[{"loc":["body"],"msg":"bad"}]'],
    [{ error: 'just text' }, 'just text'],
    ['<html><head><title>502 Bad Gateway</title></head></html>', 'an HTML page titled "502 Bad Gateway"'],
    ['plain\u001b[31m words\nin lines', 'plain [31m words in lines'],
  ])('shows the message of the server in %j', async (body, words) => {
    const { error } = await failingReply({ status: 400, body })
    expect(error.message.endsWith(`: ${words}`)).toBe(true)
  })

  it('shows at most 300 characters of it', async () => {
    const { error } = await failingReply({ status: 500, body: 'x'.repeat(200_000) })
    expect(error.message.length).toBeLessThan(400)
  })

  it('is reported even if its body never ends', async () => {
    const { error } = await failingReply(
      { status: 500, rawChunks: [Buffer.alloc(70_000, 'x')], stallAfter: 1 },
      { timeouts: { ...defaultTimeouts, headersMs: 15_000 } },
    )
    expect(modelFailureOf(error)).toMatchObject({ status: 500 })
  })

  it('as a redirect is not followed, because the key could go to another host', async () => {
    const other = await openServer({ text: 'a' })
    const { error } = await failingReply({
      status: 307,
      body: '',
      headers: { location: `${other.url}/chat/completions` },
    })
    expect(error.message).toContain(`redirects to http://${other.host}`)
    expect(other.requests).toEqual([])
  })
})

describe('an error object', () => {
  it('during the stream fails the call, although text was received', async () => {
    const [first = ''] = chatEvents({ text: 'a b c' })
    const rawChunks = [first, `data: {"error":{"message":"lost ${testKey}","code":502}}\n\n`].map((text) =>
      Buffer.from(text),
    )
    const { error, events } = await failingReply({ rawChunks })
    expect(error.message).toContain('failed (status 502): lost «secret»')
    expect(modelFailureOf(error)).toMatchObject({ class: 'unavailable', retryable: true, status: 502 })
    expect(textOf(events)).toBe('a ')
  })

  it.each([
    [{ type: 'overloaded_error', message: 'Overloaded' }, 'unavailable', true],
    [{ code: 503, message: 'busy' }, 'unavailable', true],
    [{ status: 'UNAVAILABLE', message: 'busy' }, 'unavailable', true],
    [{ code: 'rate_limit_exceeded', message: 'slow down' }, 'rate_limit', true],
    [{ code: 'server_error', message: 'lost' }, 'unavailable', false],
    [{ type: 'timeout_error', message: 'late' }, 'timeout', false],
  ])('%j in a stream is retried', async (object, kind, isOverload) => {
    const { error } = await failingReply({ rawChunks: [Buffer.from(`data: ${JSON.stringify({ error: object })}\n\n`)] })
    expect(modelFailureOf(error)).toMatchObject({ class: kind, retryable: true, isOverload })
  })

  it.each([
    [{ type: 'invalid_request_error', message: 'no' }, 'MODEL_FAILED', 'invalid_request'],
    [{ type: 'not_found_error', message: 'no' }, 'MODEL_FAILED', 'not_found'],
    [{ type: 'authentication_error', message: 'no' }, 'KEY_REFUSED', 'auth'],
    [{ type: 'billing_error', message: 'no' }, 'MODEL_FAILED', 'quota'],
  ])('%j in a stream is %s', async (object, code, kind) => {
    const { error } = await failingReply({ rawChunks: [Buffer.from(`data: ${JSON.stringify({ error: object })}\n\n`)] })
    expect(error.code).toBe(code)
    expect(modelFailureOf(error)).toMatchObject({ class: kind, retryable: false, isOverload: false })
  })

  it('that arrives together with text fails the call after the text', async () => {
    const raw = `${chatEvents({ text: 'a b c' }).slice(0, 2).join('')}data: {"error":{"message":"lost"}}\n\n`
    const { error, events } = await failingReply({ rawChunks: [Buffer.from(raw)] })
    expect(error.message).toContain(': lost')
    expect(textOf(events)).toBe('a b ')
  })
})
