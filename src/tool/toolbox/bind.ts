import { resolve } from 'node:path'
import { modelText } from '../../base/model-text.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { cutText } from '../../base/cut-text.ts'
import { displayPath, isInside, realPath } from '../../base/files.ts'
import { checkBySchema, type CompiledSchema, compileSchema, unsupportedPart } from '../../base/json-schema.ts'
import { BatonError, isBatonError, messageOf, stopsRun } from '../../base/error.ts'
import { defined, isJsonObject, type Json, type JsonObject, renameKeys } from '../../base/json.ts'
import { realName } from '../../base/real-name.ts'
import { hashInSlices } from '../../base/slow-hash.ts'
import type { OnToolProgress, Tool, ToolResult } from '../../event/agent.ts'
import {
  type Access,
  type ContextWith,
  emit,
  type Gate,
  narrow,
  type RunContext,
  type Surroundings,
  withScope,
  type Sender,
} from '../../event/context.ts'
import type { Action, ActionAbout, Permit, Protection, ToolSubject } from '../../event/permission.ts'
import { cutFrom, mostArguments } from '../../event/message.ts'
import { callPlace, item, part } from '../../event/place.ts'
import { requireApproval } from '../permission.ts'
import { permitWhileWorking } from '../permit.ts'
import { approvalAdvice } from '../rule-suggestion.ts'
import { isCallOfModel, mostCharacters, noSubject, type Toolbox, type ToolKind, type ToolOutput } from './kind.ts'
import { isAlone, isTeamTool, isWriter, rowOf, subjectKind } from './rows.ts'
import { planModeRefusal } from './plan-mode.ts'

/** The record of a call: its result for the model, and what the model knows from it. */
interface Recorded extends ToolOutput {
  readonly isDenied?: true
}

/**
 * Binds a tool to one conversation. A call needs one approval, for its name and input, and its result is recorded when
 * it returns; effects of the tool are permitted and recorded separately. Errors are returned to the model.
 */
export function bindTool(kind: ToolKind, box: Toolbox): Tool {
  const { name, description, parameters, output, server } = kind
  return {
    name,
    description,
    parameters,
    ...defined({ output, server }),
    ...(kind.isIdle === undefined ? {} : { isIdle: (said) => kind.isIdle?.(box, said) === true }),
    ...(kind.close === undefined
      ? {}
      : { close: (context: RunContext, failure) => kind.close?.(box, context, failure) ?? Promise.resolve() }),
    run(text, context, onProgress) {
      const work = (): Promise<ToolResult> => runCall(kind, text, { box, context, ...defined({ onProgress }) })
      if (kind.turn === undefined && kind.callsOthers === true) return work()
      return box.plan.inTurn(kind.turn ?? (isAlone(name) ? 'alone' : 'shared'), work)
    },
  }
}

async function runCall(kind: ToolKind, text: string, { box, context, ...telling }: Carrying): Promise<ToolResult> {
  const { name, spellings = {}, usual = [], parameters } = kind
  const { services } = context
  const isLenient = kind.server === undefined && isTeamTool(name) && !wasRefused(kind, context)
  const schema = await schemaOf(kind, isLenient ? usual : [], context)
  const reading = { name, spellings, schema, signal: services.signal }
  const input = await readInput(text, isLenient ? { ...reading, known: parameters, usual } : reading)
  if (typeof input === 'string') return { text: cutText(input, mostOfError), isError: true }
  const work = async (): Promise<Recorded> => {
    const notNow = planModeRefusal(kind, input, box)
    if (notNow !== undefined) return { text: notNow, isError: true }
    const output = await carryOut(kind, input, { ...telling, box, context: held(context, box) })
    return output.text.length <= mostCharacters ? output : cutLarge(output, kind, { box, context })
  }
  const recorded = kind.callsOthers === true ? await work() : await callRecorded({ name, input }, work, context)
  return resultOf(recorded, { box, context })
}

/** Most outputs are small, and load no code for this. */
async function cutLarge(output: Recorded, kind: ToolKind, { box, context }: Carrying): Promise<Recorded> {
  const { cutMiddle, cutOutput, forModel } = await import('./output.ts')
  const keeping = { box, texts: context.services.texts }
  if (!isOfOthers(kind) || !isCallOfModel(context.scope.at)) return cutOutput(output, keeping)
  return { ...output, ...cutMiddle(output.text, forModel, keeping) }
}

