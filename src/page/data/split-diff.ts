/** A line of one side of a diff; `number` counts from 1. */
export interface DiffCell {
  readonly number: number
  readonly text: string
}

export type DiffLine =
  | { readonly kind: 'hunk'; readonly text: string }
  /** A remark: the file is binary, or has no line feed at its end. */
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'same'; readonly before: DiffCell; readonly after: DiffCell }
  | { readonly kind: 'changed'; readonly before?: DiffCell; readonly after?: DiffCell }

export interface SplitDiff {
  readonly lines: readonly DiffLine[]
  readonly added: number
  readonly removed: number
}

const hunkHead = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/
const fileHead = /^(?:diff |index |--- |\+\+\+ |new file |deleted file |old mode |new mode |similarity |rename )/

/** Converts a unified diff of one file to side-by-side lines: removed lines are next to those that replace them. */
export function splitDiff(text: string): SplitDiff {
  const lines: DiffLine[] = []
  let removed: DiffCell[] = []
  let added: DiffCell[] = []
  const counts = { added: 0, removed: 0 }
  let [before, after] = [1, 1]
  let isInHunk = false

  function flush(): void {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      const [one, other] = [removed[index], added[index]]
      lines.push({ kind: 'changed', ...(one && { before: one }), ...(other && { after: other }) })
    }
    removed = []
    added = []
  }

  for (const line of text.replace(/\n$/, '').split('\n')) {
    const head = hunkHead.exec(line)
    if (head !== null) {
      flush()
      isInHunk = true
      before = Number(head[1])
      after = Number(head[2])
      lines.push({ kind: 'hunk', text: line })
    } else if (!isInHunk) {
      if (line !== '' && !fileHead.test(line)) lines.push({ kind: 'note', text: line })
    } else if (line.startsWith('-')) {
      // a removed line after added ones starts a new change
      if (added.length > 0) flush()
      removed.push({ number: before, text: line.slice(1) })
      before += 1
      counts.removed += 1
    } else if (line.startsWith('+')) {
      added.push({ number: after, text: line.slice(1) })
      after += 1
      counts.added += 1
    } else if (line.startsWith('\\')) {
      flush()
      lines.push({ kind: 'note', text: line.slice(2) })
    } else {
      flush()
      const same = line.slice(1)
      lines.push({ kind: 'same', before: { number: before, text: same }, after: { number: after, text: same } })
      before += 1
      after += 1
    }
  }
  flush()
  return { lines, ...counts }
}
