import { isUtf8 } from 'node:buffer'
import { compareBytes } from '../base/byte-order.ts'
import { defined } from '../base/json.ts'
import { unifiedDiff } from '../base/unified-diff.ts'
import type { EntryState, PathChange } from './changes.ts'
import { bytesOf, type Contents } from './contents.ts'

/** What a run has made of one file in all, as `git diff` would show it. */
export interface FileDiff {
  readonly path: string
  readonly kind: 'created' | 'changed' | 'deleted' | 'moved'
  /** Of a file that was moved. */
  readonly from?: string
  /** Ends with a line feed. */
  readonly diff: string
}

interface Ends {
  readonly path: string
  readonly first: EntryState
  readonly last: EntryState
}

/** A file or link that a run has changed; `from` where it was before, when it was moved. */
interface ChangedFile extends Ends {
  readonly from?: string
}

/** The files and links that a run has changed, by path; one that was moved counts once. */
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

/** The diffs of all changed files, made of what the run kept. */
export function* fileDiffs(changes: readonly PathChange[], contents: Contents): Iterable<FileDiff> {
  for (const { from, ...ends } of changedFiles(changes)) {
    const { path } = ends
    if (from === undefined) yield { path, kind: kindOf(ends), diff: diffOf(ends, contents) }
    else yield { path, kind: 'moved', from, diff: `${title(from, path)}rename from ${from}\nrename to ${path}\n` }
  }
}

function endsOf({ path, stretches }: PathChange): Ends {
  const absent: EntryState = { kind: 'absent' }
  return { path, first: stretches[0]?.first ?? absent, last: stretches.at(-1)?.left.at(-1) ?? absent }
}

function isShown({ kind }: EntryState): boolean {
  return kind === 'file' || kind === 'link'
}

function kindOf({ first, last }: Ends): FileDiff['kind'] {
  if (!isShown(first)) return 'created'
  return isShown(last) ? 'changed' : 'deleted'
}

function title(from: string, to: string): string {
  return `diff --git a/${from} b/${to}\n`
}

function diffOf({ path, first, last }: Ends, contents: Contents): string {
  const [from, to] = [isShown(first) ? `a/${path}` : '/dev/null', isShown(last) ? `b/${path}` : '/dev/null']
  return `${title(path, path)}${modeLines(first, last)}${contentDiff([first, last], { from, to }, contents)}`
}

function modeLines(first: EntryState, last: EntryState): string {
  if (!isShown(first)) return `new file mode ${modeOf(last)}\n`
  if (!isShown(last)) return `deleted file mode ${modeOf(first)}\n`
  const isChanged = 'mode' in first && 'mode' in last && first.mode !== undefined && last.mode !== undefined
  const [before, after] = [modeOf(first), modeOf(last)]
  return (isChanged || first.kind !== last.kind) && before !== after ? `old mode ${before}\nnew mode ${after}\n` : ''
}

/** As git has them: it knows of the permission bits only whether a file can be executed. */
function modeOf(state: EntryState): string {
  if (state.kind === 'link') return '120000'
  return 'mode' in state && ((state.mode ?? 0) & 0o100) !== 0 ? '100755' : '100644'
}

/** Larger texts are not compared. */
const mostBytes = 16 * 1024 * 1024

function contentDiff(
  states: readonly [EntryState, EntryState],
  names: { readonly from: string; readonly to: string },
  contents: Contents,
): string {
  const [before, after] = states.map((state) => textOf(state, contents)) as [Text, Text]
  if (before.kind === 'text' && after.kind === 'text') return unifiedDiff(before.text, after.text, names)
  const other = [before, after].find(({ kind }) => kind !== 'text') as Exclude<Text, { readonly kind: 'text' }>
  const { from, to } = names
  return other.kind === 'binary'
    ? `Binary files ${from} and ${to} differ\n`
    : `${from} and ${to} differ: ${other.why}\n`
}

type Text =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'binary' }
  | { readonly kind: 'unknown'; readonly why: string }

function textOf(state: EntryState, { contentOf }: Contents): Text {
  if (state.kind === 'link') return { kind: 'text', text: state.to }
  if (state.kind !== 'file') return { kind: 'text', text: '' }
  if (state.bytes > mostBytes)
    return { kind: 'unknown', why: `more than ${mostBytes / 1024 / 1024} MB are not compared` }
  const content = contentOf(state)
  if (content.kind === 'none' && content.shown === undefined) return { kind: 'unknown', why: content.why }
  const bytes = content.kind === 'none' ? (content.shown as Buffer) : bytesOf(content)
  return isUtf8(bytes) && !bytes.includes(0) ? { kind: 'text', text: bytes.toString() } : { kind: 'binary' }
}