/** A tool of a server or plug-in: what it returns may have any size, and no call asks for a part of it. */
function isOfOthers({ name, server }: ToolKind): boolean {
  return server !== undefined || rowOf(name) === undefined
}

/**
 * Whether the record of the run has an error about the arguments of a call here, in the request after it: earlier
 * versions refused some that are read now.
 */
function wasRefused({ name }: ToolKind, { scope: { at }, services: { effects } }: RunContext): boolean {
  const end = at.findLastIndex(({ kind }) => kind === 'turn')
  const turn = at[end]
  if (turn?.kind !== 'turn') return false
  const next = callPlace([...at.slice(0, end), { kind: 'turn', index: turn.index + 1 }], 0)
  const recorded = effects.requested(next)
  return (
    recorded !== undefined && JSON.stringify(recorded.request).includes(`tool \\"${name}\\": the arguments do not fit`)
  )
}

/** Large texts in the input are recorded by hash only: the model's answer, which is recorded, contains them. */
async function callRecorded<T extends Recorded>(
  { name, input }: { readonly name: string; readonly input: JsonObject },
  work: () => Promise<T>,
  { scope, services: { effects, signal } }: ContextWith<'at', Gate & Surroundings>,
): Promise<T> {
  const args: { [key: string]: Json } = { ...input }
  for (const [key, value] of Object.entries(input)) {
    if (typeof value !== 'string' || value.length < leastHashed) continue
    args[key] = { characters: value.length, sha256: await hashInSlices(Buffer.from(value), signal) }
  }
  return effects.call(scope.at, { name, args }, work)
}

/** In characters. */
const leastHashed = 256 * 1024

/** Schemas are compiled once and shared by all conversations: for each kind without and with `usual` parameters. */
const schemas = new WeakMap<ToolKind, Map<string, Promise<CompiledSchema>>>()

function schemaOf(kind: ToolKind, usual: readonly string[], context: Sender): Promise<CompiledSchema> {
  const ofKind = schemas.get(kind) ?? new Map<string, Promise<CompiledSchema>>()
  schemas.set(kind, ofKind)
  const compiled = ofKind.get(usual.join(' ')) ?? compile(kind, usual, context)
  ofKind.set(usual.join(' '), compiled)
  return compiled
}

/** A server checks its input itself, so a schema of another dialect, or with other patterns, does not stop a call. */
async function compile(
  { name, parameters, server }: ToolKind,
  usual: readonly string[],
  context: Sender,
): Promise<CompiledSchema> {
  const result = await compileSchema(accepted(parameters, usual))
  const problem = result.kind === 'invalid' ? result.message : server && unsupportedPart(result.compiled)
  if (problem === undefined && result.kind === 'ok') return result.compiled
  if (server === undefined) {
    throw new BatonError('AGENT_FAILED', `the parameters of the tool ${name} are not a valid JSON Schema: ${problem}`)
  }
  emit(context, {
    type: 'warning',
    message: `the arguments of the tool ${name} are not checked: the schema from its MCP server is not understood: ${harmlessName(cutText(problem ?? '', 300))}`,
  })
  const any = await compileSchema({ type: 'object' })
  if (any.kind === 'ok') return any.compiled
  throw new Error(any.message)
}

/** The schema without the requirement of parameters that have a default. */
function accepted(parameters: JsonObject, usual: readonly string[]): JsonObject {
  const { required } = parameters
  if (usual.length === 0 || !Array.isArray(required)) return parameters
  return { ...parameters, required: (required as readonly string[]).filter((key) => !usual.includes(key)) }
}

/** In characters: an error repeats what the model wrote, which can be of any length. */
const mostOfError = 2_000

interface Reading extends Required<Pick<ToolKind, 'name' | 'spellings'>> {
  readonly schema: CompiledSchema
  /** Keys that are not in this schema are left out of the input; omitted: they are errors, if the schema says so. */
  readonly known?: JsonObject
  /** Parameters that calls may leave out. */
  readonly usual?: readonly string[]
  readonly signal: AbortSignal
}

