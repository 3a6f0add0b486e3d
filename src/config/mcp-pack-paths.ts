import { posix } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '../base/json.ts'
import { type Finding, wrongKey } from '../settings/issue.ts'

/** The variable in server definitions of packs that contains the folder of the pack. */
export const packFolderVariable = 'PACK_DIR'

const atFolder = new RegExp(`^\\$\\{${packFolderVariable}(?::-[^}]*)?\\}/?`)

/** Paths in servers of a pack that lead out of its folder: their target would depend on where the pack is installed. */
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
    const hint = `Paths start in that folder, which \${${packFolderVariable}} stands for: name a file inside it.`
    return [{ ...wrongKey(['mcp_servers', name, key], { message, hint }), isSecret: true }]
  })
}

function leaves(text: string): boolean {
  const path = posix.normalize(text.replace(atFolder, ''))
  return path === '..' || path.startsWith('../')
}

/** The texts of servers, with the variable replaced by the folder of their pack. */
export function inPackFolder(text: string, dir: string): string {
  return text.replaceAll(new RegExp(`\\$\\{${packFolderVariable}(?::-[^}]*)?\\}`, 'g'), () => dir)
}
