import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { Refusal } from '../refusal.ts'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** The files of the page. */
export interface StaticFiles {
  /** @throws Refusal 404 for any other name */
  readonly answer: (name: string) => Response
}

/**
 * Serves the files that a folder contains when this is called. Requested names are looked up and never become paths.
 */
export function serveFolder(folder: string): StaticFiles {
  const files = new Map(filesIn(folder).map((name) => [name, join(folder, name)]))
  return {
    answer(name) {
      const file = files.get(name)
      if (file === undefined) {
        throw new Refusal(404, files.size === 0 ? 'this build of baton has no page' : 'no such file')
      }
      const type = types[extname(file)] ?? 'application/octet-stream'
      return new Response(new Uint8Array(readFileSync(file)), {
        headers: { 'content-type': type, 'cache-control': 'no-cache' },
      })
    },
  }
}

function filesIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  } catch {
    return []
  }
}
