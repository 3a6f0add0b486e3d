import { parseEnv } from 'node:util'
import { resolve } from 'node:path'
import { commandVariables } from '../base/command.ts'
import { BatonError } from '../base/error.ts'
import { displayPath, isInside, readSourceFile, realPath } from '../base/files.ts'
import { findWorkspace, type Surroundings } from './locate.ts'
import { trustState } from './trust.ts'

/** Keys, terminal appearance, language: variables that redirect nothing. */
const harmless =
  /^(?:BATON_GATEWAY_KEY|NODE_ENV|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CLICOLOR|CI|LANG|LANGUAGE|TZ|LC_.*)$/
/** Variables that Baton, Node, the linker, git and shells read; and addresses of models. */
const leading =
  /^(?:BATON|NODE|NPM|LD|DYLD|GIT|SSH|XDG|BASH|PYTHON|PERL5?|RUBY|JAVA|JDK)_|^(?:PYTHON|PERL|RUBY|BASH|ENV|IFS|SHELLOPTS)|_(?:BASE_URL|API_BASE|PROXY)$|^OLLAMA_HOST$/i

/**
 * Whether a variable decides where something is sent or what is run, rather than which key is used: addresses, proxies,
 * programs, what other programs read at startup, and everything that commands of scripts would get.
 */
export function isLeading(name: string): boolean {
  const bare = name.trim()
  return !harmless.test(bare) && (leading.test(bare) || commandVariables(bare))
}

/** Variables set by an env file. */
export type Variables = Readonly<Record<string, string>>

export function parseVariables(text: string): Variables {
  return Object.fromEntries(
    Object.entries(parseEnv(text)).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

/**
 * The variables of an env file that was named for this call. A file inside the workspace is not the user's own: it may
 * set keys and values for its own programs, and everything else only once it is trusted.
 * @throws BatonError UNTRUSTED naming the variables, FILE_UNREADABLE
 */
export function readEnvFile(name: string, from: string, around: Surroundings): Variables {
  const file = resolve(from, name)
  const text = readSourceFile(file)
  const variables = parseVariables(text)
  const names = Object.keys(variables).filter(isLeading)
  if (names.length === 0 || !isOfFolder(file, around)) return variables
  const state = trustState({ path: file, content: text }, { ...around, workspace: findWorkspace(around) })
  if (state === 'trusted') return variables
  const shown = displayPath(from, file)
  const reason = state === 'changed' ? 'the file has changed since it was trusted' : 'the file is not trusted'
  const list = names.map((each) => `"${each}"`).join(', ')
  throw new BatonError('UNTRUSTED', `${list} may not be set by ${shown}: ${reason}`, {
    place: { file: shown, ...lineOf(names[0] ?? '', text) },
    hint: `If you want it, look at the file and run baton trust ${shown}, or set ${names.length === 1 ? 'it' : 'them'} in your shell.`,
  })
}

/** A link counts by its location and by its target. If the home folder is the workspace, no file counts. */
function isOfFolder(file: string, around: Surroundings): boolean {
  const { cwd, home } = around
  const workspace = findWorkspace(around)
  if (workspace === realPath(home)) return false
  return isInside(workspace, realPath(file)) || isInside(workspace, file) || isInside(cwd, file)
}

function lineOf(name: string, text: string): { readonly line?: number } {
  const at = text.split(/\r?\n/).findIndex((line) => line.replace(/^\s*(?:export\s+)?/, '').startsWith(name))
  return at === -1 ? {} : { line: at + 1 }
}
