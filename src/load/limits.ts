import { defined } from '../base/json.ts'
import type { Settings } from '../config/settings.ts'
import type { Limits } from '../event/context.ts'

/** What `write_mode` allows an agent, and the agents that it runs, to do with files. */
export function limitsOfWriting({ write_mode: mode }: Pick<Settings, 'write_mode'>): Limits {
  return { write: mode !== false, asks: mode === 'ask' }
}

/** The tools of a file. Agents that it runs get no others either. */
export function limitsOfTools({ tools, disallowed_tools }: Pick<Settings, 'tools' | 'disallowed_tools'>): Limits {
  return tools === undefined && disallowed_tools === undefined ? {} : { tools: defined({ tools, disallowed_tools }) }
}
