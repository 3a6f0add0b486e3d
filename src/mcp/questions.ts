import { BatonError, messageOf } from '../base/error.ts'
import type { JsonObject } from '../base/json.ts'
import { below, emit, type RunContext, withServices } from '../event/context.ts'
import type { AskPerson, McpAnswer, McpCall, McpQuestion, McpServer } from '../event/mcp.ts'
import { item, part, type Place } from '../event/place.ts'
import type { RunSources } from '../event/sources.ts'
import { fullName } from './names.ts'

/** What a server works on while it asks. */
interface AskedCall {
  readonly server: McpServer
  readonly at: Place
  readonly context: RunContext
}

/** What one call may ask; a server that wants more is broken, or wears a person down. */
const mostQuestions = 20
const mostSamples = 100

/**
 * Does something with a server whose questions are answered meanwhile: those to a person by `askPerson`, those to a model by
 * `sample`, each at `<call>/sampling/<n>`. What is still asked when the work has ended is withdrawn. Nobody waits for another day: where
 * nobody can be asked it is declined at once, and the run says so once.
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
    if (questions > mostQuestions) throw tooMany('asked a person')
    return askPerson(question, { server, at, context, signal })
  }
}

type AnswerQuestion = NonNullable<McpCall['onQuestion']>

/** Questions of one call that is made without a run: a person answers, and there is no model. */
export function questionsTo(askPerson: AskPerson, server: string, signal: AbortSignal): AnswerQuestion {
  let questions = 0
  return async (question, withdrawn) => {
    if (question.kind === 'sampling') return { action: 'decline' }
    questions += 1
    if (questions > mostQuestions) throw tooMany('asked a person')
    const answer = await askPerson({ server, question, at: [] }, AbortSignal.any([withdrawn, signal]))
    return answer ?? { action: 'decline' }
  }
}

type Asked = AskedCall & { readonly signal: AbortSignal }

async function askPerson(
  question: Exclude<McpQuestion, { readonly kind: 'sampling' }>,
  { server, at, context, signal }: Asked,
): Promise<McpAnswer> {
  const name = fullName(server)
  const { askPerson: ask, asking = (work) => work() } = context.services
  const answer = ask && (await asking(() => ask({ server: name, question, at }, signal)))
  if (answer !== undefined) return answer
  tellOnce(context, {
    key: `person ${name}`,
    message: `the MCP server ${name} asked a person something, and nobody could be asked: it was declined`,
    hint: 'Run it on a terminal without -y to be asked.',
  })
  return { action: 'decline' }
}

/**
 * One request to a model. It is a part of the run with an end of its own: where a person lets the call be made again after a crash, what
 * is asked again is answered from the record, and anything else is asked anew.
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
    if (sample === undefined) throw new BatonError('MCP_FAILED', 'no model can be asked here')
    return await effects.boundary(inner.scope.at, () => sample(params, inner), { inputs: { request: params } })
  } catch (error) {
    signal.throwIfAborted()
    const message = `the MCP server ${fullName(server)} was given no answer of a model: ${messageOf(error)}`
    tellOnce(context, { key: message, message })
    throw error
  }
}

function tooMany(what: string): BatonError {
  return new BatonError('MCP_FAILED', `this call has ${what} too often`)
}

/** What a run has said; all parts of a run share their sources. */
const told = new WeakMap<RunSources, Set<string>>()

function tellOnce(
  context: RunContext,
  { key, ...warning }: { readonly key: string; readonly message: string; readonly hint?: string },
): void {
  const { sources } = context.services
  const known = told.get(sources) ?? new Set<string>()
  told.set(sources, known)
  if (known.has(key)) return
  known.add(key)
  emit(context, { type: 'warning', ...warning })
}