/** The input of a call, or a text that says what is wrong with it. */
async function readInput(
  text: string,
  { name, spellings, schema, known, usual = [], signal }: Reading,
): Promise<JsonObject | string> {
  const cut = cutFrom(text)
  if (cut !== undefined) {
    return modelText`Error in tool "${name}": its arguments had ${cut} characters, but a call may have at most ${mostArguments}. Nothing was done: send less at once.`
  }
  let input: Json
  try {
    input = text.trim() === '' ? {} : (JSON.parse(text) as Json)
  } catch (error) {
    return modelText`Invalid JSON in arguments for tool "${name}": ${messageOf(error)}`
  }
  if (isJsonObject(input)) {
    const twice = givenTwice(input, spellings)
    if (twice !== undefined) return `Error in tool "${name}": ${twice}`
    input = renameKeys(input, spellings)
    if (known !== undefined) input = withoutOthers(withoutUnset(input, known, usual), known)
  }
  const problems = await checkBySchema(schema, input, signal)
  if (problems.length === 0 && isJsonObject(input)) return input
  const errorText = problems.map(({ path, message }) => (path === '$' ? message : `${path} ${message}`))
  return modelText`Error in tool "${name}": the arguments do not fit its schema: ${errorText.join('; ') || 'they are not an object'}`
}

/** Null counts as left out, and so does an empty list, if the schema wants one that is not. */
function withoutUnset(input: JsonObject, { properties }: JsonObject, usual: readonly string[]): JsonObject {
  const isUnset = (key: string, value: Json): boolean => {
    const schema = isJsonObject(properties) ? properties[key] : undefined
    if (value === null) return true
    return Array.isArray(value) && value.length === 0 && isJsonObject(schema) && schema['minItems'] !== undefined
  }
  return Object.fromEntries(Object.entries(input).filter(([key, one]) => !usual.includes(key) || !isUnset(key, one)))
}

/** A value without the keys that its schema does not know, at any depth. */
function withoutOthers<T extends Json>(value: T, { properties, items }: JsonObject): T {
  if (Array.isArray(value)) {
    const each = value as readonly Json[]
    return isJsonObject(items) ? (each.map((one) => withoutOthers(one, items)) as unknown as T) : value
  }
  if (!isJsonObject(value) || !isJsonObject(properties)) return value
  const kept = Object.entries(value).flatMap(([key, one]) => {
    const schema = properties[key]
    return isJsonObject(schema) ? [[key, withoutOthers(one, schema)] as const] : []
  })
  return Object.fromEntries(kept) as unknown as T
}

function givenTwice(input: JsonObject, spellings: Reading['spellings']): string | undefined {
  const [spelling, usual] =
    Object.entries(spellings).find((names) => names.every((name) => Object.hasOwn(input, name))) ?? []
  return spelling && `"${usual}" and "${spelling}" mean the same: give only one of them`
}

/** Tools have the rights of an answer: what is protected from answers is protected from tools. */
function held(context: RunContext, { limits: { allow } }: Toolbox): RunContext {
  const { executed } = context.services.sources
  const protect: Protection = { paths: executed(), kind: 'answer', allow, whom: 'a model' }
  return narrow(context, { protect })
}

interface Carrying {
  readonly box: Toolbox
  readonly context: RunContext
  readonly onProgress?: OnToolProgress
}

async function carryOut(kind: ToolKind, input: JsonObject, { box, context, ...telling }: Carrying): Promise<Recorded> {
  const { at } = context.scope
  const { signal } = context.services
  try {
    const permit = await ask(kind, input, { box, context })
    if ('text' in permit) return permit
    const inner = [...at, item(0)]
    return await kind.run(input, { ...telling, box, permit, context: withScope(context, { at: inner }), at: inner })
  } catch (error) {
    signal.throwIfAborted()
    if (stopsRun(error)) throw error
    if (error instanceof Denied) return { text: error.message, isError: true, isDenied: true }
    return { text: failureText(kind.name, error), isError: true }
  }
}

class Denied extends Error {}

/**
 * Gets the permit for a call, or an output if the result is already known and no permit is needed.
 * @throws Denied if the rules or the user do not allow the call
 */
