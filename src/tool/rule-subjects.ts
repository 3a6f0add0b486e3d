import { join, resolve } from 'node:path'
import { realPath } from '../base/files.ts'
import { homeFolder } from '../base/home.ts'
import type { ToolSubject } from '../event/permission.ts'
import { commandSubject } from './command-line.ts'

/** What the patterns of a tool's rules are matched against; tools not listed here have no subject. */
const subjects: { readonly [tool: string]: Exclude<ToolSubject['kind'], 'any'> } = {
  read: 'path',
  write: 'path',
  edit: 'path',
  enter_plan: 'path',
  glob: 'path',
  grep: 'path',
  webfetch: 'host',
  bash: 'command',
  task: 'name',
  spawn_agent: 'name',
}

/** Names of the tools whose rules can have patterns. */
export const subjectTools: readonly string[] = Object.keys(subjects)

/** Undefined for tools whose calls have no subject that patterns could name. */
export function subjectKind(tool: string): ToolSubject['kind'] | undefined {
  return Object.hasOwn(subjects, tool) ? subjects[tool] : undefined
}

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
    case 'any':
    case undefined:
      return { kind: 'name', name: text }
  }
}
