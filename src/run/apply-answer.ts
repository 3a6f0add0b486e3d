import { part } from '../event/place.ts'
import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { realPath } from '../base/files.ts'
import { sha256 } from '../base/hash.ts'
import type { Settings } from '../config/settings.ts'
import type { ModelResult } from '../event/agent.ts'
import { below, emit, narrow, type RunContext } from '../event/context.ts'
import { textMessage } from '../event/message.ts'
import type { Spent } from '../event/meter.ts'
import { readFileChanges } from '../tool/changes/answer-changes.ts'
import { protectedNames } from '../tool/path-rules.ts'
import { applyTransaction, type TransactionResult } from '../tool/changes/transaction.ts'
import { responseOf, type TaskAnswer } from './answer.ts'
import { loadFiles } from './files.ts'
import type { Conversation } from './main-agent.ts'
import { type LoadedFile, quoteFiles } from './messages.ts'

export interface Editing {
  readonly settings: Settings
  /** The files as the model has seen them: SHA-256 of their bytes by absolute path. Undefined: it may know them all. */
  readonly shown: ReadonlyMap<string, string> | undefined
}

/**
 * Carries out the file changes of an answer, all or nothing unless `partial` is set. When it replaces a whole file that
 * changed or was deleted since the model was shown it, the model is asked once more with the present content.
 * @throws BatonError CHANGES_FAILED
 */
export async function applyAnswer(
  first: ModelResult,
  { conversation, ...editing }: Editing & { readonly conversation: Conversation },
  context: RunContext,
): Promise<TaskAnswer> {
  refuseTruncated(first, editing)
  const outcome = applyText(first.text, editing, below(context, part('changes')))
  if (outcome.kind !== 'stale' || outcome.unseen.length > 0) return answered(outcome, conversation.spent())

  const { paths, gone = [] } = outcome
  const named = [...paths, ...gone].join(', ')
  emit(context, { type: 'warning', message: `${named} changed meanwhile: the model is asked once more` })
  const present = loadFiles(paths, editing.settings, below(context, part('present')))
  const second = await conversation.ask([textMessage('user', staleMessage(present, gone))])
  refuseTruncated(second, editing)
  const shown = new Map([...(editing.shown ?? []), ...shownFiles(present, editing.settings)])
  for (const path of gone) for (const name of namesOf(join(editing.settings.base_dir, path), shown)) shown.delete(name)
  return answered(
    applyText(second.text, { ...editing, shown }, below(context, part('changes'), part('repeated'))),
    conversation.spent(),
  )
}

/** A truncated answer may hold half of its changes. */
function refuseTruncated({ end }: ModelResult, { settings }: Editing): void {
  const isAtLimit = end === 'max_tokens'
  if ((!isAtLimit && end !== 'incomplete') || settings.partial) return
  const why = isAtLimit ? 'it was truncated at its output limit' : 'the model stopped in the middle of it'
  const cure = isAtLimit ? 'Raise max_tokens' : 'Run it again'
  throw notApplied(why, `No file was changed. ${cure}, or set partial = true to apply what came.`)
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
  const protect = { paths: context.services.sources.executed(), names: protectedNames, whom: 'a model' }
  const held = narrow(context, { protect })
  const result = applyTransaction(directives, { baseDir, partial, shown }, { context: held, at: context.scope.at })
  if (result.kind === 'applied' && result.items.length > 0) {
    context.services.sources.change(result.items.map(({ file_path: path }) => join(baseDir, path)))
    emit(context, { type: 'changes.applied', items: result.items })
  }
  return { ...result, text }
}

/** The answer of a task whose changes were carried out. Throws CHANGES_FAILED when they were not. */
export function answered(outcome: Applied, spent: Spent): TaskAnswer {
  if (outcome.kind === 'applied') {
    return { text: outcome.text, response: responseOf(outcome.text, spent), fileChanges: outcome.items, spent }
  }
  const { reason, hint } = explained(outcome)
  throw notApplied(reason, hint)
}

function notApplied(reason: string, hint: string): BatonError {
  return new BatonError('CHANGES_FAILED', `the answer's file changes were not applied: ${reason}`, { hint })
}

type Unapplied = Exclude<TransactionResult, { readonly kind: 'applied' }>

function explained(outcome: Unapplied): { readonly reason: string; readonly hint: string } {
  switch (outcome.kind) {
    case 'refused': {
      const failed = outcome.items.filter(({ success }) => !success)
      const reason = failed.map(({ file_path: path, error_msg: error = '' }) => `${path}: ${error}`).join('; ')
      return { reason, hint: 'No file was changed. Run it again, or set partial = true to apply what can be applied.' }
    }
    case 'rolled_back': {
      const kept = outcome.notRestored.join('; ')
      const back = `${outcome.error}; what was written before has been put back`
      if (kept === '') return { reason: back, hint: 'No file was changed.' }
      return { reason: `${back}, but for: ${kept}`, hint: 'Check these files before you continue.' }
    }
    case 'stale': {
      const { unseen, paths, gone = [] } = outcome
      const reasons = [
        { files: unseen, what: 'would be replaced without having been shown' },
        { files: paths, what: 'changed while the model answered' },
        { files: gone, what: 'was deleted while the model answered' },
      ].filter(({ files }) => files.length > 0)
      const hint =
        'No file was changed. Whole files are replaced only when the model was shown them: add them to context_globs.'
      return { reason: reasons.map(({ files, what }) => `${files.join(', ')} ${what}`).join('; '), hint }
    }
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
