/** The stages of a run at which a chain of agents runs. */
type Stage = 'pre' | 'pre_task' | 'post_task' | 'post'

/** A section of an agent file that runs separately. */
type SectionName = 'before_all' | 'data' | 'output' | 'after_all' | 'chunk'

/** One segment of a place, the path from the run down to where something happens. Indices count from 0. */
export type Segment =
  | { readonly kind: 'redo'; readonly round: number }
  | { readonly kind: 'iteration'; readonly index: number }
  | { readonly kind: 'task'; readonly index: number }
  | { readonly kind: 'stage'; readonly stage: Stage }
  /** A sub-agent of a chain. */
  | { readonly kind: 'step'; readonly index: number; readonly name: string }
  /** A step of a workflow, and an item of a step. */
  | { readonly kind: 'workflow_step'; readonly id: string }
  | { readonly kind: 'workflow_item'; readonly index: number }
  /** A member of an ensemble. */
  | { readonly kind: 'member'; readonly name: string }
  | { readonly kind: 'section'; readonly name: SectionName }
  /** The n-th call of a section that observes or acts, or the n-th model call of a turn. */
  | { readonly kind: 'call'; readonly number: number }
  /** An agent run by a call. */
  | { readonly kind: 'agent'; readonly name: string }
  /** A conversation; `opened`: where it was opened, below the task, iteration or round that it belongs to. */
  | { readonly kind: 'conversation'; readonly opened: Place }
  | { readonly kind: 'turn'; readonly index: number }
  | { readonly kind: 'tool'; readonly index: number; readonly name: string }
  /** A fixed name for one operation at a place. */
  | { readonly kind: 'part'; readonly name: PartName }
  /** One of several items of a part, by number or name. */
  | { readonly kind: 'item'; readonly key: number | string }

/**
 * Where in a run something happens: the segments from the run down, for example `task/5/pre_task/0:lint/data#3`.
 * Siblings that run at the same time share no counter. Code works with segments; journal, events and messages contain
 * the text.
 */
export type Place = readonly Segment[]

const partNames = [
  'after',
  'aggregate',
  'apply',
  'approval',
  'ask',
  'attachments',
  'batch',
  'before',
  'best',
  'changes',
  'check',
  'commit',
  'context',
  'ends',
  'fallback',
  'files',
  'first',
  'gate',
  'inbox',
  'input',
  'inputs',
  'join',
  'knowledge',
  'list',
  'main',
  'mcp',
  'model-choice',
  'module',
  'plan',
  'read',
  'repair',
  'retry',
  'rounds',
  'run',
  'sampling',
  'score',
  'seed',
  'shell',
  'structure',
  'summary',
  'team',
  'time',
  'transcript',
  'undo',
  'until',
  'working',
  'worktree',
] as const

export type PartName = (typeof partNames)[number]

/** Parts whose items have arbitrary names. */
const named: ReadonlySet<string> = new Set<PartName>([
  'files',
  'mcp',
  'model-choice',
  'module',
  'read',
  'transcript',
  'worktree',
])

export function part(name: PartName): Segment {
  return { kind: 'part', name }
}

export function item(key: number | string): Segment {
  return { kind: 'item', key }
}

export function task(index: number): Segment {
  return { kind: 'task', index }
}

export function iteration(index: number): Segment {
  return { kind: 'iteration', index }
}

export function workflowStep(id: string): Segment {
  return { kind: 'workflow_step', id }
}

export function workflowItem(index: number): Segment {
  return { kind: 'workflow_item', index }
}

export function member(name: string): Segment {
  return { kind: 'member', name }
}

/** The place of the n-th call of a section or turn, counted from 0. */
export function callPlace(section: Place, number: number): Place {
  return [...section, { kind: 'call', number }]
}

/** A place without a trailing call number. */
export function withoutCall(place: Place): Place {
  return place.at(-1)?.kind === 'call' ? place.slice(0, -1) : place
}

/** Whether it is in the tool itself that a model called, and not in an agent or a script that the tool runs. */
export function isInTool(place: Place): boolean {
  const last = place.findLast(({ kind }) => kind !== 'call' && kind !== 'item' && kind !== 'part')
  return last?.kind === 'tool'
}

const holders: ReadonlySet<Segment['kind']> = new Set([
  'task',
  'iteration',
  'redo',
  'workflow_step',
  'workflow_item',
  'member',
])

/**
 * The place of a conversation that is opened at `opener`: below the nearest task, workflow step, member of an ensemble,
 * iteration or round, which does not end before its conversations are closed. A conversation that is opened within
 * another one counts as opened where that one was.
 */
export function conversationPlace(opener: Place): Place {
  const path = originOf(opener)
  const end = path.findLastIndex(({ kind }) => holders.has(kind)) + 1
  return [...path.slice(0, end), { kind: 'conversation', opened: path.slice(end) }]
}

/**
 * The place with each conversation moved to where it was opened. In this form, everything below a boundary belongs to
 * it.
 */
export function originOf(place: Place): Place {
  if (!place.some(({ kind }) => kind === 'conversation')) return place
  return place.flatMap((segment) => (segment.kind === 'conversation' ? segment.opened : [segment]))
}

/** The same for texts. Most places have no conversation, and parsing takes time. */
export function originText(place: string): string {
  return place.includes('agent/') ? placeText(originOf(parsePlace(place))) : place
}

/** The text of the enclosing place; empty for the run. */
export function placeAround(place: string): string {
  return place.slice(0, Math.max(0, place.lastIndexOf('/'), place.lastIndexOf('#')))
}

/**
 * Where the innermost conversation of a place was opened, from where events are sent; the place itself if there is
 * none.
 */
