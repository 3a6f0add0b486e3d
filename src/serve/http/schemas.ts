import { z } from 'zod'
import { rowStates } from '../../history/rows.ts'
import { runStatuses } from '../../journal/summary.ts'

/*
 * What the routes take and give. Requests are checked with these schemas, and /openapi.json is made of them.
 */

const text = z.string()
const count = z.int().min(0)
const path = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => !value.includes('\0'), 'must not contain NUL')
const tokens = z.object({ input: count, output: count, cached: count })
const errorPlace = z.object({ file: text, line: z.optional(count), column: z.optional(count) })

const run = z
  .object({
    v: z.literal(1),
    id: text,
    file: text,
    target: z.enum(['prompt', 'agent', 'undo', 'conversation']),
    started: text,
    ended: text.nullable(),
    duration_ms: z.number(),
    status: z.enum(runStatuses),
    exit: z.int().nullable(),
    tasks: z.object({ done: count, failed: count, skipped: count }),
    calls: count,
    tokens,
    cost_usd: z.number().nullable(),
    models: z.array(text),
    epochs: count,
    repeated: count,
    error: text.nullable(),
    error_place: errorPlace.nullable(),
    resumable: z.optional(z.literal(false)),
    foreign: z.optional(z.literal(true)).describe('This installation has not recorded it, so that it is only shown.'),
  })
  .meta({ id: 'Run', description: 'As baton runs --json prints it.' })

const row = z
  .object({
    n: count.describe('In the order in which they began.'),
    place: text,
    kind: text,
    text: text.describe('What it is about, at most 200 characters.'),
    state: z.enum(rowStates),
    start: z.number().describe('Milliseconds since 1970.'),
    end: z.optional(z.number()),
    usd: z.optional(z.number().nullable()).describe('Null: a price is not known.'),
    input: z.optional(count),
    output: z.optional(count),
    model: z.optional(text),
    score: z.optional(z.number()),
  })
  .meta({ id: 'Row', description: 'One begun thing of a run. It is sent again, with the same n, whenever it changes.' })

const approval = z
  .object({
    id: text.describe('The number of the call.'),
    place: text,
    tool: text,
    input: z.unknown(),
    diff: z.optional(text),
    asked: text,
    until: z.optional(text),
  })
  .meta({ id: 'Approval' })

export const problem = z
  .object({ error: z.object({ code: text, message: text, hint: z.optional(text) }) })
  .meta({ id: 'Problem' })

export const begun = z.object({ id: text }).meta({ id: 'Begun', description: 'The id of the run.' })

export const runList = z.object({ runs: z.array(run), more: z.boolean() })
export const runDetail = z.object({
  run,
  canResume: z.boolean(),
  owned: z.boolean().describe('This server works on it.'),
  approvals: z.array(approval).describe('What it waits for.'),
  answers: z.array(z.object({ label: text, text })),
  prompt_file: text.nullable().describe('From the workspace; null for a text.'),
  text: text.nullable().describe('What was run, as it was then.'),
})
export const rowPage = z.object({ rows: z.array(row), cursor: text, over: z.boolean() })
export const placeDetail = z.object({
  run: text,
  part: z.unknown(),
  details: z.array(z.object({ place: text, title: text, text })),
})
export const changeList = z.object({
  changes: z.array(
    z.object({
      path: text,
      kind: z.enum(['created', 'changed', 'deleted', 'moved']),
      from: z.optional(text),
      diff: text,
    }),
  ),
})
export const teamList = z.object({
  teams: z.array(z.object({ members: z.array(z.unknown()), exchanges: z.array(z.unknown()) })).nullable(),
  breaks: z.array(z.object({ from: text, to: text })),
})
export const comparison = z.object({
  before: run,
  after: run,
  differences: z.array(z.object({ kind: text, place: text, before: text.nullable(), after: text.nullable() })),
})
export const fileList = z.object({ files: z.array(z.object({ path: text, name: text, description: text })) })
export const fileText = z.object({ path: text, text, last: run.nullable() })
export const decided = z.object({ open: z.array(approval).describe('What the run still waits for.') })

const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .pipe(z.number().min(least).max(most))

export const runListQuery = z.object({
  limit: wholeNumber(1, 500).optional(),
  before: z.string().max(100).optional().describe('Only runs that are older than this one.'),
  q: z.string().max(500).optional().describe('A part of the file or of the id.'),
  state: z.enum(runStatuses).optional(),
})
export const cursorQuery = z.object({ after: z.string().max(30).optional().describe('The cursor of what is known.') })
export const placeQuery = z.object({ place: z.string().min(1).max(4096) })
export const compareQuery = z.object({ a: z.string().max(100), b: z.string().max(100) })
export const fileQuery = z.object({ path })
export const noQuery = z.object({})

const json = z.json()

export const startBody = z
  .strictObject({
    file: path.optional().describe('A prompt file or an agent, from the folder in which the server was started.'),
    text: z.string().min(1).optional().describe('The prompt itself, in place of a file.'),
    inputs: z.array(json).max(10_000).optional(),
    vars: z.record(z.string(), json).optional(),
    model: z.string().min(1).max(500).optional(),
    mode: z.string().min(1).max(100).optional(),
    iter: z.union([z.int().min(1), z.string().max(100)]).optional(),
    until: z.string().max(10_000).optional(),
    max_cost: z.number().positive().optional().describe('US dollars.'),
    dry: z.enum(['req', 'res', 'changes']).optional(),
  })
  .refine(({ file, text: prompt }) => (file === undefined) !== (prompt === undefined), 'needs either file or text')
export const resumeBody = z.strictObject({
  uncertain: z
    .array(z.string().max(100))
    .max(10_000)
    .optional()
    .describe('As --uncertain of baton resume: 1.17=redo, done or fail.'),
})
export const undoBody = z.strictObject({
  paths: z.array(path).max(10_000).optional().describe('From the workspace; left out: all that the run has changed.'),
})
export const approveBody = z.strictObject({
  always: z.boolean().optional().describe('Also later calls of the same tool about the same, in this run.'),
  reason: z.string().max(10_000).optional(),
})
export const rejectBody = z.strictObject({ reason: z.string().max(10_000).optional().describe('Told to the model.') })
export const noBody = z.looseObject({})

/** R193. */
export const promptBody = z.strictObject({
  input: z.string().min(1).describe('What is asked.'),
  model: z.string().min(1).max(500).optional(),
  mode: z.string().min(1).max(100).optional().describe('How it is executed: classic, code, or that of a plug-in.'),
  conversationId: z.string().min(1).max(100).optional().describe('Left out: a new conversation begins.'),
  file: path.optional().describe('A prompt file whose front matter holds for a new conversation.'),
})
export const promptBegun = z
  .object({ conversationId: text, promptId: text })
  .meta({ id: 'PromptBegun', description: 'A prompt is a run, whose id is that of the prompt.' })
const call = z.string().max(30).optional().describe('The number of the call; left out: the only one.')
export const approvePromptBody = approveBody.extend({ call })
export const rejectPromptBody = rejectBody.extend({ call })
export const conversationList = z.object({
  conversations: z.array(z.object({ id: text, at: text, messages: count, text })),
})
export const conversation = z.object({
  id: text,
  messages: z.array(
    z.object({
      kind: z.enum(['message', 'summary', 'background']),
      promptId: text,
      at: text,
      text,
      answer: text.nullable(),
      run,
    }),
  ),
})
