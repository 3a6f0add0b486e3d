import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { realPath } from '../base/files.ts'
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
  /** The files as the model has seen them: SHA-256 of their bytes by absolute path. Undefined: it may know them all. */
  readonly shown: ReadonlyMap<string, string> | undefined
}

/**
 * Carries out the file changes of an answer, all or nothing unless `partial` is set (DESIGN 4). When it replaces a whole
 * file that changed or was deleted since the model was shown it, the model is asked once more with the present content.
 * @throws BatonError CHANGES_FAILED
 */
export async function applyAnswer(
  first: AgentResult,
  { conversation, ...editing }: Editing & { readonly conversation: Conversation },
  context: RunContext,
): Promise<TaskAnswer> {
  refuseCut(first, editing)
  const outcome = applyText(first.text, editing, below(context, 'changes'))
  if (outcome.kind !== 'stale' || outcome.unseen.length > 0) return answered(outcome, conversation.spent())

  const { paths, gone = [] } = outcome
  const named = [...paths, ...gone].join(', ')
  emit(context, { type: 'warning', message: `${named} changed meanwhile: the model is asked once more` })
  const present = loadFiles(paths, editing.settings, below(context, 'present'))
  const content = staleMessage(present, gone)
  const second = await conversation.ask([...first.messages, { role: 'user', content }])
  refuseCut(second, editing)
  const shown = new Map([...(editing.shown ?? []), ...shownFiles(present, editing.settings)])
  for (const path of gone) for (const name of namesOf(join(editing.settings.base_dir, path), shown)) shown.delete(name)
  return answered(applyText(second.text, { ...editing, shown }, below(context, 'changes-2')), conversation.spent())
}

/** An answer that was cut may hold half of its changes. */
function refuseCut({ stopReason, isPart }: AgentResult, { settings }: Editing): void {
  const isCut = stopReason === 'max_tokens'
  if ((!isCut && isPart === undefined) || settings.partial) return
  const why = isCut ? 'it was cut at its output limit' : 'the model stopped in the middle of it'
  throw new BatonError('CHANGES_FAILED', `the answer's file changes were not applied: ${why}`, {
    hint: `No file was changed. ${isCut ? 'Raise max_tokens' : 'Run it again'}, or set partial = true to apply what came.`,
  })
}

/** A file may have been shown under another name for its folder. */
function namesOf(path: string, shown: ReadonlyMap<string, string>): readonly string[] {
  const real = realPath(path)
  return [...shown.keys()].filter((name) => realPath(name) === real)
}

type Applied = TransactionResult & { readonly text: string }

/** Hashes of files as a model is shown them, by absolute path. */
export function shownFiles(files: readonly LoadedFile[], { base_dir: baseDir }: Settings): ReadonlyMap<string, string> {
  return new Map(files.map(({ path, content }) => [join(baseDir, path), sha256(content)]))
}

/** Carries out the changes a text holds. */
export function applyText(answer: string, { settings, shown }: Editing, context: RunContext): Applied {
  const { base_dir: baseDir, file_content_mode: mode, partial } = settings
  const { directives, text } = readFileChanges(answer, mode)
  const policy = withProtected(context.policy, context.workspace, context.sources?.executed() ?? [])
  const call = { context: { ...context, policy }, at: context.at }
  const result = applyTransaction(directives, { baseDir, partial, shown }, call)
  if (result.kind === 'applied' && result.items.length > 0) {
    context.sources?.change(result.items.map(({ file_path: path }) => join(baseDir, path)))
    emit(context, { type: 'changes.applied', items: result.items })
  }
  return { ...result, text }
}

/** The answer of a task whose changes were carried out. Throws CHANGES_FAILED when they were not. */
export function answered(outcome: Applied, spent: Spent): TaskAnswer {
  switch (outcome.kind) {
    case 'applied':
      return { text: outcome.text, response: responseOf(outcome.text, spent), fileChanges: outcome.items, spent }
    case 'refused':
    case 'rolled_back':
    case 'stale':
      throw changesFailed(outcome)
  }
}

type Unapplied = Exclude<TransactionResult, { readonly kind: 'applied' }>

function changesFailed(outcome: Unapplied): BatonError {
  return new BatonError('CHANGES_FAILED', `the answer's file changes were not applied: ${reasonOf(outcome)}`, {
    hint: hintOf(outcome),
  })
}

function hintOf(outcome: Unapplied): string {
  switch (outcome.kind) {
    case 'refused':
      return 'No file was changed. Run it again, or set partial = true to apply what can be applied.'
    case 'rolled_back':
      return outcome.notRestored.length === 0 ? 'No file was changed.' : 'Look at these files before you go on.'
    case 'stale':
      return 'No file was changed. Whole files are replaced only when the model was shown them: add them to context_globs.'
  }
}

function reasonOf(outcome: Unapplied): string {
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
      return [
        ...(outcome.unseen.length === 0
          ? []
          : [`${outcome.unseen.join(', ')} would be replaced without having been shown`]),
        ...(outcome.paths.length === 0 ? [] : [`${outcome.paths.join(', ')} changed while the model answered`]),
        ...(outcome.gone === undefined ? [] : [`${outcome.gone.join(', ')} was deleted while the model answered`]),
      ].join('; ')
  }
}

function staleMessage(files: readonly LoadedFile[], gone: readonly string[]): string {
  const present = [
    ...(files.length === 0 ? [] : [`This is what they hold now:\n\n${quoteFiles(files)}`]),
    ...gone.map((path) => `${path} was deleted by somebody else. Make it again only if it is still needed.`),
  ]
  return `You replaced whole files whose present content you had not seen. Nothing was changed. ${present.join('\n\n')}

Send all changes of your last answer again, made for this content.`
}
