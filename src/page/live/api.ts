import { queryOf, type RunFilter } from '../data/run-list.ts'
import { fetchSigned } from './session.ts'
import type { PartialDecision } from '../../event/permission.ts'
import type {
  ApprovalView,
  BegunPrompt,
  BegunRun,
  Choices,
  Comparison,
  ConversationSummary,
  ConversationText,
  FileDiff,
  FilePlan,
  FileRun,
  FileTests,
  FiredTrigger,
  PlaceView,
  PromptFile,
  PromptFileText,
  RunDetail,
  RunForm,
  RunPage,
  RunSteps,
  SentInbox,
  SentTeams,
  StartAsked,
  SentTriggers,
} from './wire.ts'

/** An error reported by the server. */
class ApiError extends Error {
  readonly hint: string | undefined
  /** The fields of the request that are wrong, with what is wrong. */
  readonly fields: ReadonlyMap<string, string>

  constructor({ message, hint, fields = [] }: Problem) {
    super(message)
    this.hint = hint
    this.fields = new Map(fields.map(({ field, message: problem }) => [field, problem]))
  }
}

/** The fields of a request that an error is about, with what is wrong; empty if it is about something else. */
export function wrongFields(error: unknown): ReadonlyMap<string, string> {
  return error instanceof ApiError ? error.fields : new Map()
}

/** The message of an error, with its hint. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error instanceof ApiError && error.hint !== undefined ? `${error.message} ${error.hint}` : error.message
}

const runPath = (id: string): string => `/api/runs/${encodeURIComponent(id)}`

/** A page of runs, newest first. @param before id of the last known run; undefined for the first page */
export async function fetchRuns(filter: RunFilter, before: string | undefined, limit: number): Promise<RunPage> {
  const page = { limit: String(limit), ...(before !== undefined && { before }) }
  return get(`/api/runs?${new URLSearchParams({ ...page, ...queryOf(filter, Date.now()) })}`)
}

export async function fetchInbox(): Promise<SentInbox> {
  return get('/api/inbox')
}

export async function fetchForm(file: string): Promise<RunForm> {
  return get(`/api/form?path=${encodeURIComponent(file)}`)
}

export async function fetchChoices(): Promise<Choices> {
  return get('/api/choices')
}

/** @param answers of how many tasks; the others are shown one by one */
export async function fetchRun(id: string, answers = 50): Promise<RunDetail> {
  return get(`${runPath(id)}?answers=${answers}`)
}

export async function fetchPlace(id: string, place: string): Promise<PlaceView> {
  return get(`${runPath(id)}/place?place=${encodeURIComponent(place)}`)
}

export async function fetchSteps(id: string): Promise<RunSteps> {
  return get(`${runPath(id)}/steps`)
}

export async function fetchChanges(id: string): Promise<readonly FileDiff[]> {
  const { changes } = await get<{ readonly changes: readonly FileDiff[] }>(`${runPath(id)}/changes`)
  return changes
}

export async function fetchTeams(id: string): Promise<SentTeams> {
  return get(`${runPath(id)}/team`)
}

export async function fetchComparison(before: string, after: string): Promise<Comparison> {
  return get(`/api/compare?${new URLSearchParams({ a: before, b: after })}`)
}

export async function fetchFiles(): Promise<readonly PromptFile[]> {
  const { files } = await get<{ readonly files: readonly PromptFile[] }>('/api/files')
  return files
}

export async function fetchFile(path: string): Promise<PromptFileText> {
  return get(`/api/file?path=${encodeURIComponent(path)}`)
}

export async function fetchFilePlan(path: string): Promise<FilePlan> {
  return get(`/api/file/plan?path=${encodeURIComponent(path)}`)
}

export async function fetchFileTests(path: string): Promise<FileTests> {
  return get(`/api/file/tests?path=${encodeURIComponent(path)}`)
}

/** Runs the tests of a file, which may take minutes. They call no model. */
export async function runFileTests(path: string): Promise<FileTests> {
  return post('/api/file/tests', { path })
}

/** The last runs of a file, newest first. */
export async function fetchFileRuns(path: string): Promise<readonly FileRun[]> {
  const { runs } = await get<{ readonly runs: readonly FileRun[] }>(`/api/file/runs?path=${encodeURIComponent(path)}`)
  return runs
}

export async function fetchTriggers(): Promise<SentTriggers> {
  return get('/api/triggers')
}

