import { join } from 'node:path'
import { BatonError } from '../base/error.ts'
import { isJsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { readSource, sourceExists } from '../base/source-reader.ts'
import { parseToml } from '../base/toml.ts'
import { isMerge, type Merge } from '../config/agent-config.ts'
import type { AgentFile } from './resolve.ts'

/**
 * How what an agent returns joins the params when its entry does not say (DESIGN 5): `merge` of `[baton]` in the pack's
 * `pack.toml`, else `shallow` for agents that were named by a pack reference, else `replace`.
 * @throws BatonError CONFIG_INVALID, FILE_UNREADABLE for a `pack.toml` that cannot be used
 */
export async function defaultMerge(
  { pack, builtIn }: Pick<AgentFile, 'pack' | 'builtIn'>,
  reads?: ReadLog,
): Promise<Merge> {
  if (pack === undefined || builtIn) return 'replace'
  return (await readMerge(join(pack.dir, 'pack.toml'), reads)) ?? 'shallow'
}

async function readMerge(file: string, reads: ReadLog | undefined): Promise<Merge | undefined> {
  if (!sourceExists(file, reads)) return undefined
  const text = readSource(file, reads).replace(/^\uFEFF/, '')
  const source = { file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' } as const
  const { data, locate } = await parseToml(source)
  const merge = isJsonObject(data['baton']) ? data['baton']['merge'] : undefined
  if (merge === undefined) return undefined
  if (isMerge(merge)) return merge
  const place = { file, text, ...(await locate(['baton', 'merge'], 'value')) }
  const hint = 'Write merge = "replace", "shallow" or "deep".'
  throw new BatonError('CONFIG_INVALID', '"baton.merge" is none of the ways to merge', { place, hint })
}
