import * as z from 'zod'
import { rowStates } from '../../history/rows.ts'
import { shownStatuses } from '../../journal/summary.ts'

/*
 * The request and response types of the routes. They validate requests, and /openapi.json is generated from them.
 */

const text = z.string()
const count = z.int().min(0)
const path = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => !value.includes('\0'), 'must not contain NUL')
const tokens = z.object({ input: count, output: count, cached: count, estimated: z.optional(z.literal(true)) })
const errorPlace = z.object({ file: text, line: z.optional(count), column: z.optional(count) })

const run = z
  .object({
    v: z.literal(1),
    id: text,
    file: text,
    target: z.enum(['prompt', 'agent', 'undo', 'apply', 'conversation']),
    started: text,
    ended: text.nullable(),
    duration_ms: z.number(),
    status: z.enum(shownStatuses),
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
    degraded: z.optional(z.literal(true)).describe('An ensemble went on without the answer of a member.'),
    begun: z.optional(z.literal(false)),
    not_applied: z.optional(z.literal(true)),
    asleep_ms: z.optional(z.number()),
    waits: z.optional(count).describe('How many answers it waits for, in the state waiting.'),
    name: z.optional(text).describe('The path of its file, the name of its agent, or the first message of its chat.'),
    chat: z.optional(z.object({ id: text, message: text })).describe('The chat that it is a message of.'),
    planned: z.optional(count).describe('How many tasks it has, while it runs in this server.'),
    foreign: z.optional(z.literal(true)).describe('Not recorded by this installation, therefore read-only.'),
  })
  .meta({ id: 'Run', description: 'A run in the format of baton runs --json.' })

const row = z
  .object({
    n: count.describe('Sequence number in starting order.'),
    place: text,
    kind: text,
    text: text.describe('A short description, at most 200 characters.'),
    state: z.enum(rowStates),
    start: z.number().describe('Milliseconds since 1970.'),
    end: z.optional(z.number()),
    usd: z.optional(z.number().nullable()).describe('US dollars; null if the price is unknown.'),
    input: z.optional(count),
    output: z.optional(count),
    model: z.optional(text),
    score: z.optional(z.number()),
  })
  .meta({
    id: 'Row',
    description: 'Something that a run has started. It is sent again, with the same n, whenever it changes.',
  })

const approval = z
  .object({
    id: text.describe('The number of the call.'),
    place: text,
    tool: text,
    input: z.unknown(),
    diff: z.optional(text),
    hunks: z.optional(count).describe('How many hunks of the diff can be decided one by one.'),
    review: z
      .object({ number: count, count, explanation: z.optional(text) })
      .optional()
      .describe('Of a change of an answer: which of how many, and what the answer says besides.'),
    asked: text,
    until: z.optional(text),
  })
  .meta({ id: 'Approval' })

const asker = text.describe('Who asks, in plain words; empty: the main agent.')

export const problem = z
  .object({
    error: z.object({
      code: text,
      message: text,
      hint: z.optional(text),
      fields: z
        .array(z.object({ field: text, message: text }))
        .optional()
        .describe('The fields of the request that are wrong, such as vars.language.'),
    }),
  })
  .meta({ id: 'Problem' })

export const begun = z.object({ id: text }).meta({ id: 'Begun', description: 'The id of the run.' })

export const closed = z.object({ closed: z.boolean().describe('False: it was not open in this server.') })

