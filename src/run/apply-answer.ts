import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { sha256 } from '../base/hash.ts'
import type { Settings } from '../config/settings.ts'
import type { AgentResult } from '../event/agent.ts'
import { below, emit, type RunContext } from '../event/context.ts'
import { readFileChanges } from '../tool/changes/answer-changes.ts'
import { withProtected } from '../tool/policy.ts'
import { applyTransaction, type TransactionResult } from '../tool/changes/transaction.ts'
import { type Spent, responseOf, type TaskAnswer } from './answer.ts'
import { loadFiles } from './files.ts'
import type { Conversation } from './main-agent.ts'
import { type LoadedFile, quoteFiles } from './messages.ts'

export interface Editing {
  readonly settings: Settings
  /** What a model never changes; absolute. */
  readonly protectedPaths: readonly string[]
  /** The files as the model has seen them: SHA-256 of their bytes by absolute path. */
  readonly shown: ReadonlyMap<string, string>
}

/**
 * Carries out the file changes of an answer, all or nothing unless `partial` is set (DESIGN 4). When it replaces a whole
 * file that is not as the model was shown it, the model is asked once more with the present content.
 * @throws BatonError CHANGES_FAILED; its cause holds the answer, which has been paid for
 */
export async function applyAnswer(
  first: AgentResult,
  { conversation, ...editing }: Editing & { readonly conversation: Conversation },
  context: RunContext,
): Promise<TaskAnswer> {
  const outcome = applyText(first.text, editing, below(context, 'changes'))
  if (outcome.kind !== 'stale') return answered(first.text, outcome, conversation.spent())

  const present = loadFiles(outcome.paths, editing.settings, below(context, 'present'))
  const content = staleMessage(quoteFiles(present))
  const second = await conversation.ask([...first.messages, { role: 'user', content }])
  const shown = new Map([...editing.shown, ...shownFiles(present, editing.settings)])
  const again = applyText(second.text, { ...editing, shown }, below(context, 'changes-2'))
  return answered(second.text, again, conversation.spent())
}

type Applied = TransactionResult & { readonly text: string }

/** Hashes of files as a model is shown them, by absolute path. */
export function shownFiles(files: readonly LoadedFile[], { base_dir: baseDir }: Settings): ReadonlyMap<string, string> {
  return new Map(files.map(({ path, content }) => [join(baseDir, path), sha256(content)]))
}

/** Carries out the changes a text holds. */
export function applyText(answer: string, { settings, protectedPaths, shown }: Editing, context: RunContext): Applied {
  const { base_dir: baseDir, file_content_mode: mode, partial } = settings
  const { directives, text } = readFileChanges(answer, mode)
  const policy = withProtected(context.policy, context.workspace, protectedPaths)
  const call = { context: { ...context, policy }, at: context.at }
  const result = applyTransaction(directives, { baseDir, partial, shown }, call)
  if (result.kind !== 'stale' && result.items.length > 0)
    emit(context, { type: 'changes.applied', items: result.items })
  return { ...result, text }
}

/** The answer of a task whose changes were carried out. Throws CHANGES_FAILED when they were not. */
export function answered(answer: string, outcome: Applied, spent: Spent): TaskAnswer {
  switch (outcome.kind) {
    case 'applied':
      return { text: outcome.text, response: responseOf(outcome.text, spent), fileChanges: outcome.items, spent }
    case 'refused':
    case 'rolled_back':
    case 'stale':
      throw changesFailed({ text: answer, spent }, outcome)
  }
}

/** An answer whose changes could not be carried out: it is kept, because it has been paid for. */
export interface RefusedAnswer {
  readonly text: string
  readonly spent: Spent
}

/** What a CHANGES_FAILED error carries as its cause. */
interface RefusedCause {
  readonly kind: 'refused-answer'
  readonly answer: RefusedAnswer
}

export function refusedAnswer(error: unknown): RefusedAnswer | undefined {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  const isRefused = typeof cause === 'object' && cause !== null && 'kind' in cause && cause.kind === 'refused-answer'
  return isRefused ? (cause as RefusedCause).answer : undefined
}

function changesFailed(
  answer: RefusedAnswer,
  outcome: Exclude<TransactionResult, { readonly kind: 'applied' }>,
): BatonError {
  const cause: RefusedCause = { kind: 'refused-answer', answer }
  return new BatonError('CHANGES_FAILED', `the answer's file changes were not applied: ${reasonOf(outcome)}`, {
    cause,
    hint: 'No file was changed. Run it again, or set partial = true to apply what can be applied.',
  })
}

function reasonOf(outcome: Exclude<TransactionResult, { readonly kind: 'applied' }>): string {
  switch (outcome.kind) {
    case 'refused': {
      const failed = outcome.items.filter(({ success }) => !success)
      const lines = failed.map(({ file_path: path, error_msg: error = '' }) => `${path}: ${error}`)
      return lines.join('; ')
    }
    case 'rolled_back': {
      const kept = outcome.notRestored.length === 0 ? '' : `, but for: ${outcome.notRestored.join('; ')}`
      return `${outcome.error}; what was written before has been put back${kept}`
    }
    case 'stale':
      return `${outcome.paths.join(', ')} changed while the model answered`
  }
}

function staleMessage(files: string): string {
  return `You replaced whole files whose present content you had not seen. Nothing was changed. This is what they hold now:

${files}

Send all changes of your last answer again, made for this content.`
}
