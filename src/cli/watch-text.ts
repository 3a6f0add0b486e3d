import { messageOf } from '../base/error.ts'
import { displayPath } from '../base/files.ts'
import { harmless } from '../render/harmless.ts'
import type { Paint } from '../render/style.ts'
import type { WatchMessage } from '../watch/session.ts'
import type { GlobalFlags } from './options.ts'

export interface WatchTextOptions {
  readonly flags: Pick<GlobalFlags, 'json' | 'level'>
  readonly cwd: string
  readonly paint: Paint
  /** Whether keys are read. */
  readonly hasKeys: boolean
}

/** As many paths as are named; the others are counted. */
const mostPaths = 5

/** What `--watch` says on stderr, with the line's end; nothing where only events or errors are wanted. */
export function describeWatch(message: WatchMessage, { flags, cwd, paint, hasKeys }: WatchTextOptions): string {
  const isSilent = flags.json || flags.level === 'quiet'
  switch (message.kind) {
    case 'changed':
      return isSilent ? '' : `${paint('cyan', 'changed')} ${pathList(message.paths, cwd)}\n`
    case 'reused': {
      const { readBack, again } = message
      const text = `${readBack} part${readBack === 1 ? '' : 's'} read back, ${again} done again`
      return isSilent || readBack === 0 ? '' : `${paint('dim', text)}\n`
    }
    case 'waiting': {
      const keys = hasKeys ? '; r or Enter runs again, q quits' : ''
      const files = `${message.files} file${message.files === 1 ? '' : 's'}`
      return isSilent ? '' : `${paint('dim', `watching ${files}${keys}`)}\n`
    }
    case 'paused': {
      const hint = `Let nothing write them in a run, or save another file${hasKeys ? ' or press r' : ''} to go on.`
      return `${paint('yellow', 'paused')}: runs in a row were started by changes made while a run was going: ${pathList(message.paths, cwd)}\n${paint('cyan', 'hint')}: ${hint}\n`
    }
    case 'blind': {
      const hint = 'Raise the limit of watched files of the system, or set CHOKIDAR_USEPOLLING=1.'
      return `${paint('yellow', 'warning')}: not every change can be seen: ${messageOf(message.error)}\n${paint('cyan', 'hint')}: ${hint}\n`
    }
  }
}

function pathList(paths: readonly string[], cwd: string): string {
  const named = paths.slice(0, mostPaths).map((path) => harmless(displayPath(cwd, path)))
  const more = paths.length - named.length
  return `${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`
}