export const runList = z.object({
  runs: z.array(run),
  more: z.boolean(),
  total: count.optional().describe('How many runs there are, if nothing is searched.'),
})
export const inbox = z.object({
  workspace: z.object({ name: text, folder: text }),
  items: z.array(
    z.object({
      run,
      approvals: count.describe('Calls that wait for approval.'),
      questions: count.describe('Questions of MCP servers.'),
      uncertain: count.describe('Calls whose outcome only a person can state.'),
    }),
  ),
})
export const runDetail = z.object({
  run,
  canResume: z.boolean(),
  owned: z.boolean().describe('The run is active in this server.'),
  approvals: z.array(approval.extend({ asker })).describe('The calls it waits for.'),
  questions: z
    .array(
      z.object({
        id: text,
        server: text,
        agent: text,
        asker,
        kind: z.enum(['form', 'url']),
        message: text,
        schema: z.optional(z.unknown()),
        url: z.optional(text),
      }),
    )
    .describe(
      'Questions of MCP servers, which it waits for. Everything but id, server, agent, asker and kind is of the server.',
    ),
  uncertain: z
    .array(z.looseObject({ id: text, place: text, kind: text, text }))
    .describe('Calls whose outcome is unknown: POST …/resume needs a choice for each.'),
  canUndo: z.boolean().describe('It has changed files that were not restored yet.'),
  again: z.unknown().describe('The body for POST /api/runs that starts the same again; null if there is none.'),
  answers: z.array(z.object({ label: text, text })),
  prompt_file: text.nullable().describe('Relative to the workspace; null for a text.'),
  text: text.nullable().describe('The text of the prompt at the time of the run.'),
})
const step = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('said'), place: text, text }),
    z.object({
      kind: z.literal('tool'),
      place: text,
      name: text,
      input: z.unknown(),
      state: z.enum(['called', 'done', 'failed']),
      result: text.describe('Its start.'),
    }),
  ])
  .meta({ id: 'Step', description: 'What a model said before its answer, or a tool that it called.' })
