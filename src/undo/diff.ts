import { isUtf8 } from 'node:buffer'
import { compareBytes } from '../base/byte-order.ts'
import { defined } from '../base/json.ts'
import { binaryDiff, diffHead, diffNames, type DiffNames, type GitChange, plainMode } from '../base/git-diff.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import type { EntryState, PathChange } from './changes.ts'
import { bytesOf, type Contents } from './contents.ts'

/** The net change of a run to one file, as `git diff` would show it. */
export interface FileDiff {
  readonly path: string
  readonly kind: 'created' | 'changed' | 'deleted' | 'moved'
  /** Former path of a moved file. */
  readonly from?: string
  /** Ends with a line feed. */
  readonly diff: string
}

interface Ends {
  readonly path: string
  readonly first: EntryState
  readonly last: EntryState
}

/** A file or link that a run changed; `from`: former path, if it was moved. */
interface ChangedFile extends Ends {
  readonly from?: string
}

/** The files and links that a run changed, sorted by path; a move is one entry. */
export function changedFiles(changes: readonly PathChange[]): readonly ChangedFile[] {
  const all = changes.map(endsOf).filter(({ first, last }) => isShown(first) || isShown(last))
  const gone = new Map<string, string>()
  for (const { path, first, last } of all) {
    if (last.kind === 'absent' && first.kind === 'file' && first.hash !== undefined) gone.set(first.hash, path)
  }
  const moved = new Map<string, string>()
  for (const { path, first, last } of all) {
    const from = first.kind === 'absent' && last.kind === 'file' ? gone.get(last.hash ?? '') : undefined
    if (from === undefined || last.kind !== 'file') continue
    moved.set(path, from)
    gone.delete(last.hash ?? '')
  }
  const sources = new Set(moved.values())
  return all
    .filter(({ path }) => !sources.has(path))
    .map((ends) => ({ ...ends, ...defined({ from: moved.get(ends.path) }) }))
    .toSorted((one, other) => compareBytes(one.path, other.path))
}

/** The diffs of all changed files, built from the contents that the run kept. */
export function* fileDiffs(changes: readonly PathChange[], contents: Contents): Iterable<FileDiff> {
  for (const { from, ...ends } of changedFiles(changes)) {
    const { path } = ends
    if (from === undefined) yield { path, kind: kindOf(ends), diff: diffOf(ends, contents) }
    else yield { path, kind: 'moved', from, diff: diffHead({ kind: 'moved', path, from }) }
  }
}

function endsOf({ path, stretches }: PathChange): Ends {
  const absent: EntryState = { kind: 'absent' }
  return { path, first: stretches[0]?.first ?? absent, last: stretches.at(-1)?.left.at(-1) ?? absent }
}

function isShown({ kind }: EntryState): boolean {
  return kind === 'file' || kind === 'link'
}

function kindOf({ first, last }: Ends): 'created' | 'changed' | 'deleted' {
  if (!isShown(first)) return 'created'
  return isShown(last) ? 'changed' : 'deleted'
}

function diffOf(ends: Ends, contents: Contents): string {
  const change = changeOf(ends)
  return diffHead(change) + contentDiff([ends.first, ends.last], diffNames(change), contents)
}

function changeOf({ path, first, last }: Ends): GitChange {
  const kind = kindOf({ path, first, last })
  if (kind !== 'changed') return { kind, path, mode: modeOf(kind === 'created' ? last : first) }
  const isKnown = 'mode' in first && 'mode' in last && first.mode !== undefined && last.mode !== undefined
  const modes = [modeOf(first), modeOf(last)] as const
  return { kind, path, modes: (isKnown || first.kind !== last.kind) && modes[0] !== modes[1] ? modes : undefined }
}

/** The mode as git stores it: of the permission bits, only the executable bit. */
function modeOf(state: EntryState): string {
  if (state.kind === 'link') return '120000'
  return 'mode' in state && ((state.mode ?? 0) & 0o100) !== 0 ? '100755' : plainMode
}

/** Larger texts are not compared. */
const mostBytes = 16 * 1024 * 1024

function contentDiff(states: readonly [EntryState, EntryState], names: DiffNames, contents: Contents): string {
  const [before, after] = states.map((state) => textOf(state, contents)) as [Text, Text]
  if (before.kind === 'text' && after.kind === 'text') return unifiedDiff(before.text, after.text, names)
  const other = [before, after].find(({ kind }) => kind !== 'text') as Exclude<Text, { readonly kind: 'text' }>
  return other.kind === 'binary' ? binaryDiff(names) : `${names.from} and ${names.to} differ: ${other.why}\n`
}

type Text =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'binary' }
  | { readonly kind: 'unknown'; readonly why: string }

function textOf(state: EntryState, { contentOf }: Contents): Text {
  if (state.kind === 'link') return { kind: 'text', text: state.to }
  if (state.kind !== 'file') return { kind: 'text', text: '' }
  if (state.bytes > mostBytes)
    return { kind: 'unknown', why: `files over ${mostBytes / 1024 / 1024} MB are not compared` }
  const content = contentOf(state)
  if (content.kind === 'none' && content.shown === undefined) return { kind: 'unknown', why: content.why }
  const bytes = content.kind === 'none' ? (content.shown as Buffer) : bytesOf(content)
  return isUtf8(bytes) && !bytes.includes(0) ? { kind: 'text', text: bytes.toString() } : { kind: 'binary' }
}