export function openerOf(place: Place): Place {
  const index = place.findLastIndex(({ kind }) => kind === 'conversation')
  return index === -1 ? place : originOf(place.slice(0, index + 1))
}

/** Whether a place equals another one or is below it; both as texts in origin form. */
export function isWithin(text: string, outerText: string): boolean {
  return text.startsWith(outerText) && ['', '/', '#'].includes(text.charAt(outerText.length))
}

/** The separators of a place: in its text, and in the name of a conversation, which is a single token. */
interface Joints {
  readonly token: string
  readonly call: string
}

const outer: Joints = { token: '/', call: '#' }
const inner: Joints = { token: '+', call: '~' }

/** The place as text: `redo/1/task/5/pre_task/0:lint/data#3`. Separators inside names are percent-encoded. */
export function placeText(place: Place): string {
  return textWith(place, outer)
}

/** The name of a conversation, derived from where it was opened: a single token in the text of its place. */
export function conversationName(opened: Place): string {
  return textWith(opened, inner)
}

function textWith(place: Place, joints: Joints): string {
  let text = ''
  for (const segment of place) {
    if (segment.kind === 'call') text += `${joints.call}${segment.number}`
    else text += `${text === '' ? '' : joints.token}${segmentText(segment, joints)}`
  }
  return text
}

function segmentText(segment: Exclude<Segment, { kind: 'call' }>, { token }: Joints): string {
  switch (segment.kind) {
    case 'redo':
      return `redo${token}${segment.round}`
    case 'iteration':
    case 'task':
    case 'turn':
      return `${segment.kind}${token}${segment.index}`
    case 'stage':
      return segment.stage
    case 'step':
      return `${segment.index}:${encoded(segment.name)}`
    case 'workflow_step':
      return `step${token}${encoded(segment.id)}`
    case 'workflow_item':
      return `item${token}${segment.index}`
    case 'section':
    case 'part':
      return segment.name
    case 'member':
    case 'agent':
      return `${segment.kind}${token}${encoded(segment.name)}`
    case 'conversation':
      return `agent${token}${conversationName(segment.opened)}`
    case 'tool':
      return `tool${token}${segment.index}:${encoded(segment.name)}`
    case 'item':
      return encoded(String(segment.key))
  }
}

function encoded(name: string): string {
  return /[%/#+~]/.test(name)
    ? name.replaceAll(/[%/#+~]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
    : name
}

function decoded(token: string): string {
  return token.replaceAll(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** Parses the text of a place; the inverse of `placeText`. Unknown words become items. */
export function parsePlace(text: string): Place {
  return text === '' ? [] : parseTokens(text, outer)
}

const stages: ReadonlySet<string> = new Set<Stage>(['pre', 'pre_task', 'post_task', 'post'])
const sections: ReadonlySet<string> = new Set<SectionName>(['before_all', 'data', 'output', 'after_all', 'chunk'])
const parts: ReadonlySet<string> = new Set(partNames)

function parseTokens(text: string, joints: Joints): Place {
  const place: Segment[] = []
  const tokens = text.split(joints.token)
  for (let index = 0; index < tokens.length; index += 1) {
    const [token = '', ...calls] = (tokens[index] ?? '').split(joints.call)
    const previous = place.at(-1)
    if (previous?.kind === 'part' && named.has(previous.name)) place.push(itemOf(token))
    else if (takesArgument.has(token)) {
      const [argument = '', ...more] = (tokens[(index += 1)] ?? '').split(joints.call)
      place.push(withArgument(token, argument, previous))
      calls.push(...more)
    } else place.push(plainSegment(token))
    for (const number of calls) place.push({ kind: 'call', number: Number(number) })
  }
  return place
}

const takesArgument: ReadonlySet<string> = new Set([
  'redo',
  'iteration',
  'task',
  'turn',
  'agent',
  'tool',
  'step',
  'item',
  'member',
])

function withArgument(word: string, argument: string, previous: Segment | undefined): Segment {
  switch (word) {
    case 'redo':
      return { kind: 'redo', round: Number(argument) }
    case 'iteration':
    case 'task':
    case 'turn':
      return { kind: word, index: Number(argument) }
    case 'step':
      return { kind: 'workflow_step', id: decoded(argument) }
    case 'item':
      return { kind: 'workflow_item', index: Number(argument) }
    case 'member':
      return { kind: 'member', name: decoded(argument) }
    case 'tool':
      return { kind: 'tool', ...numbered(argument) }
    default:
      return previous?.kind === 'call' || previous?.kind === 'tool'
        ? { kind: 'agent', name: decoded(argument) }
        : { kind: 'conversation', opened: argument === '' ? [] : parseTokens(argument, inner) }
  }
}

function plainSegment(token: string): Segment {
  if (stages.has(token)) return { kind: 'stage', stage: token as Stage }
  if (sections.has(token)) return { kind: 'section', name: token as SectionName }
  if (parts.has(token)) return { kind: 'part', name: token as PartName }
  return /^\d+:/.test(token) ? { kind: 'step', ...numbered(token) } : itemOf(token)
}

function itemOf(token: string): Segment {
  return { kind: 'item', key: /^(?:0|[1-9]\d{0,14})$/.test(token) ? Number(token) : decoded(token) }
}

function numbered(token: string): { readonly index: number; readonly name: string } {
  const colon = token.indexOf(':')
  return { index: Number(token.slice(0, colon)), name: decoded(token.slice(colon + 1)) }
}

/** True for an event inside an agent: tasks and rounds of a nested prompt file do not count as those of the run. */
export function isNested({ agent }: { readonly agent: string }): boolean {
  return agent
    .split('/')
    .some((name) => ['pre', 'pre_task', 'post_task', 'post', 'ask', 'agent', 'step'].includes(name))
}