export const runSteps = z.object({
  steps: z.array(step),
  earlier: count.describe('How many earlier steps were left out.'),
  files: z.array(text).describe('The changed files, relative to the workspace.'),
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
const spent = z.object({ duration_ms: z.number().nullable(), calls: count, tokens, cost_usd: z.number().nullable() })
export const comparison = z.object({
  before: run,
  after: run,
  scores: z.object({ before: z.number().nullable(), after: z.number().nullable() }).describe('The best of each.'),
  differences: z.array(
    z.object({
      kind: text,
      place: text,
      before: text.nullable(),
      after: text.nullable(),
      diff: text.nullable().describe('The changed lines, if both runs have it.'),
      spent: z.optional(z.object({ before: spent.nullable(), after: spent.nullable() })),
    }),
  ),
})
export const fileList = z.object({ files: z.array(z.object({ path: text, name: text, description: text })) })
export const fileText = z.object({ path: text, text, last: run.nullable() })
export const filePlan = z.object({
  plan: z.unknown().describe('In the format of baton plan --json; null if it has a problem.'),
  problem: text.nullable(),
})
export const fileTests = z.object({
  tests: z.array(
    z.object({
      name: text,
      line: count.nullable(),
      result: z
        .object({
          passed: z.boolean(),
          at: text,
          ms: z.number(),
          calls: count,
          cost_usd: z.number().nullable(),
          failures: z.array(text),
          isOld: z.boolean().describe('The file has changed since.'),
        })
        .nullable()
        .describe('Of the last baton test; null: there is none.'),
    }),
  ),
  problem: text.nullable(),
})
export const fileRuns = z.object({
  runs: z.array(run.extend({ score: z.number().nullable().describe('The best of its iterations.') })),
})
export const runForm = z.object({
  kind: z.enum(['prompt', 'agent']).describe('An agent can get inputs that are not text.'),
  file: text,
  title: text.nullable(),
  description: text.nullable(),
  variables: z.unknown().describe('The variables of the file, as JSON Schema of type object.'),
  takesInputs: z.boolean(),
  model: text.nullable(),
  mode: text.nullable(),
  max_cost: z.number().nullable(),
})
export const choices = z.object({ models: z.array(text), modes: z.array(text) })
export const decided = z.object({ open: z.array(approval).describe('The calls that the run still waits for.') })

const trigger = z
  .object({
    name: text,
    file: text,
    kind: z.enum(['cron', 'files', 'webhook']),
    when: text.describe('The times with their time zone, the globs, or the address of the hook.'),
    overlap: z.enum(['skip', 'queue', 'allow']),
    state: z.enum(['ready', 'running', 'waiting', 'off', 'invalid', 'elsewhere']),
    problem: text.nullable(),
    next: text.nullable().describe('ISO 8601, UTC; null: not known ahead, or never.'),
    last: z
      .object({
        at: text,
        cause: z.enum(['cron', 'missed', 'files', 'webhook', 'hand']),
        about: text,
        outcome: z.enum(['started', 'skipped', 'failed']),
        run: text.nullable(),
        status: text.nullable().describe('How far that run is.'),
        message: text.nullable(),
      })
      .nullable(),
    running: z.array(text),
    waiting: count,
    origin: text,
  })
  .meta({ id: 'Trigger' })
export const triggerList = z.object({
  triggers: z.array(trigger),
  problem: text.nullable().describe('Why the config files as they are now cannot be used; null: they can.'),
})
export const fired = z
  .object({
    state: z.enum(['started', 'queued', 'skipped', 'failed']),
    id: z.optional(text).describe('The id of the run.'),
    message: z.optional(text),
  })
  .meta({ id: 'Fired' })

const wholeNumber = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/)
    .transform(Number)
    .pipe(z.number().min(least).max(most))

const moment = z.string().max(40).transform(Date.parse).pipe(z.number('must be a date or a time, ISO 8601'))

export const runListQuery = z.object({
  limit: wholeNumber(1, 500).optional(),
  before: z.string().max(100).optional().describe('Only runs older than this one.'),
  q: z.string().max(500).optional().describe('Part of the name, the file or the id.'),
  state: z
    .string()
    .max(200)
    .transform((states) => states.split(','))
    .pipe(z.array(z.enum(shownStatuses)))
    .optional()
    .describe('One state, or several with commas.'),
  file: z.string().max(500).optional().describe('Part of the name or the file.'),
  model: z.string().max(500).optional().describe('Part of the name of a model.'),
  since: moment.optional().describe('Only runs that started then or later: a date or time, ISO 8601.'),
  until: moment.optional().describe('Only runs that started before.'),
})
export const detailQuery = z.object({
  answers: wholeNumber(0, 100_000).optional().describe('Only the answers of so many tasks. Default: all.'),
})
export const reportQuery = z.object({ format: z.enum(['html', 'markdown', 'json']).optional() })
export const report = z.string().describe('HTML, Markdown, or JSON as baton report --json.')
export const cursorQuery = z.object({
  after: z.string().max(30).optional().describe('The cursor of the last known state.'),
})
export const placeQuery = z.object({ place: z.string().min(1).max(4096) })
export const compareQuery = z.object({ a: z.string().max(100), b: z.string().max(100) })
export const fileQuery = z.object({ path })
export const fileBody = z.strictObject({ path })
export const noQuery = z.object({})

const json = z.json()

export const startBody = z
  .strictObject({
    file: path.optional().describe('A prompt file or agent, relative to the folder in which the server was started.'),
    text: z.string().min(1).optional().describe('The prompt itself, instead of a file.'),
    inputs: z.array(json).max(10_000).optional(),
    files: z.array(path).max(1_000).optional().describe('Globs; one task for each file. Not with inputs.'),
    vars: z.record(z.string(), json).optional(),
    model: z.string().min(1).max(500).optional(),
    mode: z.string().min(1).max(100).optional(),
    iter: z.union([z.int().min(1), z.string().max(100)]).optional(),
    until: z.string().max(10_000).optional(),
    max_cost: z.number().positive().optional().describe('US dollars.'),
    dry: z.enum(['req', 'res', 'changes']).optional(),
    on_ask: z
      .enum(['wait', 'suspend', 'deny'])
      .optional()
      .describe('What happens if a call needs approval. Default: wait, until it is answered here.'),
  })
  .refine(({ file, text: prompt }) => (file === undefined) !== (prompt === undefined), 'requires either file or text')
export const resumeBody = z.strictObject({
  uncertain: z
    .array(z.string().max(100))
    .max(10_000)
    .optional()
    .describe('As in baton resume --uncertain: 1.17=redo, =done, =fail or =tell.'),
})
export const undoBody = z.strictObject({
  paths: z
    .array(path)
    .max(10_000)
    .optional()
    .describe('Relative to the workspace. Default: all files that the run has changed.'),
})
const hunks = z.array(z.number().int().min(1)).max(10_000).optional()
export const approveBody = z.strictObject({
  always: z
    .boolean()
    .optional()
    .describe('Also approves later calls of the same tool with the same subject in this run.'),
  hunks: hunks.describe('Of a change, only these hunks are approved, counted from 1.'),
  remarks: z
    .array(z.strictObject({ hunk: z.number().int().min(1), text: z.string().min(1).max(10_000) }))
    .max(1_000)
    .optional()
    .describe('Why other hunks are rejected; passed on to the model.'),
  edits: z
    .array(z.strictObject({ hunk: z.number().int().min(1), text: z.string().max(1_000_000) }))
    .max(1_000)
    .optional()
    .describe('What is written for some of these hunks instead of their lines, those without a mark included.'),
  reason: z.string().max(10_000).optional().describe('The same for each hunk without a remark. Only with hunks.'),
})
export const rejectBody = z.strictObject({
  reason: z.string().max(10_000).optional().describe('Passed on to the model.'),
  hunks: hunks.describe('Of a change, only these hunks are rejected, counted from 1.'),
})
export const answerBody = z.strictObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z.record(z.string(), json).optional().describe('The values of a form, by name; texts are read as typed.'),
})
export const noBody = z.looseObject({})

