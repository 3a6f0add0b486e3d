import { basename, join } from 'node:path'
import { type ReadLog, sourceExists } from '../base/reads.ts'
import { mcpFileName, type Surroundings } from '../config/locate.ts'
import { readTrusted, trustFile } from '../config/trust.ts'
import type { Pack } from './find-pack.ts'

/** Whether a pack has a file of MCP servers; the code that reads such files is not loaded for other packs. */
export function mayHaveServers(pack: Pick<Pack, 'dir'>, reads?: ReadLog): boolean {
  return sourceExists(serverFileOf(pack), reads)
}

/** The path of the server definitions of a pack, whether or not the file exists. Absolute. */
export function serverFileOf({ dir }: Pick<Pack, 'dir'>): string {
  return join(dir, mcpFileName)
}

/** Whether any file of servers is trusted, so that a pack may have one. */
export function isAnyTrusted(around: Pick<Surroundings, 'env' | 'home'>): boolean {
  return [...readTrusted(trustFile(around)).keys()].some((file) => basename(file) === mcpFileName)
}