export async function startTrigger(name: string): Promise<FiredTrigger> {
  return post(`/api/triggers/${encodeURIComponent(name)}/start`, {})
}

export async function fetchConversations(): Promise<readonly ConversationSummary[]> {
  const { conversations } = await get<{ readonly conversations: readonly ConversationSummary[] }>('/api/conversations')
  return conversations
}

export async function fetchConversation(id: string): Promise<ConversationText> {
  return get(`/api/conversations/${encodeURIComponent(id)}`)
}

/** Ends the process of a conversation in the server. */
export async function closeConversation(id: string): Promise<void> {
  await post(`/api/conversations/${encodeURIComponent(id)}/close`, {})
}

/** Sends a message to a conversation, or starts a new one. */
export async function sendPrompt(asked: {
  readonly input: string
  readonly conversationId?: string
  readonly model?: string
  readonly mode?: string
}): Promise<BegunPrompt> {
  return post('/prompt', asked)
}

export async function startRun(asked: StartAsked): Promise<BegunRun> {
  return post('/api/runs', asked)
}

export async function cancelRun(id: string): Promise<BegunRun> {
  return post(`${runPath(id)}/cancel`, {})
}

/** @param uncertain a choice for each call whose outcome is unknown: `1.17=redo` */
export async function resumeRun(id: string, uncertain: readonly string[] = []): Promise<BegunRun> {
  return post(`${runPath(id)}/resume`, { uncertain })
}

/** Answers a question of an MCP server. @param content values of a form, as typed */
export async function answerServer(
  id: string,
  question: string,
  answer: { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: Readonly<Record<string, string>> },
): Promise<BegunRun> {
  return post(`${runPath(id)}/questions/${encodeURIComponent(question)}`, answer)
}

/** Undoes the file changes of a run. @param paths only these files; default: all */
export async function undoRun(id: string, paths?: readonly string[]): Promise<BegunRun> {
  return post(`${runPath(id)}/undo`, paths === undefined ? {} : { paths })
}

/** Answers an approval request of a run; returns how many are left. @param reason for the model; may be empty */
export async function decide(
  id: string,
  call: string,
  decision: Pick<PartialDecision, 'remarks' | 'edits'> & {
    readonly verdict: 'approve' | 'reject'
    readonly reason: string
    readonly hunks?: readonly number[]
  },
): Promise<number> {
  const { verdict, reason, ...part } = decision
  const body = { ...part, ...(reason !== '' && { reason }) }
  const { open } = await post<{ readonly open: readonly ApprovalView[] }>(
    `${runPath(id)}/approvals/${encodeURIComponent(call)}/${verdict}`,
    body,
  )
  return open.length
}

async function get<Body>(path: string): Promise<Body> {
  return bodyOf(await fetchSigned(path))
}

async function post<Body>(path: string, body: object): Promise<Body> {
  const headers = { 'content-type': 'application/json' }
  return bodyOf(await fetchSigned(path, { method: 'POST', headers, body: JSON.stringify(body) }))
}

/** The body is not validated: server and page have the same version, so it has the type declared in `wire.ts`. */
async function bodyOf<Body>(response: Response): Promise<Body> {
  if (response.ok) return response.json()
  throw new ApiError(await problemOf(response))
}

/** The report of a run as Markdown. */
export async function fetchReport(id: string): Promise<string> {
  const response = await fetchSigned(`${runPath(id)}/report?format=markdown`)
  return response.ok ? response.text() : bodyOf(response)
}

/** The report of a run as a page of its own, which can be saved and sent. */
export async function openReport(id: string): Promise<void> {
  return openPage(`${runPath(id)}/report`)
}

/** The description of the API, as a page of its own. */
export async function openApiDescription(): Promise<void> {
  return openPage('/openapi')
}

/** Opens what needs the token, so that a link to it would not do. */
async function openPage(path: string): Promise<void> {
  const response = await fetchSigned(path)
  if (!response.ok) return bodyOf(response)
  const address = URL.createObjectURL(new Blob([await response.text()], { type: 'text/html' }))
  window.open(address, '_blank')
  // the new page has read it by then
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

interface Problem {
  readonly message: string
  readonly hint?: string
  readonly fields?: readonly { readonly field: string; readonly message: string }[]
}

async function problemOf(response: Response): Promise<Problem> {
  const unknown = { message: `The server responded with ${response.status} ${response.statusText}.` }
  try {
    const { error = unknown }: { readonly error?: Problem } = await response.json()
    return error
  } catch {
    return unknown
  }
}