const ofLibraryOnly = new Map([
  ['state', '"state" is for modes of plug-ins in a program: see createConversations() in docs/library.md'],
  ['visible', '"visible" is not available here: each prompt is a run, and is listed'],
  ['resumePrompt', 'a prompt that waits is not sent again: answer it with POST /prompts/ID/approve or /reject'],
])

/** A prompt for a new or an existing conversation. */
export const promptBody = z.strictObject(
  {
    input: z.string().min(1).describe('The prompt.'),
    model: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('The name of a model, or an alias such as `normal` and `high`; a new conversation keeps it.'),
    mode: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe('The execution mode, as listed by `baton list modes`; a new conversation keeps it.'),
    conversationId: z.string().min(1).max(100).optional().describe('If omitted, a new conversation is started.'),
    file: path
      .optional()
      .describe('A prompt file whose front matter applies to a new conversation; of an existing one, the same file.'),
  },
  {
    error: ({ code, keys = [] }) =>
      code === 'unrecognized_keys'
        ? (keys as readonly string[]).flatMap((key) => ofLibraryOnly.get(key) ?? [])[0]
        : undefined,
  },
)
export const promptBegun = z
  .object({ conversationId: text, promptId: text })
  .meta({ id: 'PromptBegun', description: 'Each prompt is a run with the same id.' })
const call = z.string().max(30).optional().describe('The number of the call. Required if more than one is pending.')
export const approvePromptBody = approveBody.extend({ call })
export const rejectPromptBody = rejectBody.extend({ call })
export const conversationList = z.object({
  conversations: z.array(z.object({ id: text, at: text, messages: count, text })),
})
export const conversation = z.object({
  id: text,
  open: z.boolean().describe('It has a process in this server, so that no other can continue it.'),
  messages: z.array(
    z.object({
      kind: z.enum(['message', 'summary', 'background']),
      promptId: text,
      at: text,
      text,
      answer: text.nullable(),
      run,
      ...runSteps.shape,
    }),
  ),
})
