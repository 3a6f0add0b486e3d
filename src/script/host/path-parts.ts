/** The parts of a path as text, without looking at the disk. */
export interface PathParts {
  /** Undefined when there is nothing above: for `/` and the empty path. */
  readonly parent: string | undefined
  /** Last name; empty for `/`, `.` and `..`. */
  readonly name: string
  /** Name without its last extension; `.gitignore` has none. */
  readonly stem: string
  readonly ext: string
}

/** Splits a path (spec/aipack.md 6.2 `split`, `parent`, vectors 44 and 47). Slashes at its end do not count. */
export function pathParts(path: string): PathParts {
  const trimmed = withoutTail(path)
  const slash = trimmed.lastIndexOf('/')
  const last = trimmed.slice(slash + 1)
  const isName = last !== '.' && last !== '..'
  const dot = isName ? last.lastIndexOf('.') : -1
  return {
    parent: trimmed === '' || trimmed === '/' ? undefined : withoutTail(trimmed.slice(0, slash + 1)),
    name: isName ? last : '',
    stem: isName ? (dot > 0 ? last.slice(0, dot) : last) : '',
    ext: dot > 0 ? last.slice(dot + 1) : '',
  }
}

/** Without slashes and `/.` at the end, as long as something is left. */
function withoutTail(path: string): string {
  let end = path.length
  for (;;) {
    if (end > 1 && path[end - 1] === '/') end -= 1
    else if (end > 1 && path[end - 1] === '.' && path[end - 2] === '/') end -= 1
    else return path.slice(0, end)
  }
}

/** With single slashes and without `.` in the middle; `./` in front and a slash at the end stay. */
export function tidyPath(path: string): string {
  return path.replaceAll(/\/(?:\.?\/)+/g, '/')
}

/** `part` below `base`; an absolute part replaces it. */
export function joinPath(base: string, part: string): string {
  if (part.startsWith('/') || base === '') return tidyPath(part)
  return tidyPath(base.endsWith('/') ? base + part : `${base}/${part}`)
}

/** The way from one path to another; undefined when there is none, from a relative to an absolute one for example. */
export function pathDifference(path: string, base: string): string | undefined {
  if (path.startsWith('/') !== base.startsWith('/')) return path.startsWith('/') ? tidyPath(path) : undefined
  const to = names(path)
  const from = names(base)
  const shared = from.findIndex((name, index) => name !== to[index])
  const common = shared === -1 ? from.length : shared
  const up = from.slice(common)
  if (up.includes('..')) return undefined
  return [...up.map(() => '..'), ...to.slice(common)].join('/')
}

function names(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}
