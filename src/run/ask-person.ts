import { isBatonError } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { defined, isObject } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import type { Limits } from '../event/context.ts'
import type { FileChange } from '../event/event.ts'
import type { Action } from '../event/permission.ts'
import { item, part } from '../event/place.ts'
import type { Directive } from '../tool/changes/directive.ts'
import { previewTransaction, type ShownChange } from '../tool/changes/plan-transaction.ts'
import { applyTransaction, type TransactionOptions, type TransactionResult } from '../tool/changes/transaction.ts'
import { askingFirst } from '../tool/permission.ts'
import type { FileCall } from '../tool/workspace-files.ts'
import { permitWhileWorking } from '../tool/permit.ts'

/** The user wants different changes and described them. Nothing was applied. */
export interface Rejected {
  readonly kind: 'rejected'
  readonly remark: string
}

/** What `write_mode` allows an agent, and the agents that it runs, to do with files. */
export function limitsOfWriting({ write_mode: mode }: Pick<Settings, 'write_mode'>): Limits {
  return { write: mode !== false, asks: mode === 'ask' }
}

/** The tools of a file. Agents that it runs get no others either. */
export function limitsOfTools({ tools, disallowed_tools }: Pick<Settings, 'tools' | 'disallowed_tools'>): Limits {
  return tools === undefined && disallowed_tools === undefined ? {} : { tools: defined({ tools, disallowed_tools }) }
}

/**
 * Shows each change of a set to the user and applies the approved ones. Each question is an approval below the place of
 * the call, recorded with the diff that was shown; a change whose diff has become a different one is refused.
 * @throws BatonError NEEDS_INPUT if nobody can be asked, WAITING_FOR_APPROVAL if the answer is to be given later
 */
export async function applyApproved(
  directives: readonly Directive[],
  options: TransactionOptions,
  call: FileCall,
): Promise<TransactionResult | Rejected> {
  const planned = await previewTransaction(directives, options, call)
  if (planned.kind !== 'planned') return planned
  const approved: ShownChange[] = []
  for (const change of planned.changes) {
    const decision = await decide(change, call)
    if (typeof decision === 'object') return { kind: 'rejected', remark: decision.remark }
    if (decision === 'allow') approved.push(change)
  }
  const shown = new Set(planned.changes.map(({ index }) => index))
  const agreed = new Set(approved.map(({ index }) => index))
  const isDeclined = (index: number): boolean => shown.has(index) && !agreed.has(index)
  const kept = directives.filter((_, index) => !isDeclined(index))
  const result = await applyTransaction(
    kept,
    { ...options, approved: approved.map(({ diff }) => diff) },
    { context: call.context, at: [...call.at, part('approval')] },
  )
  if (result.kind !== 'applied') return result
  const done = [...result.items]
  const declined = (report: FileChange): FileChange => ({
    ...report,
    success: false,
    declined: true,
    error_msg: 'declined',
  })
  const items = planned.items.map((report, index) => (isDeclined(index) ? declined(report) : (done.shift() ?? report)))
  return { ...result, items }
}

async function decide(
  { path, isDeletion, diff, index }: ShownChange,
  { context, at }: FileCall,
): Promise<'allow' | 'deny' | { readonly remark: string }> {
  const { effects, permission } = context.services
  const shown = displayPath(context.scope.folders.workspace, path)
  const action: Action = { kind: isDeletion ? 'delete' : 'write', path, named: path, shown, diff }
  try {
    await permitWhileWorking(context, {
      effects: effects.under(askingFirst(permission)),
      at: [...at, item(index)],
      action,
    })
    return 'allow'
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'UNTRUSTED') throw error
    const { cause } = error
    return isObject(cause) && typeof cause['remark'] === 'string' ? { remark: cause['remark'] } : 'deny'
  }
}
