import { isObject } from '../base/json.ts'

/** How a finished boundary ended. */
export type DoneStatus = 'done' | 'skipped' | 'failed'

/** What the final value of a boundary says about it. */
export interface BoundaryEnd {
  readonly status: DoneStatus
  /** What it was about. Newer versions record that when it begins. */
  readonly label?: string
  /** Why it failed, if its caller got the failure as a value and continued. */
  readonly error?: string
  /** For an iteration: what it did, for example `2 files, commit 1a2b3c4d5, score 12`. */
  readonly text?: string
  readonly score?: number
  /** For an iteration: identifies the state of the files after it; in a git repository, a tree id. */
  readonly files?: string
  readonly iteration?: IterationFacts
}

/** What an iteration recorded of its end. */
export interface IterationFacts {
  readonly changed: readonly string[]
  readonly commit?: string
  /** Why it failed. Runs of older versions do not have it. */
  readonly error?: string
  /** Whether its `until` was met; undefined without one. */
  readonly untilMet?: boolean
  /** How its check ended, with the end of its output. */
  readonly check?: string
}

/** What the records of a kind of boundary mean. */
export interface BoundaryKind {
  readonly kind: 'task' | 'iteration' | 'step' | 'member' | 'section' | 'agent'
  /** Whether it has a text that says what it is about. */
  readonly hasLabel: boolean
  /** Reads its final value. Undefined: the value says nothing, and need not be loaded. */
  readonly endOf?: (value: unknown) => BoundaryEnd
}

/** Each kind by the end of its places. All other boundaries are agents. */
const kinds: readonly (BoundaryKind & { readonly place: RegExp })[] = [
  { kind: 'task', place: /(?:^|\/)task\/\d+$/, hasLabel: true, endOf: workEnd },
  { kind: 'iteration', place: /(?:^|\/)iteration\/\d+$/, hasLabel: false, endOf: iterationEnd },
  // a step of a workflow, but not one of its items
  { kind: 'step', place: /(?:^|\/)step\/[^/]+$/, hasLabel: true, endOf: workEnd },
  { kind: 'agent', place: /(?:^|\/)step\/[^/]+\/item\/\d+$/, hasLabel: true },
  { kind: 'member', place: /(?:^|\/)member\/[^/]+$/, hasLabel: true, endOf: memberEnd },
  // the part that merges the answers of the members into one
  { kind: 'agent', place: /(?:^|\/)aggregate$/, hasLabel: true },
  // an agent that a model delegated work to, or a piece of work of an agent in its team
  {
    kind: 'agent',
    place: /\/tool\/\d+:(?:task\/agent\/[^/]+|spawn_agent\/agent\/[^/]+\/input\/\d+)$/,
    hasLabel: true,
    endOf: agentEnd,
  },
  { kind: 'section', place: /(?:^|\/)(?:before_all|data|output|after_all|chunk)$/, hasLabel: false },
]

const otherAgent: BoundaryKind = { kind: 'agent', hasLabel: false }

/** The kind of the boundary at a place. */
export function boundaryAt(place: string): BoundaryKind {
  return kinds.find((one) => one.place.test(place)) ?? otherAgent
}

/** Of a task or a step. */
function workEnd(value: unknown): BoundaryEnd {
  const { status, label } = isObject(value) ? value : {}
  return { status: status === 'skipped' ? 'skipped' : 'done', ...(typeof label === 'string' ? { label } : {}) }
}

/** A member of an ensemble without an answer is finished, and failed; one that was stopped is skipped. */
function memberEnd(value: unknown): BoundaryEnd {
  return endWithError(value, { answered: 'done', stopped: 'skipped' })
}

function agentEnd(value: unknown): BoundaryEnd {
  return endWithError(value, { done: 'done' })
}

function endWithError(value: unknown, statuses: { readonly [status: string]: DoneStatus }): BoundaryEnd {
  const end = workEnd(value)
  const { status, error } = isObject(value) ? value : {}
  const known = typeof status === 'string' && Object.hasOwn(statuses, status) ? statuses[status] : undefined
  return {
    ...end,
    status: end.status === 'skipped' ? 'skipped' : (known ?? 'failed'),
    ...(isObject(error) && typeof error['message'] === 'string' ? { error: error['message'] } : {}),
  }
}

function iterationEnd(value: unknown): BoundaryEnd {
  const record = isObject(value) ? value['record'] : undefined
  if (!isObject(record)) return { status: 'done' }
  const { success, changed_files: files, commit_id: commit, state, score, error, check, until_met: untilMet } = record
  const changed = Array.isArray(files) ? files.map(String) : []
  const count = changed.length
  const text = [
    count === 1 ? '1 file' : `${count} files`,
    ...(typeof commit === 'string' ? [`commit ${commit.slice(0, 9)}`] : []),
    ...(typeof score === 'number' ? [`score ${score}`] : []),
  ].join(', ')
  return {
    status: success === true ? 'done' : 'failed',
    text,
    ...(typeof score === 'number' ? { score } : {}),
    ...(typeof state === 'string' ? { files: state } : {}),
    iteration: {
      changed,
      ...(typeof commit === 'string' ? { commit } : {}),
      ...(typeof error === 'string' ? { error } : {}),
      ...(typeof untilMet === 'boolean' ? { untilMet } : {}),
      ...(typeof check === 'string' ? { check } : {}),
    },
  }
}

/** Observations that Baton and its strategies make for themselves; no script called them. */
const ownReads: ReadonlySet<string> = new Set([
  'run.number',
  'math.randomseed',
  'inbox',
  'inbox.next',
  'mail',
  'wait.open',
  'program.calls',
  'worktree.closed',
])

/** Whether an observation with this name is made for reproducibility, or before something is changed. */
export function isOwnRead(name: string): boolean {
  return ownReads.has(name) || /^(?:iterate|ensemble)\./.test(name)
}
