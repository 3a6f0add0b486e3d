import { posix } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Finding, wrongKey } from './issue.ts'

/** The variable of servers of packs that holds the folder of their pack. */
export const packFolderVariable = 'PACK_DIR'

const atFolder = new RegExp(`^\\$\\{${packFolderVariable}(?::-[^}]*)?\\}/?`)

/** Paths of servers of a pack that lead out of its folder: they would mean another file wherever the pack is. */
export function checkPackPaths(servers: JsonObject): readonly Finding[] {
  return Object.entries(servers).flatMap(([name, server]) => (isJsonObject(server) ? checkPaths(name, server) : []))
}

function checkPaths(name: string, { command = null, args = null, cwd = null }: JsonObject): readonly Finding[] {
  const named: readonly (readonly [string, Json])[] = [
    ['command', command],
    ...(Array.isArray(args) ? (args as readonly Json[]).map((text) => ['args', text] as const) : []),
    ['cwd', cwd],
  ]
  return named.flatMap(([key, text]): readonly Finding[] => {
    if (typeof text !== 'string' || !(leaves(text) || (key === 'cwd' && text.startsWith('/')))) return []
    const message = `"${text}" of the server "${name}" leads out of the folder of the pack`
    const hint = `Paths start in that folder, and \${${packFolderVariable}} names it: name what is in it.`
    return [{ ...wrongKey(['mcp_servers', name, key], { message, hint }), isSecret: true }]
  })
}

function leaves(text: string): boolean {
  const path = posix.normalize(text.replace(atFolder, ''))
  return path === '..' || path.startsWith('../')
}

/** The texts of servers with the folder of their pack in place of the variable. */
export function inPackFolder(text: string, dir: string): string {
  return text.replaceAll(new RegExp(`\\$\\{${packFolderVariable}(?::-[^}]*)?\\}`, 'g'), () => dir)
}