async function ask(kind: ToolKind, input: JsonObject, { box, context }: Carrying): Promise<Permit | ToolOutput> {
  const { name } = kind
  const { effects, permission } = gateOf(name, context)
  const { at } = context.scope
  const subject = subjectOf(kind, input, box)
  const plain: Action = {
    kind: 'tool',
    tool: name,
    input: kind.shown?.(input, box) ?? input,
    ...(subject === undefined ? {} : { subject }),
    ...aboutCall(input, { subject, box, context }),
  }
  const { preview } = kind
  // what the user is shown is recorded, so that a decision from an earlier process applies to the same change
  const isAsked = permission.check(plain).kind === 'ask'
  const asked = { name: `${name}.preview`, args: input }
  const shown =
    isAsked && preview !== undefined
      ? await effects.observeAsync([...at, part('plan')], asked, async () => preview(input, { box, context, at }))
      : undefined
  if (typeof shown === 'object') return shown
  const version = isAsked ? await kind.version?.({ context, at }) : undefined
  const action = { ...plain, ...defined({ diff: shown, version }) }
  try {
    return await permitWhileWorking(context, { effects, at, action })
  } catch (error) {
    if (!isBatonError(error) || (error.code !== 'UNTRUSTED' && error.code !== 'NEEDS_INPUT')) throw error
    throw new Denied(deniedText(action, error, context))
  }
}

/** What the user is told besides the call: where a link leads, and the folder of a command line. */
function aboutCall(
  input: JsonObject,
  { subject, box, context: { scope } }: Carrying & { readonly subject: ToolSubject | undefined },
): { readonly about?: ActionAbout } {
  if (subject?.kind === 'command') {
    return { about: { folder: displayPath(scope.folders.workspace, box.shell.directory()) } }
  }
  if (subject?.kind !== 'path') return {}
  const base = realPath(box.baseDir)
  const paths = [input['path'], input['pattern']].filter((value) => typeof value === 'string')
  const isThere = paths.some((path) => isInside(subject.path, realName(resolve(base, path))))
  return isThere || paths.length === 0 ? {} : { about: { target: subject.path } }
}

/**
 * What rules match a call against. For a tool of this program it is of the kind that its row says, so that a call is
 * never judged without the rules for what it touches.
 */
function subjectOf(kind: ToolKind, input: JsonObject, box: Toolbox): ToolSubject | undefined {
  const { name } = kind
  const subject = kind.subject?.(input, box)
  if (subject === noSubject) return undefined
  if (rowOf(name) !== undefined && subject?.kind !== subjectKind(name)) {
    throw new Error(`the tool ${name} gives no subject of the kind that its row has`)
  }
  return subject
}

/** Tools that change files need an approval wherever file changes do. */
function gateOf(tool: string, { scope, services }: ContextWith<'rights', Gate & Access>): Gate & Access {
  const { effects, permission } = services
  if (scope.rights.asks !== true || !isWriter(tool)) return { effects, permission }
  const asking = requireApproval(permission)
  return { effects: effects.under(asking), permission: asking }
}

function deniedText(
  action: Extract<Action, { readonly kind: 'tool' }>,
  { message, code, cause }: BatonError,
  { scope: { rights, folders } }: Pick<RunContext, 'scope'>,
): string {
  if (code === 'NEEDS_INPUT' && rights.asks === true && isWriter(action.tool)) {
    return modelText`permission denied: write_mode = "ask", and nobody can be asked`
  }
  if (code === 'NEEDS_INPUT') return approvalAdvice(action, { lists: rights.rules, workspace: folders.workspace })
  if (cause === 'deny') return modelText`rejected by the user`
  const { remark, expired } = isJsonObject(cause as Json) ? (cause as JsonObject) : {}
  if (typeof expired === 'string') return modelText`permission denied: nobody has answered for ${expired}`
  return typeof remark === 'string' ? `rejected by the user: ${remark}` : `permission denied: ${message}`
}

function failureText(name: string, error: unknown): string {
  const hint = isBatonError(error) && error.hint !== undefined ? ` ${error.hint}` : ''
  const reason = cutText(messageOf(error), mostOfError)
  return modelText`Error in tool "${name}": ${reason}.${hint}`.replace(/\.\.(?= |$)/, '.')
}

function resultOf(
  { seen = [], gone = [], changes = [], planned, kept, plan, directory, job, ...result }: Recorded,
  { box, context }: Carrying,
): ToolResult {
  for (const file of seen) box.seen.add(file)
  for (const path of gone) box.seen.forget(path)
  if (kept !== undefined) box.outputs.know(kept)
  context.services.sources.change(changes.map(({ file_path: path }) => resolve(box.baseDir, path)))
  box.work.add(changes, planned)
  if (directory !== undefined) box.shell.move(directory)
  if (job !== undefined) box.shell.jobs.know(job)
  if (plan !== undefined) box.plan.set(plan === false ? undefined : plan)
  return result
}
