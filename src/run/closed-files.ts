import { basename, dirname, join, resolve } from 'node:path'
import { BatonError, isBatonError, rewordError } from '../base/error.ts'
import { displayPath, realPath } from '../base/files.ts'
import { parseGlob } from '../base/glob-pattern.ts'
import type { ListedFile } from '../base/glob.ts'
import type { Json } from '../base/json.ts'
import { literalGlob } from '../base/literal-glob.ts'
import type { Layer } from '../config/layers.ts'
import type { RunSpec } from '../config/run-spec.ts'
import { emit, type RunContext } from '../event/context.ts'
import type { Permission } from '../event/permission.ts'
import { item, type Place } from '../event/place.ts'
import { permitWhileWorking } from '../tool/permit.ts'
import { closingRule, type DecidingRule, ruleText } from '../tool/tool-rules.ts'

/** Who lists files, and for which key of the request. */
export interface Listing {
  /** As in the file: `context_globs`. */
  readonly key: string
  readonly globs: readonly string[]
  readonly baseDir: string
  readonly spec: Pick<RunSpec, 'file' | 'layers'>
  readonly context: RunContext
  /** For questions. */
  readonly at: Place
}

interface Closed {
  readonly file: ListedFile
  /** Absolute, links resolved. */
  readonly real: string
  readonly rule: DecidingRule
}

/** Most files that a warning names. */
const mostNamed = 5

/**
 * The files of a listing whose content may be sent to a model. Those that hold keys, and those that a rule for `read`
 * denies or asks about, are left out if a wildcard found them, with one line that says so. One that an untrusted file
 * names exactly is asked about; what the user names, or a trusted file, is only subject to rules of the user.
 * @throws BatonError UNTRUSTED for a named file that is denied, NEEDS_INPUT, WAITING_FOR_APPROVAL
 */
export async function openFiles(files: readonly ListedFile[], listing: Listing): Promise<readonly ListedFile[]> {
  const { context, key } = listing
  const { workspace } = context.scope.folders
  const closed = closedAmong(files, context)
  if (closed.length === 0) return files
  const left = new Set<ListedFile>()
  for (const one of closed) {
    const source = sourceOf(one.file, listing)
    if (source === 'wildcard' || !(await isOpened(one, source, listing))) left.add(one.file)
  }
  if (left.size > 0) {
    const names = [...left].map(({ absolute }) => displayPath(workspace, absolute))
    const more = names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''
    emit(context, {
      type: 'warning',
      message: `${key}: left out of the prompt, because they hold keys or may not be read: ${names.slice(0, mostNamed).join(', ')}${more}`,
      hint: 'To include one, name it exactly, or allow it in your own config.toml, below [permission.read].',
    })
  }
  return files.filter((file) => !left.has(file))
}

function closedAmong(files: readonly ListedFile[], { scope }: RunContext): readonly Closed[] {
  const folders = new Map<string, string>()
  return files.flatMap((file) => {
    const folder = dirname(file.absolute)
    const parent = folders.get(folder) ?? realPath(folder)
    folders.set(folder, parent)
    const real = realPath(join(parent, basename(file.absolute)))
    const rule = closingRule(scope.rights.rules, real, { workspace: scope.folders.workspace, keys: true })
    return rule === undefined ? [] : [{ file, real, rule }]
  })
}

type Source = 'user' | 'trusted' | 'untrusted'

/** Who has named a file; a script that has computed a path found the file as a wildcard does. */
function sourceOf({ absolute }: ListedFile, { key, globs, baseDir, spec: { layers } }: Listing): Source | 'wildcard' {
  const named = globs.map((glob) => ({ glob, paths: pathsNamedBy(glob, baseDir) }))
  const isOf = (glob: string, { values }: Pick<Layer, 'values'>): boolean =>
    [key, `${key}_pre`, `${key}_post`].some((one) => contains(values[one], glob))
  // `-f NAME` is the file of that name in any folder
  const isUsers = named.some(
    ({ glob, paths: { exact, anywhere } }) =>
      (exact.includes(absolute) || anywhere.some((path) => absolute.endsWith(`/${path}`))) &&
      layers.above.some((layer) => isOf(glob, layer)),
  )
  if (isUsers) return 'user'
  const naming = named.filter(({ paths }) => paths.exact.includes(absolute))
  const writers = [layers.own, ...layers.below].filter((layer) => naming.some(({ glob }) => isOf(glob, layer)))
  if (writers.length === 0) return 'wildcard'
  return writers.every(({ isTrusted }) => isTrusted === true) ? 'trusted' : 'untrusted'
}

/** The paths that a glob names without wildcards, and those that it names in any folder. */
function pathsNamedBy(glob: string, baseDir: string): Readonly<Record<'exact' | 'anywhere', readonly string[]>> {
  const { negated, alternatives } = parseGlob(literalGlob(glob, baseDir))
  const named = negated
    ? []
    : alternatives.map(([first, ...rest]) => ({
        isAnywhere: first?.kind === 'globstar',
        names: (first?.kind === 'globstar' || first === undefined ? rest : [first, ...rest]).map((segment) =>
          segment.kind === 'literal' ? segment.text : undefined,
        ),
      }))
  const whole = named.filter(({ names }) => names.length > 0 && !names.includes(undefined))
  const pathsOf = (isAnywhere: boolean): readonly string[] =>
    whole.flatMap((one) => (one.isAnywhere === isAnywhere ? [one.names.join('/')] : []))
  return { exact: pathsOf(false).map((path) => resolve(baseDir, path)), anywhere: pathsOf(true) }
}

function contains(value: Json | undefined, glob: string): boolean {
  return Array.isArray(value) ? value.some((one) => contains(one, glob)) : value === glob
}

/** @throws BatonError UNTRUSTED, NEEDS_INPUT, WAITING_FOR_APPROVAL */
async function isOpened({ file, real, rule }: Closed, source: Source, listing: Listing): Promise<boolean> {
  const { context, key, spec, at } = listing
  const { workspace } = context.scope.folders
  const shown = displayPath(workspace, file.absolute)
  const isDefault = rule.isKeyPlace === true
  if (!isDefault && rule.effect === 'deny') {
    throw new BatonError(
      'UNTRUSTED',
      `${shown}, which ${key} names, may not be read: ${ruleText(rule)} (${rule.origin})`,
      {
        hint: 'Remove it there, or change the rule.',
      },
    )
  }
  if (source === 'user' || (source === 'trusted' && isDefault)) return true
  const why = isDefault ? `${shown} holds keys` : `${shown} needs approval: ${ruleText(rule)} (${rule.origin})`
  if (context.services.isPlan === true) {
    emit(context, { type: 'warning', message: `${key}: ${why}, so a run asks before it is sent` })
    return false
  }
  const asking: Permission = { check: () => ({ kind: 'ask' }) }
  const effects = context.services.effects.under(asking)
  const action = { kind: 'read', path: real, named: file.absolute, shown } as const
  try {
    await permitWhileWorking(context, { effects, at: [...at, item(file.path)], action })
    return true
  } catch (error) {
    if (!isBatonError(error) || error.code !== 'NEEDS_INPUT') throw error
    throw rewordError(error, {
      message: `${why}, and ${displayPath(workspace, spec.file)}, which names it in ${key}, is not trusted: nobody can be asked`,
      hint: `Remove it there, or allow it in your own config.toml: [permission.read] ${JSON.stringify(shown)} = "allow".`,
    })
  }
}
