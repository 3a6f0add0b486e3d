import type { Settings } from '../config/settings.ts'
import { emit, type RunContext } from '../event/context.ts'
import { isWriter } from '../tool/toolbox/rows.ts'
import { writesFiles } from './main-agent.ts'

/** Warns about tools that a file names but no model gets, because they change files. */
export function warnOfUnoffered(settings: Pick<Settings, 'tools' | 'write_mode'>, context: RunContext): void {
  const { tools = [] } = settings
  const named = tools.filter(isWriter)
  if (named.length === 0 || writesFiles(settings, context)) return
  const message = `${named.join(' and ')} ${named.length === 1 ? 'is' : 'are'} not offered to the model, because the file may not change files`
  emit(context, { type: 'warning', message, hint: 'Set write_mode = true, or write_mode = "ask".' })
}
