import { isBatonError } from '../base/error.ts'
import { defined, isJsonObject, type JsonObject } from '../base/json.ts'
import { type Issue, withPlace } from '../settings/issue.ts'
import type { DeclaredOptions } from './declared-options.ts'
import type { AgentParts } from './parts.ts'
import { serverNamed } from '../mcp/names.ts'
import type { ExternalTools } from './tool-names.ts'
import { noPlugins, type Plugins } from './plugins/plugin.ts'

/**
 * All problems of the options that a script agent sets itself, including unknown tools and modes. Plug-ins may provide
 * both, and are loaded if an agent names one.
 */
export async function declaredOptionIssues(
  own: DeclaredOptions,
  {
    plugins = async () => noPlugins,
    servers,
    leftOut,
    isRecordedTool,
  }: Pick<AgentParts, 'plugins'> & Omit<ExternalTools, 'brought'>,
): Promise<readonly Issue[]> {
  const { mode, tools, collab } = own.values
  const named = Array.isArray(tools) ? tools.map(String) : []
  const ofTeam = isJsonObject(collab) ? await teamIssues(collab, own) : []
  if (typeof mode !== 'string' && named.length === 0) return [...own.issues, ...ofTeam]
  const brought = await plugins()
  const ofTools = await toolIssues(named, own, {
    brought: brought.tools.map(({ name }) => name),
    ...defined({ servers, leftOut, isRecordedTool }),
  })
  const ofMode = typeof mode === 'string' ? await modeIssues(mode, own, brought) : []
  return [...own.issues, ...ofTeam, ...ofTools, ...ofMode]
}

/** `collab` has the keys of the table in prompt files; the code that checks it is loaded only if it is set. */
async function teamIssues(table: JsonObject, { placeOf }: DeclaredOptions): Promise<readonly Issue[]> {
  const { collabFindings } = await import('../config/check-settings.ts')
  const findings = collabFindings(table)
  return Promise.all(findings.map(async (found) => withPlace(found, await placeOf(found.path, found.part))))
}

async function toolIssues(
  named: readonly string[],
  { placeOf }: DeclaredOptions,
  others: ExternalTools,
): Promise<readonly Issue[]> {
  const { unknownTools } = await import('./tool-names.ts')
  const findings = unknownTools(named, ['tools'], others)
  return Promise.all(
    findings.map(async (finding) => {
      // the file to review and trust is the one that configures the server
      const file =
        finding.code === 'UNTRUSTED' ? leftOutFile(named[Number(finding.path.at(-1))] ?? '', others) : undefined
      return withPlace(finding, file === undefined ? await placeOf(finding.path, finding.part) : { file })
    }),
  )
}

function leftOutFile(tool: string, { leftOut = [] }: ExternalTools): string | undefined {
  return leftOut.find(({ names }) => serverNamed(tool, names) !== undefined)?.file
}

async function modeIssues(mode: string, { placeOf }: DeclaredOptions, { modes }: Plugins): Promise<readonly Issue[]> {
  const { createModeRegistry, modeNamed } = await import('./modes/registry.ts')
  try {
    modeNamed(mode, createModeRegistry(modes))
    return []
  } catch (error) {
    if (!isBatonError(error)) throw error
    const { code, message, hint = '' } = error
    return [{ code, message, hint, place: await placeOf(['mode'], 'value') }]
  }
}
