import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Everything below a folder with kind, permission bits and content, without following links: equal trees give equal
 * results.
 */
export function lookBelow(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(entriesBelow(folder).map((path) => [path.slice(folder.length + 1), lookAt(path)]))
}

function entriesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? [path, ...entriesBelow(path)] : [path]
  })
}

function lookAt(path: string): string {
  const status = lstatSync(path)
  if (status.isSymbolicLink()) return `link to ${readlinkSync(path)}`
  const mode = (status.mode % 0o10000).toString(8)
  return status.isDirectory() ? `folder ${mode}` : `${mode} ${readFileSync(path).toString('base64')}`
}
