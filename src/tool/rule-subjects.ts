import { join, resolve } from 'node:path'
import { realPath } from '../base/files.ts'
import { homeFolder } from '../base/home.ts'
import type { ToolSubject } from '../event/permission.ts'
import { commandSubject } from './command-line.ts'
import { subjectKind } from './toolbox/rows.ts'

/** The subject of a call, from user input: a path relative to the workspace, a URL or host, a command line. */
export function subjectFrom(tool: string, text: string, workspace: string): ToolSubject {
  switch (subjectKind(tool)) {
    case 'path': {
      const path = text.startsWith('~/') ? join(homeFolder(), text.slice(2)) : text
      return { kind: 'path', path: realPath(resolve(workspace, path)) }
    }
    case 'host': {
      const url = URL.canParse(text) && text.includes('://') ? new URL(text) : new URL(`https://${text}`)
      const port = url.port === '' && url.protocol === 'http:' ? 80 : Number(url.port)
      return { kind: 'host', host: url.hostname.replace(/^\[|\]$/g, ''), ...(port === 0 ? {} : { port }) }
    }
    case 'command':
      return commandSubject(text)
    case 'name':
    case undefined:
      return { kind: 'name', name: text }
  }
}
