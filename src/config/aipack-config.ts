import { displayPath, realPath } from '../base/files.ts'
import { isJsonObject, type JsonObject } from '../base/json.ts'
import type { ReadLog } from '../base/reads.ts'
import { readSource, sourceExists } from '../base/source-reader.ts'
import { parseToml } from '../base/toml.ts'
import { checkAgentOptions, type CheckedOptions } from './agent-options.ts'
import { placeFindings, type Finding, type Issue } from './issue.ts'
import type { Layer } from './layers.ts'
import { aipackConfigFiles, type Surroundings } from './locate.ts'

export interface AipackConfig {
  /** Lowest first: `config-default.toml`, `config-user.toml`, `.aipack/config.toml`, as far as they exist. */
  readonly layers: readonly Layer[]
  readonly issues: readonly Issue[]
  /** Keys that nothing reads: said by `baton check` alone. */
  readonly notes: readonly Issue[]
}

/**
 * Reads AIPack's config files (spec/aipack.md 4.1): the options of script agents in `[options]`, or in
 * `[default_options]` where that is missing. They stand below our own files (DESIGN 3).
 * @throws BatonError CONFIG_INVALID for TOML that cannot be read, FILE_UNREADABLE
 */
export async function readAipackConfig(
  workspace: string,
  around: Surroundings & Pick<ReadOptions, 'reads'>,
): Promise<AipackConfig> {
  const { cwd, reads } = around
  const files = aipackConfigFiles(workspace, around)
  const listed = [
    ...files.user.map((path) => ({ path, kind: 'user' }) as const),
    ...files.workspace.map((path) => ({ path, kind: 'workspace' }) as const),
  ].filter(({ path }) => sourceExists(path, reads))
  const found = await Promise.all(listed.map(({ path, kind }) => readFile(path, { kind, cwd, reads })))
  return {
    layers: found.flatMap(({ layers }) => layers),
    issues: found.flatMap(({ issues }) => issues),
    notes: found.flatMap(({ notes }) => notes),
  }
}

interface ReadOptions {
  readonly kind: 'user' | 'workspace'
  readonly cwd: string
  readonly reads?: ReadLog | undefined
}

async function readFile(path: string, { kind, cwd, reads }: ReadOptions): Promise<AipackConfig> {
  const text = readSource(path, reads).replace(/^\uFEFF/, '')
  const file = displayPath(realPath(cwd), path)
  const source = { file, text, block: text, firstLine: 1, what: file, code: 'CONFIG_INVALID' } as const
  const { data, locate } = await parseToml(source)
  const { section, values, findings, unknown } = readOptions(data)
  const layer: Layer = {
    origin: { kind, file },
    values,
    locate: (at, part) => locate([section, ...at], part),
    text,
  }
  return {
    layers: [layer],
    issues: await placeFindings(findings, { file, text, locate }),
    notes: await placeFindings([...unread(data), ...unknown], { file, text, locate }),
  }
}

const sections = ['options', 'default_options'] as const

function readOptions(data: JsonObject): CheckedOptions & { readonly section: string } {
  const section = sections.find((name) => Object.hasOwn(data, name)) ?? 'options'
  const misspelt = Object.hasOwn(data, 'default-options') ? [wrongName] : []
  const table = data[section] ?? {}
  if (!isJsonObject(table)) {
    const message = `"${section}" must be a table`
    const hint = `Write [${section}] and one key = value on each line below it.`
    const finding: Finding = { code: 'CONFIG_INVALID', message, hint, path: [section], part: 'value' }
    return { section, values: {}, findings: [...misspelt, finding], unknown: [] }
  }
  const checked = checkAgentOptions(table, [section])
  return { section, ...checked, findings: [...misspelt, ...checked.findings] }
}

const wrongName: Finding = {
  code: 'CONFIG_INVALID',
  message: '[default-options] is not read any more',
  hint: 'Rename it to [options].',
  path: ['default-options'],
  part: 'key',
}

/** Keys and agents' keys are never read from these files. */
function unread(data: JsonObject): readonly Finding[] {
  return Object.keys(data)
    .filter((key) => ![...sections, wrongName.path[0]].includes(key))
    .map((key) => ({
      code: 'CONFIG_INVALID',
      message: `nothing reads "${key}" in this file`,
      hint: 'Only [options] is read; API keys come from the environment.',
      path: [key],
      part: 'key',
    }))
}
