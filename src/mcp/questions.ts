import { cutText } from '../base/cut-text.ts'
import { BatonError, messageOf } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { harmlessName } from '../base/terminal-text.ts'
import { below, emitOnce, type RunContext, withServices } from '../event/context.ts'
import type { AskPerson, McpAnswer, McpCall, McpQuestion, McpServer } from '../event/mcp.ts'
import { item, part, type Place } from '../event/place.ts'
import { isPageAddress } from './login-addresses.ts'
import { fullName } from './names.ts'

/** The call during which a server asks. */
interface AskedCall {
  readonly server: McpServer
  readonly at: Place
  readonly context: RunContext
}

/** Limits for one call: a server that asks more is broken, or tries to wear the user down. */
const mostQuestions = 20
const mostSamples = 100

/**
 * Does work with a server and answers its questions meanwhile: those to the user by `askPerson`, those to a model by
 * `sample`, each at `<call>/sampling/<n>`. Questions still open when the work ends are withdrawn. A call in flight
 * cannot be suspended: if nobody can be asked, a question is declined immediately, with one warning per run.
 */
export async function withQuestions<T>(
  asked: AskedCall,
  signal: AbortSignal,
  work: (call: McpCall) => Promise<T>,
): Promise<T> {
  // most calls ask nothing
  let asking: AbortController | undefined
  let isEnded = false
  const answer = answerer(asked)
  const withdrawAll = (): void => asking?.abort(new BatonError('MCP_FAILED', 'the call of the server has ended'))
  const onQuestion: McpCall['onQuestion'] = (question, withdrawn) => {
    asking ??= new AbortController()
    if (isEnded) withdrawAll()
    return answer(question, AbortSignal.any([withdrawn, signal, asking.signal]))
  }
  try {
    return await work({ signal, onQuestion })
  } finally {
    isEnded = true
    withdrawAll()
  }
}

function answerer({ server, at, context }: AskedCall): AnswerQuestion {
  let questions = 0
  let samples = 0
  return async (question, signal) => {
    if (question.kind === 'sampling') {
      const number = samples++
      if (number >= mostSamples) throw tooMany('asked the model')
      return { action: 'accept', content: await sampled(question.params, { server, at, context, number, signal }) }
    }
    questions += 1
    if (questions > mostQuestions) throw tooMany('asked the user')
    return askPerson(question, { server, at, context, signal })
  }
}

type AnswerQuestion = NonNullable<McpCall['onQuestion']>

/** Questions of one call that is made without a run: the user answers, and there is no model. */
export function questionsTo(askPerson: AskPerson, server: string, signal: AbortSignal): AnswerQuestion {
  let questions = 0
  return async (question, withdrawn) => {
    if (question.kind === 'sampling') return { action: 'decline' }
    questions += 1
    if (questions > mostQuestions) throw tooMany('asked the user')
    const answer = await askPerson({ server, question, at: [] }, AbortSignal.any([withdrawn, signal]))
    return answer ?? { action: 'decline' }
  }
}

/** Characters of an address that are shown of one that is refused. */
const mostOfAddress = 200

type Asked = AskedCall & { readonly signal: AbortSignal }

async function askPerson(
  question: Exclude<McpQuestion, { readonly kind: 'sampling' }>,
  { server, at, context, signal }: Asked,
): Promise<McpAnswer> {
  const name = fullName(server)
  if (question.kind === 'url' && !isPageAddress(question.url)) {
    const shown = harmlessName(cutText(question.url, mostOfAddress))
    const message = `the MCP server ${name} asked the user to open an address that is not https: ${shown}`
    emitOnce(context, message, { type: 'warning', message: `${message}: it was declined` })
    return { action: 'decline' }
  }
  const { askPerson: ask, asking = (work) => work() } = context.services
  const answer = ask && (await asking(() => ask({ server: name, question, at }, signal)))
  if (answer !== undefined) return answer
  emitOnce(context, `person ${name}`, {
    type: 'warning',
    message: `the MCP server ${name} asked the user a question, and nobody could be asked: it was declined`,
    hint: 'Run it in a terminal without -y to be asked.',
  })
  return { action: 'decline' }
}

/**
 * One request to a model. It is recorded as a separate part of the run: if the user lets the call be made again after a
 * crash, a request that is repeated is answered from the record, and any other goes to the model.
 */
async function sampled(
  params: JsonObject,
  { server, at, context, number, signal }: Asked & { readonly number: number },
): Promise<JsonObject> {
  const inner = below(
    withServices({ ...context, scope: { ...context.scope, at } }, { signal }),
    part('sampling'),
    item(number),
  )
  const { effects, sample } = context.services
  try {
    if (sample === undefined) throw new BatonError('MCP_FAILED', 'no model is available here')
    return await effects.boundary(inner.scope.at, () => sample(params, inner), { inputs: { request: params } })
  } catch (error) {
    signal.throwIfAborted()
    const message = `the MCP server ${fullName(server)} got no answer from a model: ${messageOf(error)}`
    emitOnce(context, message, { type: 'warning', message })
    throw error
  }
}

function tooMany(what: string): BatonError {
  return new BatonError('MCP_FAILED', `this call has ${what} too often`)
}
