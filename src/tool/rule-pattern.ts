import { join, resolve, sep } from 'node:path'
import { escapeGlob } from '../base/glob-pattern.ts'
import { isInside, realPath } from '../base/files.ts'
import { compileGlobs } from '../base/glob.ts'
import { literalGlob } from '../base/literal-glob.ts'
import { homeFolder } from '../base/home.ts'
import type { CommandText, ReadCommand, ToolRule, ToolSubject } from '../event/permission.ts'
import { isHost, namePattern } from './capabilities.ts'

/** A part of a call's subject that is judged separately; `unread`: a line that could not be parsed completely. */
export type SubjectPiece =
  | Exclude<ToolSubject, { readonly kind: 'command' }>
  | { readonly kind: 'command'; readonly command: ReadCommand; readonly isDoubtful: boolean }
  | { readonly kind: 'unread'; readonly line: string }

/**
 * `may` and `unsure` apply only if the rule is stricter than those before it. `unsure`: the call matches only if its
 * unknown part does; a rule that denies then asks.
 */
export type PatternMatch = 'yes' | 'may' | 'unsure' | 'no'

/**
 * The test for a rule's pattern, which depends on the subject of the call: a glob for paths, a host, a name, a command.
 * Compiled when it is first needed.
 * @throws BatonError USAGE, when called, for a glob that cannot be parsed
 */
export function compilePattern(
  pattern: string,
  effect: ToolRule['effect'],
  workspace: string,
): (piece: SubjectPiece) => PatternMatch {
  let paths: ((path: string) => boolean) | undefined
  let names: RegExp | undefined
  let commands: CommandPattern | undefined
  const whether = (matches: boolean): PatternMatch => (matches ? 'yes' : 'no')
  return (piece) => {
    switch (piece.kind) {
      case 'path':
        paths ??= pathTest(pattern, effect, workspace)
        return whether(paths(piece.path))
      case 'host':
        return whether(isHost(bracketed(pattern), urlOf(piece)))
      case 'name':
        names ??= namePattern(pattern)
        return whether(names.test(piece.name))
      case 'any':
        return whether(effect !== 'deny')
      case 'command':
        commands ??= compileCommandPattern(pattern)
        if (effect === 'allow') return whether(!piece.isDoubtful && commands.isSure(piece.command))
        return commands.match(piece.command)
      case 'unread':
        commands ??= compileCommandPattern(pattern)
        if (effect === 'allow') return 'no'
        return commands.isIn(piece.line) ? 'may' : 'unsure'
    }
  }
}

/**
 * A glob relative to the workspace, or starting with `/` or `~/`. A path that exists has no wildcards. Links in the part before the first wildcard are
 * resolved, as they are in the paths it is matched against. A glob that starts with `**` + `/` and denies or asks also
 * applies outside the workspace.
 */
function pathTest(pattern: string, effect: ToolRule['effect'], workspace: string): (path: string) => boolean {
  // a file that is created later may have exactly the name that is denied
  const exact = effect === 'allow' || !wildcard.test(pattern) ? [] : [exactGlob(pattern, workspace)]
  const inner = compileGlobs([absoluteGlob(pattern, workspace), ...exact])
  const everywhere = effect !== 'allow' && pattern.startsWith('**/') ? compileGlobs([pattern]) : undefined
  const root = realPath(workspace)
  const steps = sep === '/' ? (path: string): string => path : (path: string): string => path.split(sep).join('/')
  if (everywhere === undefined) return (path) => inner.matches(steps(path))
  // a match inside the workspace also matches everywhere, so few paths are tested twice
  return (path) => everywhere.matches(steps(path)) && (!isInside(root, path) || inner.matches(steps(path)))
}

const wildcard = /[*?[\]{}]/

function exactGlob(pattern: string, workspace: string): string {
  const path = pattern.startsWith('~/') ? `${homeFolder()}${pattern.slice(1)}` : pattern
  return escapeGlob(resolve(realPath(workspace), path))
}

function absoluteGlob(pattern: string, workspace: string): string {
  const home = pattern.startsWith('~/') ? homeFolder() : ''
  const path = home + pattern.slice(home === '' ? 0 : 1)
  const literal = literalGlob(path, workspace)
  const written = literal === path && home !== '' ? `${escapeGlob(home)}${pattern.slice(1)}` : literal
  const steps = written.split('/')
  const wild = steps.findIndex((step) => wildcard.test(step.replaceAll(/\\./g, '')) || step.endsWith('\\'))
  const fixed = wild === -1 ? steps : steps.slice(0, wild)
  const folder = fixed.join('/').replaceAll(/\\(.)/g, '$1')
  const start = escapeGlob(realPath(resolve(workspace, written.startsWith('/') ? folder || '/' : join('.', folder))))
  const rest = steps.slice(fixed.length)
  return [start === '/' && rest.length > 0 ? '' : start, ...rest].join('/')
}

/** Puts an IPv6 address into brackets. Other hosts have at most one colon, before the port. */
export function bracketed(host: string): string {
  return /^[^[]*:[^[]*:/.test(host) ? `[${host}]` : host
}

/** A host without a port counts as one on the default port. */
function urlOf({ host, port }: Extract<ToolSubject, { readonly kind: 'host' }>): URL {
  const name = bracketed(host)
  return new URL(port === undefined ? `https://${name}` : `http://${name}:${port}`)
}

/** A pattern for command lines; `*` matches any characters of one command. */
interface CommandPattern {
  /** For allowing: the whole command, with its variables, matches whatever its unknown parts are. */
  readonly isSure: (command: ReadCommand) => boolean
  /** For denying or asking: `may` if only a part of the command matches, `unsure` if its unknown part might. */
  readonly match: (command: ReadCommand) => 'yes' | 'may' | 'unsure' | 'no'
  /** For a line that could not be parsed: whether it contains the first word of the pattern. */
  readonly isIn: (line: string) => boolean
}

/** A pattern that ends in ` *` also matches the command without arguments. */
function compileCommandPattern(written: string): CommandPattern {
  const pattern = written.trim().replaceAll(/\s+/g, ' ')
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.at(-1)
  const bare = pattern.endsWith(' *') && parts.length === 1 ? first.trimEnd() : undefined

  function fits(text: string): boolean {
    if (!text.startsWith(first)) return false
    if (last === undefined) return text === first
    let from = first.length
    for (const part of parts.slice(0, -1)) {
      const found = text.indexOf(part, from)
      if (found === -1) return false
      from = found + part.length
    }
    return text.length - last.length >= from && text.endsWith(last)
  }

  /** Any unknown rest is covered by the final `*`. */
  function isSure({ text, isOpen }: CommandText): boolean {
    return isOpen === true ? last === '' && fits(text) : text === bare || fits(text)
  }

  function might({ text, isOpen }: CommandText): boolean {
    return isOpen === true && (first.startsWith(text) || (last !== undefined && text.startsWith(first)))
  }

  return {
    isSure: ({ texts: [whole] }) => isSure(whole),
    match({ texts }) {
      if (isSure(texts[0])) return 'yes'
      if (texts.some(isSure)) return 'may'
      return texts.some(might) ? 'unsure' : 'no'
    },
    isIn(line) {
      const [word = ''] = first.split(' ')
      return line
        .replaceAll('\\\n', '')
        .replaceAll(/['"\\]/g, '')
        .includes(word)
    },
  }
}
